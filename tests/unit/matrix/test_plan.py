"""The plan: which keys, in which order, what is left out and why."""

from typing import Any

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.plan import NO_SNAPSHOT, OWN_CALL, digest, make
from pytest_codexsandbox.matrix.requirements import why_not_applicable, why_not_there
from pytest_codexsandbox.matrix.select import Selection, is_standing
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.container import BwrapSpec, ContainerSpec, ImageSpec, Profile, UserSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import NotPlanned
from pytest_codexsandbox.model.promise import Promise
from tests.unit.matrix.builders import cell, environment, promise, traits

START, TRUST = promise("start.is-on"), promise("trust.canary")
OUTSIDE, BOARD = promise("filesystem.outside-refused"), promise("sqlite.board-outside")
ALL = (START, OUTSIDE, BOARD, TRUST)
ID = cell().id


def planned(*, only: tuple[str, ...] = (), skip: tuple[str, ...] = (), promises: tuple[Promise, ...] = ALL) -> Plan:
    return make(
        "local",
        (cell(),),
        promises,
        doors=traits("sandbox"),
        selection=Selection(only=only, skip=skip),
        platform="linux",
    )


def names(plan: Plan) -> set[str]:
    return {key.promise for key in plan.keys}


def test_keys_stand_in_the_order_of_cells_doors_policies_and_promises() -> None:
    plan = make("local", (cell("0.2.0"), cell("0.1.0")), (OUTSIDE, START), doors=traits("sandbox"), platform="linux")
    assert [(key.cell[-5:], key.policy, key.promise) for key in plan.keys] == [
        (release, policy, name)
        for release in ("0.2.0", "0.1.0")
        for policy in ("read-only", "workspace-write")
        for name in ("filesystem.outside-refused", "start.is-on")
    ]


def test_each_case_of_a_promise_has_a_key_of_its_own() -> None:
    plan = planned(promises=(promise(cases=("udp", "tcp"), policies=("read-only",)),))
    assert [key.case for key in plan.keys] == ["udp", "tcp"]


def test_only_takes_promises_and_leaves_the_standing_ones_in() -> None:
    plan = planned(only=("sqlite.*",))
    assert names(plan) == {"start.is-on", "sqlite.board-outside", "trust.canary"}


def test_several_globs_are_a_union_whether_given_twice_or_with_a_comma() -> None:
    together = planned(only=("sqlite.*,filesystem.*",))
    assert names(together) == names(planned(only=("sqlite.*", "filesystem.*"))) == {one.id for one in ALL}


def test_a_skip_by_the_matrix_file_is_attributed_to_it() -> None:
    asked = Selection(only=("sqlite.*", "filesystem.*"), without=("sqlite.*",))
    plan = make("local", (cell(),), ALL, doors=traits("sandbox"), selection=asked, platform="linux")
    assert names(plan) == {"start.is-on", "filesystem.outside-refused", "trust.canary"}
    (left,) = [one for one in plan.not_planned if one.what == "sqlite.board-outside"]
    assert "matrix file" in left.why


@pytest.mark.parametrize(("glob", "words"), [("sqlit.*", "matches no cell"), ("start.*", "would skip only")])
def test_a_file_that_skips_nothing_or_too_much_is_refused(glob: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        make("local", (cell(),), ALL, doors=traits("sandbox"), selection=Selection(without=(glob,)), platform="linux")
    assert glob in caught.value.what and "--codex-skip" not in caught.value.what


def test_only_a_policy_takes_everything_of_that_policy() -> None:
    assert {key.policy for key in planned(only=("read-only",)).keys} == {"read-only"}


def test_only_a_cell_takes_everything_of_that_cell() -> None:
    plan = make(
        "x",
        (cell("0.1.0"), cell("0.2.0")),
        ALL,
        doors=traits("sandbox"),
        selection=Selection(only=("*codex-0.2.0",)),
        platform="linux",
    )
    assert [one.subject.label for one in plan.cells] == ["0.2.0"]
    assert {key.cell for key in plan.keys} == {cell("0.2.0").id}
    assert any(one.what == cell("0.1.0").id and "--codex-only" in one.why for one in plan.not_planned)


def asked_of(*only: str) -> set[tuple[str, str, str, str]]:
    """List what two cells, two doors and two policies are asked, without the standing promises."""
    cells = (cell("0.1.0"), cell("0.2.0"))
    selection, doors = Selection(only=only), traits("sandbox", "app-server")
    plan = make("x", cells, ALL, selection=selection, doors=doors, platform="linux")
    return {
        (key.promise, key.policy, key.cell.rpartition("-")[2], key.door)
        for key in plan.keys
        if not is_standing(key.promise)
    }


DATABASE, READ, APP, NEW = "sqlite.board-outside", "read-only", "app-server", "*codex-0.2.0"


@pytest.mark.parametrize(
    ("only", "place", "value"), [(DATABASE, 0, DATABASE), (READ, 1, READ), (NEW, 2, "0.2.0"), (APP, 3, APP)]
)
def test_globs_of_different_kinds_narrow(only: str, place: int, value: str) -> None:
    every = {DATABASE, READ, NEW, APP}
    for other in every - {only}:
        both = asked_of(only, other)
        assert both == asked_of(only) & asked_of(other)
        assert both == asked_of(f"{other},{only}"), "commas and options mean the same"
        assert both < asked_of(other) and {one[place] for one in both} == {value}
    assert len(asked_of(*every)) == 1


def test_globs_of_one_kind_are_a_union() -> None:
    assert asked_of(DATABASE, "filesystem.*") == asked_of(DATABASE) | asked_of("filesystem.*")
    assert asked_of(READ, "workspace-write", DATABASE) == asked_of(DATABASE)
    assert asked_of(APP, "sandbox") == asked_of()


def test_a_glob_of_several_kinds_is_in_union_with_each_of_them() -> None:
    assert asked_of("*", DATABASE) == asked_of()
    assert asked_of("*o*", READ) == asked_of()


def test_globs_that_leave_nothing_are_an_error_that_says_how_they_are_read() -> None:
    only_reading = promise("filesystem.reads", policies=("read-only",))
    with pytest.raises(InputError, match=r"nothing is left") as error:
        planned(only=("filesystem.reads", "workspace-write"), promises=(*ALL, only_reading))
    assert "narrow each other" in error.value.next_step


def test_a_door_can_be_skipped() -> None:
    plan = make("x", (cell(),), ALL, selection=Selection(skip=(APP,)), doors=traits("sandbox", APP), platform="linux")
    assert {key.door for key in plan.keys} == {"sandbox"}
    assert any(one.what == APP and one.why == f"--codex-skip excluded {APP}" for one in plan.not_planned)


def test_skip_comes_after_only() -> None:
    assert "sqlite.board-outside" not in names(planned(only=("*outside*",), skip=("sqlite.*",)))


def test_a_glob_that_meets_a_standing_promise_among_others_does_not_skip_it() -> None:
    assert names(planned(skip=("s*.*",), promises=(START, promise("dns.x"), BOARD))) == {"start.is-on", "dns.x"}


@pytest.mark.parametrize("glob", ["start.*", "trust.canary", "st[a]rt.is-on"])
def test_skipping_only_checks_of_every_plan_is_refused(glob: str) -> None:
    with pytest.raises(InputError, match=r"--codex-skip .*would"):
        planned(skip=(glob,))


def test_skipping_a_policy_takes_its_start_checks_too() -> None:
    assert {key.policy for key in planned(skip=("read-only",)).keys} == {"workspace-write"}


@pytest.mark.parametrize("option", ["only", "skip"])
def test_a_glob_that_matches_nothing_says_what_exists_nearest_first(option: str) -> None:
    with pytest.raises(InputError) as caught:
        glob = ("filesystem.outside-refuse",)
        planned(only=glob if option == "only" else (), skip=glob if option == "skip" else ())
    assert "'filesystem.outside-refused'?" in caught.value.why
    assert option in caught.value.what


def test_globs_heed_case() -> None:
    with pytest.raises(InputError, match="matches no cell"):
        planned(only=("SQLITE.*",))


def test_a_long_list_of_names_is_bounded() -> None:
    many = tuple(promise(f"filesystem.number-{number}") for number in range(500))
    with pytest.raises(InputError) as caught:
        planned(only=("zzz",), promises=many)
    assert len(caught.value.why) < 700
    assert "more" in caught.value.why


def test_skipping_everything_is_an_error() -> None:
    with pytest.raises(InputError, match="nothing is left"):
        planned(skip=("*",))


def test_an_unselected_check_is_listed_with_the_reason() -> None:
    reasons = {one.what: one.why for one in planned(only=("sqlite.*",)).not_planned}
    assert reasons["filesystem.outside-refused"] == "not among --codex-only"


def test_policies_of_the_matrix_file_limit_the_plan() -> None:
    plan = make("x", (cell(),), ALL, doors=traits("sandbox"), policies=("read-only",), platform="linux")
    assert {key.policy for key in plan.keys} == {"read-only"}
    assert any(one.what == "workspace-write" for one in plan.not_planned)


@pytest.mark.parametrize(
    ("word", "user", "resolver", "platform", "met"),
    [
        ("user:ordinary", "root", "", "linux", False),
        ("user:ordinary", "uid-1000", "", "linux", True),
        ("user:root", "root", "", "linux", True),
        ("user:root", "uid-1000", "", "linux", False),
        ("kernel-settings:writable", "root", "", "linux", True),
        ("kernel-settings:writable", "uid-1000", "", "linux", False),
        ("resolver:ours", "root", "", "linux", False),
        ("resolver:ours", "root", "ours", "linux", True),
        ("platform:linux", "root", "", "linux", True),
        ("platform:linux", "root", "", "darwin", False),
        ("capability:app-server", "root", "", "linux", True),
        ("program:git", "root", "", "linux", True),
        ("system-folders:writable", "uid-1000", "", "linux", True),
    ],
)
def test_data_decides_that_a_check_is_not_applicable(
    word: str, user: str, resolver: str, platform: str, met: bool
) -> None:
    there = cell(user=user, resolver=resolver, backend="container")
    plan = make("x", (there,), (promise(requires=(word,)),), doors=traits("sandbox"), platform=platform)
    reasons = [plan.not_applicable.get(str(key), "") for key in plan.keys]
    assert [reason == "" for reason in reasons] == [met] * len(plan.keys)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"masked_paths": False}, ""),
        ({}, "the engine mounts it read-only"),
        ({"masked_paths": False, "userns": "remap"}, "needs the root of the machine"),
    ],
)
def test_a_setting_that_an_engine_keeps_closed_is_asked_of_no_sandbox(words: dict[str, Any], told: str) -> None:
    made = ContainerSpec(
        image=ImageSpec(name="here"),
        bwrap=BwrapSpec(name="none"),
        profile=Profile(name="p", **words),
        user=UserSpec(name="root"),
    )
    there = environment(backend="docker", container=made)
    reason = why_not_applicable(promise(requires=("kernel-settings:writable",)), there, platform="linux")
    assert reason.endswith(told) if told.startswith("the") else reason.startswith(told)
    assert bool(reason) is bool(told)


@pytest.mark.parametrize(("found", "told"), [("writable", ""), ("EROFS", "(EROFS)"), ("", "(reason unknown)")])
def test_the_started_environment_reports_the_settings_of_its_kernel(found: str, told: str) -> None:
    reason = why_not_there(promise(requires=("kernel-settings:writable",)), {"kernel_settings": found})
    assert reason.endswith(told)
    assert (reason == "") is (found == "writable")
    assert reason == "" or reason.startswith("by probe: ")
    assert why_not_there(promise(requires=("user:root",)), {"kernel_settings": found}) == ""


@pytest.mark.parametrize(
    ("facts", "met"), [({"private_tmp": True}, True), ({"private_tmp": False}, False), ({}, False)]
)
def test_only_the_fact_says_that_the_run_has_a_tmp_of_its_own(facts: dict[str, Any], met: bool) -> None:
    reason = why_not_there(promise(requires=("tmp:own",)), facts)
    assert (reason == "") is met
    assert met or reason.startswith("by probe: /tmp is shared")


def test_on_another_system_this_machine_answers_nothing_and_says_what_would() -> None:
    plan = make("x", (cell(),), ALL, doors=traits("sandbox"), platform="darwin")
    assert all("docker run" in plan.not_applicable[str(key)] for key in plan.keys)


def test_an_unknown_requirement_is_an_error() -> None:
    with pytest.raises(InputError, match="user:rot"):
        planned(promises=(promise(requires=("user:rot",)),))


def test_two_promises_of_one_name_are_an_error() -> None:
    with pytest.raises(InputError, match="two promises"):
        planned(promises=(BOARD, BOARD))


def test_a_policy_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(InputError, match="read-some"):
        planned(promises=(promise(policies=("read-some",)),))


def test_the_digest_distinguishes_plans_by_keys_and_acts_alone() -> None:
    acts = {"write": Act(verb="write", path="@OUTSIDE@/@NAME@")}
    other = {"write": Act(verb="append", path="@OUTSIDE@/@NAME@")}
    same = digest(planned(promises=(promise(acts=acts),)))
    assert same == digest(planned(promises=(promise(acts=acts, title="another title"),)))
    assert same != digest(planned(promises=(promise(acts=other),)))
    assert same != digest(planned(promises=(promise(acts=acts, policies=("read-only",)),)))


def test_twenty_thousand_keys_are_planned_at_once() -> None:
    many = tuple(promise(f"filesystem.number-{number}") for number in range(1000))
    cells = tuple(cell(f"0.{number}.0") for number in range(10))
    assert len(make("x", cells, many, doors=traits("sandbox"), platform="linux").keys) == 20_000


def test_other_doors_are_asked_what_rides_in_the_battery_and_the_plan_says_what_is_not() -> None:
    own = promise("process.stdin-arrives", call=Call(stdin=b"said"))
    plan = make("local", (cell(),), (START, OUTSIDE, own), doors=traits("exec", "sandbox"), platform="linux")
    asked = {door: {key.promise for key in plan.keys if key.door == door} for door in ("exec", "sandbox")}
    assert asked["sandbox"] - asked["exec"] == {"process.stdin-arrives"}
    assert [key.door for key in plan.keys] == sorted(key.door for key in plan.keys)
    assert [one for one in plan.not_planned if "by exec" in one.what] == [
        NotPlanned(what="process.stdin-arrives by exec", why=OWN_CALL)
    ]


def test_a_call_that_every_door_can_make_is_asked_at_each() -> None:
    own = promise("protected.git-folders", call=Call(cwd="@WORLD@/tree", at_every_door=True))
    plan = make("local", (cell(),), (START, OUTSIDE, own), doors=traits("exec", "sandbox"), platform="linux")
    assert {key.door for key in plan.keys if key.promise == own.id} == {"exec", "sandbox"}
    assert not [one for one in plan.not_planned if own.id in one.what]


def test_a_call_about_the_shell_of_codex_is_made_only_where_codex_starts_one() -> None:
    own = promise("process.shell-of-codex-is-confined", call=Call(shell_snapshot=True))
    plan = make("local", (cell(),), (START, own), doors=traits("app-server", "exec", "sandbox"), platform="linux")
    assert {key.door for key in plan.keys if key.promise == own.id} == {"exec"}
    left_out = [(one.what, one.why) for one in plan.not_planned if own.id in one.what]
    assert left_out == [(f"{own.id} by {door}", NO_SNAPSHOT) for door in ("app-server", "sandbox")]
    plan = make("local", (cell(),), (START, own), doors=traits("sandbox"), platform="linux")
    assert [one.why for one in plan.not_planned if one.what == own.id] == [NO_SNAPSHOT]


@pytest.mark.parametrize("call", [Call(shell_snapshot=True), Call(stdin=b"said")], ids=["snapshot", "own call"])
def test_the_selection_is_the_reason_where_one_door_could_be_asked(call: Call) -> None:
    own = promise("process.own-call", call=call)
    for doors in (("exec", "sandbox"), ("sandbox", "exec")):
        plan = make(
            "local",
            (cell(),),
            (START, OUTSIDE, own),
            doors=traits(*doors),
            selection=Selection(only=("filesystem.*",)),
            platform="linux",
        )
        assert [one.why for one in plan.not_planned if one.what == own.id] == ["not among --codex-only"]


def test_a_promise_that_no_door_of_the_plan_can_be_asked_is_left_out_with_the_reason() -> None:
    own = promise("process.stdin-arrives", call=Call())
    plan = make("local", (cell(),), (START, OUTSIDE, own), doors=traits("app-server"), platform="linux")
    assert names(plan) == {"start.is-on", "filesystem.outside-refused"}
    assert [one.why for one in plan.not_planned if one.what == "process.stdin-arrives"] == [OWN_CALL]


@pytest.mark.parametrize(
    ("word", "facts", "met"),
    [
        ("program:git", {"programs": ["sh", "git"]}, True),
        ("program:git", {"programs": ["sh"]}, False),
        ("program:git", {}, False),
        ("system-folders:writable", {"system_folders": "/var/tmp"}, True),
        ("system-folders:writable", {"system_folders": ""}, False),
        ("system-folders:writable", {}, False),
        ("hardware-settings:writable", {"hardware_settings": "writable"}, True),
        ("hardware-settings:writable", {"hardware_settings": "EACCES"}, False),
        ("hardware-settings:writable", {}, False),
        ("kernel:io-uring", {"offers": ["io-uring", "ptrace"]}, True),
        ("kernel:io-uring", {"offers": ["ptrace"]}, False),
        ("kernel:io-uring", {}, False),
        ("new-privileges:possible", {"no_new_privs": "0"}, True),
        ("new-privileges:possible", {"no_new_privs": "1"}, False),
        ("new-privileges:possible", {}, False),
    ],
)
def test_programs_and_folders_of_the_started_environment_decide(word: str, facts: dict[str, Any], met: bool) -> None:
    reason = why_not_there(promise(requires=(word,)), facts)
    assert (reason == "") is met
    assert met or reason.startswith("by probe: ")
