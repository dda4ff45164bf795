"""P1, P7, P8, P9 and how a run ends: each kind of misbehaviour is found and named, and a good run passes."""

from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.generators.case_run import unmoved
from pytest_codexsandbox.generators.checks.block_markers import one_marker_pair
from pytest_codexsandbox.generators.checks.exit_status import agrees
from pytest_codexsandbox.generators.checks.file_attributes import mode_owner_links, no_leftovers
from pytest_codexsandbox.generators.checks.idempotence import (
    IDLE,
    does_not_grow,
    same_meaning,
    second_run_same,
    third_run_same,
)
from pytest_codexsandbox.generators.checks.termination import ends_by_itself, stays_inside
from pytest_codexsandbox.model.generator import (
    CONFIG,
    Case,
    CodexLaunch,
    DecisionRow,
    Declaration,
    ExpectedPolicy,
    FileState,
    Intent,
    Marker,
)
from tests.unit.generators.builders import (
    ANY,
    BLOCK,
    GOOD,
    MARKED,
    USER,
    case_run,
    ended,
    files,
    held,
    reasons,
    run,
    skips,
    state,
    with_files,
)

# ---- P1


def test_a_result_and_a_reasoned_refusal_agree_with_the_exit() -> None:
    assert held(agrees(case_run(USER, GOOD), ANY))
    assert held(agrees(ended(USER, code=3, reason="a block without end"), Declaration(refuse_exit=(3,))))
    assert held(agrees(ended(USER, argv=("-c", "a=1")), ANY))
    assert held(agrees(ended(USER, launches=(CodexLaunch(argv=("app-server", "-c", "a=1")),)), ANY))
    assert held(agrees(case_run(GOOD, GOOD), ANY)), "everything was as asked already"


@pytest.mark.parametrize(
    ("words", "declaration", "reason"),
    [
        ({}, ANY, "did-nothing"),
        ({"launches": (CodexLaunch(argv=("app-server",)),)}, ANY, "did-nothing"),
        ({"launches": (CodexLaunch(argv=("mcp", "add", "demo", "--", "npx"), work=False),)}, ANY, "did-nothing"),
        ({"after": GOOD, "code": 1, "stderr": "no"}, ANY, "declined-and-wrote"),
        ({"code": 1, "stderr": "no"}, Declaration(refuse_exit=(3,)), "undeclared-exit"),
        ({"code": 1}, ANY, "no-reason"),
        ({"after": GOOD, "error": "the result is no JSON"}, ANY, "result-malformed"),
        ({"after": GOOD}, Declaration(platforms=("darwin",)), "should-have-declined"),
        ({"after": GOOD, "row": DecisionRow(expect=ExpectedPolicy(refuses=True))}, ANY, "should-have-declined"),
    ],
)
def test_an_exit_that_is_not_what_was_done_is_found(
    words: dict[str, Any], declaration: Declaration, reason: str
) -> None:
    assert reasons(agrees(ended(USER, **words), declaration)) == {reason}


def test_a_run_without_effect_names_its_calls_and_the_files_made_instead() -> None:
    call = CodexLaunch(argv=("mcp", "add", "demo"), work=False)
    (row,) = agrees(ended(USER, launches=(call,)), ANY)
    assert row.reason == "did-nothing" and "exit 0" in row.saw and "(codex mcp add demo)" in row.saw
    before = files(USER)
    (row,) = agrees(with_files(before, {**before, "@HOME@/.mytool.json": FileState(kind="file")}), ANY)
    assert row.reason == "did-nothing" and "@HOME@/.mytool.json" in row.saw and "codex mcp" not in row.saw


def test_a_launcher_that_sets_no_policy_has_only_to_start_codex() -> None:
    started = ended(USER, launches=(CodexLaunch(argv=("app-server",), work=True),))
    assert reasons(agrees(started, ANY)) == {"did-nothing"}
    assert held(agrees(msgspec.structs.replace(started, row=DecisionRow(expect=ExpectedPolicy(keeps=True))), ANY))


def test_a_generator_that_declines_where_nothing_is_in_its_way_is_found() -> None:
    assert reasons(agrees(ended(None, code=3, stderr="no"), ANY)) == {"declines-nothing"}
    declined = ended(None, code=3, stderr="no")
    assert held(agrees(declined, Declaration(platforms=("darwin",)))), "it declares that it declines here"
    assert held(agrees(msgspec.structs.replace(declined, row=DecisionRow(expect=ExpectedPolicy(refuses=True))), ANY))


def test_a_declaration_without_platforms_promises_nothing_for_a_platform_but_its_rows_do() -> None:
    there = ended(None, after=GOOD)
    darwin = msgspec.structs.replace(there, intent=Intent(platform="darwin"))
    assert held(agrees(darwin, ANY))
    named = DecisionRow(when={"platform": "darwin"}, expect=ExpectedPolicy(refuses=True))
    assert reasons(agrees(msgspec.structs.replace(darwin, row=named), ANY)) == {"should-have-declined"}
    assert held(agrees(msgspec.structs.replace(darwin, row=DecisionRow(when={"platform": "darwin"})), ANY))


def test_one_that_declines_an_ordinary_file_declines_its_work() -> None:
    declined = ended(USER, code=3, stderr="no")
    assert held(agrees(declined, ANY)), "of a file that nobody called ordinary it may"
    ordinary = msgspec.structs.replace(declined, case=Case(id="c", why="w", config=USER, ordinary=True))
    assert reasons(agrees(ordinary, ANY)) == {"declines-nothing"}
    assert held(agrees(ordinary, Declaration(platforms=("darwin",))))


def test_a_changed_mode_under_a_refusal_is_found() -> None:
    one = run(None, files=files(USER, mode=0o100600), code=3, reason="no")
    assert reasons(agrees(case_run(USER, USER, runs=(one,)), ANY)) == {"declined-and-wrote"}


def test_a_run_that_was_ended_says_nothing_by_its_exit() -> None:
    assert "timeout" in skips(agrees(ended(USER, ended="timeout"), ANY))


# ---- P7


def test_a_third_run_is_made_only_where_the_second_changed_anything_and_else_nothing_is_said_of_it() -> None:
    anew = run(None, files=files(GOOD, inode=8))
    assert unmoved([run(None, files=files(GOOD, inode=7)), anew])
    assert not unmoved([anew])
    for other in (files(GOOD, mode=0o100600), files(GOOD, uid=0), {**files(GOOD), "@HOME@/.log": state(b"")}):
        assert not unmoved([anew, run(None, files=other)]), other
        assert not unmoved([run(None, files=other), anew]), other
    two = case_run(USER, GOOD, GOOD)
    assert skips(third_run_same(two, ANY)) == IDLE
    assert all(held(check(two, ANY)) for check in (second_run_same, does_not_grow, same_meaning))


def test_runs_that_leave_the_same_pass() -> None:
    for check in (second_run_same, third_run_same, does_not_grow, same_meaning):
        assert held(check(case_run(USER, GOOD), ANY)), check
        assert held(check(ended(USER, argv=("-c", "a=1")), ANY)), check


@pytest.mark.parametrize(
    ("texts", "second", "third", "size", "meaning"),
    [
        ((GOOD, GOOD + b"\n", GOOD + b"\n\n"), {"grew"}, {"grew"}, {"grew"}, set()),
        ((GOOD, GOOD, GOOD + b"a = 1\n"), set(), {"grew"}, {"grew"}, {"means-something-else"}),
        ((GOOD, USER, USER), {"changed-again"}, set(), set(), {"means-something-else"}),
        ((GOOD, GOOD + BLOCK, GOOD + BLOCK), {"grew"}, set(), {"grew"}, {"means-something-else"}),
        ((GOOD, BLOCK + GOOD, BLOCK + GOOD), {"grew"}, set(), {"grew"}, {"duplicate-key"}),
    ],
)
def test_a_later_run_that_changes_something_is_found(
    texts: tuple[bytes, ...], second: set[str], third: set[str], size: set[str], meaning: set[str]
) -> None:
    told = case_run(USER, *texts)
    assert reasons(second_run_same(told, ANY)) == second
    assert reasons(third_run_same(told, ANY)) == third
    assert reasons(does_not_grow(told, ANY)) == size
    assert reasons(same_meaning(told, ANY)) == meaning


def test_other_arguments_another_mode_and_a_second_file_are_changes() -> None:
    runs = (run(USER, argv=("-c", "a=1")), run(USER, argv=("-c", "a=2")))
    assert reasons(second_run_same(case_run(USER, USER, runs=runs), ANY)) == {"argv-changed"}
    runs = (run(GOOD), run(None, files=files(GOOD, mode=0o100600)))
    assert reasons(second_run_same(case_run(USER, USER, runs=runs), ANY)) == {"changed-again"}
    project = {"@WORKSPACE@/.codex/config.toml": state(b"a = 1\n")}
    runs = (run(GOOD), run(None, files=files(GOOD) | project))
    assert reasons(second_run_same(case_run(USER, USER, runs=runs), ANY)) == {"grew"}


def test_one_that_declines_its_own_work_is_found() -> None:
    runs = (run(GOOD), run(GOOD, code=3, reason="there is a block"), run(GOOD, code=3, reason="there is a block"))
    assert reasons(second_run_same(case_run(USER, USER, runs=runs), ANY)) == {"declines-its-own"}


def test_a_single_run_cannot_be_compared() -> None:
    assert skips(second_run_same(case_run(USER, GOOD, runs=(run(GOOD),)), ANY))
    assert skips(second_run_same(ended(USER, code=3, reason="no"), ANY))
    assert skips(third_run_same(ended(USER, ended="timeout"), ANY))


# ---- P8


def link(target: str) -> FileState:
    return FileState(kind="symlink", target=target, mode=0o120777)


def test_a_file_that_keeps_its_mode_and_its_links_passes() -> None:
    assert held(mode_owner_links(case_run(USER, GOOD), ANY))
    dotfile = "@HOME@/dotfiles/codex.toml"
    for target in ("/stage/home/dotfiles/codex.toml", "../dotfiles/codex.toml", dotfile):
        before = {CONFIG: link(target), dotfile: state(USER)}
        assert held(mode_owner_links(with_files(before, before | {dotfile: state(GOOD)}), ANY))


@pytest.mark.parametrize(
    ("words", "now", "reason", "direction"),
    [
        ({"mode": 0o100600}, {"mode": 0o100644}, "mode-changed", "leak"),
        ({"mode": 0o100644}, {"mode": 0o100600}, "mode-changed", "denied"),
        ({"uid": 1000}, {"uid": 0}, "owner-changed", ""),
        ({"links": 2}, {"links": 1}, "hard-link-broken", ""),
    ],
)
def test_another_mode_or_owner_or_a_lost_name_is_found(
    words: dict[str, int], now: dict[str, int], reason: str, direction: str
) -> None:
    found = mode_owner_links(with_files(files(USER, **words), files(GOOD, **now)), ANY)
    assert reasons(found) == {reason}
    assert {one.direction for one in found} == {direction}


def test_a_link_that_was_replaced_or_led_elsewhere_is_found() -> None:
    dotfile = {"@HOME@/d.toml": state(USER)}
    before = {CONFIG: link("/stage/home/d.toml")} | dotfile
    assert reasons(mode_owner_links(with_files(before, files(GOOD) | dotfile), ANY)) == {"link-replaced"}
    elsewhere = {CONFIG: link("/stage/home/e.toml"), "@HOME@/e.toml": state(GOOD)} | dotfile
    assert reasons(mode_owner_links(with_files(before, elsewhere), ANY)) == {"link-changed"}
    dangling = {CONFIG: link("/stage/home/none.toml")}
    assert reasons(mode_owner_links(with_files(dangling, files(GOOD)), ANY)) == {"link-replaced"}


def test_a_linked_codex_home_is_looked_through() -> None:
    home = {"@HOME@/.codex": link("/stage/home/real"), "@HOME@/real/config.toml": state(USER)}
    after = home | {"@HOME@/real/config.toml": state(GOOD, mode=0o100600)}
    assert reasons(mode_owner_links(with_files(home, after), ANY)) == {"mode-changed"}


def test_a_missing_file_has_no_mode_to_keep() -> None:
    assert skips(mode_owner_links(case_run(None, GOOD), ANY))


def test_new_names_that_nothing_explains_are_found() -> None:
    extra = {"@CODEX_HOME@/config.toml.tmp1": state(b"")}
    assert reasons(no_leftovers(with_files(files(USER), files(GOOD) | extra), ANY)) == {"left-behind"}
    backup = {"@CODEX_HOME@/backup/2.toml": state(b""), "@CODEX_HOME@/backup": FileState(kind="dir")}
    (one,) = no_leftovers(with_files(files(USER), files(GOOD) | backup), ANY)
    assert one.saw.endswith(" @CODEX_HOME@/backup")


@pytest.mark.parametrize(
    "declaration",
    [
        Declaration(keeps=("@HOME@/.config/tool/**",)),
        Declaration(setup={"@HOME@/.config/tool/servers.json": "{}"}),
        Declaration(keeps=("@HOME@/.config/tool/*.json",)),
    ],
)
def test_names_that_the_declaration_explains_pass(declaration: Declaration) -> None:
    own = {path: FileState(kind="dir") for path in ("@HOME@/.config", "@HOME@/.config/tool")}
    own["@HOME@/.config/tool/servers.json"] = state(b"{}")
    told = with_files(files(USER), files(GOOD) | own)
    assert held(no_leftovers(told, declaration))
    assert reasons(no_leftovers(told, ANY)) == {"left-behind"}


def test_names_that_are_explained_are_so_behind_a_linked_codex_home_too() -> None:
    home = {"@HOME@/.codex": link("real"), "@HOME@/real": FileState(kind="dir"), "@HOME@/real/config.toml": state(USER)}
    own = {"@HOME@/real/tmp": FileState(kind="dir"), "@HOME@/real/tmp/lock": state(b"")}
    told = with_files(home, home | own)
    assert held(no_leftovers(told, Declaration(keeps=("@CODEX_HOME@/tmp/**",))))
    assert reasons(no_leftovers(told, Declaration(keeps=("@CODEX_HOME@/other/**",)))) == {"left-behind"}


def test_the_file_that_was_asked_for_and_its_folder_are_no_leftovers() -> None:
    assert held(no_leftovers(with_files({}, {"@HOME@/.codex": FileState(kind="dir")} | files(GOOD)), ANY))
    dangling = {CONFIG: link("/stage/home/d/none.toml")}
    made = {"@HOME@/d": FileState(kind="dir"), "@HOME@/d/none.toml": state(GOOD)}
    assert held(no_leftovers(with_files(dangling, dangling | made), ANY))


# ---- P9


def test_one_pair_of_marks_passes_declared_or_not() -> None:
    for declaration in (MARKED, ANY):
        assert held(one_marker_pair(case_run(USER, GOOD), declaration))
    quoted = b"a = '''\n# BEGIN x\n# END x\n'''\n"
    assert held(one_marker_pair(case_run(quoted, BLOCK + quoted), MARKED)), "what the user quotes is no mark"


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (GOOD + BLOCK, "two-blocks"),
        (GOOD + b"# END x\n", "orphan-mark"),
        (GOOD.replace(b"# END x\n", b""), "orphan-mark"),
        (b"  # BEGIN x \n" + GOOD, "orphan-mark"),
        (USER, "no-marks"),
        (b"# END x\n# BEGIN x\n" + USER, "marks-reversed"),
        (USER + b"a = '''\n" + BLOCK + b"'''\n", "inside-a-string"),
        (USER + b"a = [\n" + BLOCK + b"]\n", "spliced-into-array"),
    ],
)
def test_marks_that_are_not_one_balanced_pair_are_found(after: bytes, reason: str) -> None:
    assert reasons(one_marker_pair(case_run(USER, after), MARKED)) == {reason}


def test_a_single_mark_above_the_block_is_counted_too() -> None:
    single = Declaration(markers=(Marker(begin="# of x", end=""),))
    block = b"# of x\na = 1\n"
    assert held(one_marker_pair(case_run(b"", block, alone=block), single))
    assert reasons(one_marker_pair(case_run(b"", block + block, alone=block), single)) == {"two-blocks"}


def test_a_generator_without_marks_cannot_be_asked() -> None:
    assert "`markers`" in skips(one_marker_pair(case_run(USER, b"a = 1\n", alone=b"a = 1\n"), ANY))


# ---- how it ends


def test_a_run_that_ends_and_stays_inside_passes() -> None:
    assert held(ends_by_itself(case_run(USER, GOOD), ANY))
    assert held(stays_inside(case_run(USER, GOOD), ANY))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"ended": "timeout"}, "timeout"),
        ({"ended": "signal", "code": 137}, "signal"),
        ({"ended": "not-started", "error": "no such file"}, "not-started"),
        ({"survivors": ("sleep 9",)}, "processes-stay"),
    ],
)
def test_a_run_that_does_not_end_is_found(words: dict[str, Any], reason: str) -> None:
    assert reasons(ends_by_itself(ended(USER, **words), ANY)) == {reason}


def test_an_outside_access_is_found_and_an_unconfined_run_proves_nothing() -> None:
    assert reasons(stays_inside(ended(USER, strayed=("~/.ssh/id",)), ANY)) == {"reached-outside"}
    assert "not confined" in skips(stays_inside(case_run(USER, GOOD, confined=""), ANY))
    assert "the environment c" in skips(stays_inside(case_run(USER, GOOD, confined="the environment c"), ANY))


def test_the_intent_names_the_platform() -> None:
    darwin = case_run(USER, GOOD, intent=Intent(platform="darwin"))
    assert reasons(agrees(darwin, Declaration(platforms=("wsl",)))) == {"should-have-declined"}
    assert held(agrees(darwin, Declaration(platforms=("darwin",))))
    assert held(agrees(darwin, ANY)), "a declaration that is silent promises nothing of other platforms"


def test_a_file_that_is_gone_or_a_folder_now_is_found() -> None:
    for now in ({}, {CONFIG: FileState(kind="dir")}):
        assert reasons(mode_owner_links(with_files(files(USER), now), ANY)) == {"file-replaced"}


def test_the_target_of_a_dangling_link_is_the_generators_to_make() -> None:
    dangling = {CONFIG: FileState(kind="symlink", target="/stage/home/elsewhere.toml")}
    made = dangling | {"@HOME@/elsewhere.toml": state(GOOD, mode=0o100600)}
    assert held(mode_owner_links(with_files(dangling, made), ANY))


@pytest.mark.parametrize("check", [mode_owner_links, second_run_same, third_run_same, does_not_grow, same_meaning])
def test_a_run_that_did_not_end_has_only_that_finding(check: Any) -> None:
    assert "timeout" in skips(check(ended(USER, ended="timeout"), ANY))


def test_a_generator_that_writes_no_file_is_not_asked_for_the_same_meaning() -> None:
    assert "writes no file" in skips(same_meaning(case_run(None, None, runs=(run(None, argv=("-c", "a=b")),) * 3), ANY))
