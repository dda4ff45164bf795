"""What is dear is done once, for whatever is the same; what may differ is never taken from another."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.generators.managed_block import CaseNotApplicable
from pytest_codexsandbox.harness.generators.case_cache import CaseCache, CheckOutcome
from pytest_codexsandbox.harness.generators.enforcement_key import chooses_a_profile, deciding
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.generator import (
    CONFIG,
    Case,
    CaseRun,
    Claim,
    CodexLaunch,
    DecisionRow,
    Declaration,
    ExpectedPolicy,
    Files,
    Finding,
    GeneratorRun,
    Intent,
    Mode,
)
from pytest_codexsandbox.model.generator_spec import Generator, Spec
from pytest_codexsandbox.model.journal_lines import Line
from tests.unit.generators.builders import ANY, WORLD, state

CLAIM = Claim(loads=True, sandbox="workspace-write", network=False)
KNOWN = Finding(claim="a known one is caught", saw="it is", held=True, control="it is", control_held=True)
CASES = tuple(Case(id=name, why="w") for name in ("one", "two"))


def cell(generator: str = "g") -> Cell:
    return Cell(
        environment=EnvironmentSpec(id="here", backend="local", distro="d"),
        subject=SubjectSpec(label="c", generator=generator),
    )


def told(case: str = "one", *, after: Files | None = None, before: Files | None = None, **words: Any) -> CaseRun:
    run = GeneratorRun(ended="exit", files=after or {CONFIG: state(b"a = 1\n")}, **words)
    return CaseRun(
        generator="g", case=Case(id=case, why="w"), intent=Intent(), before=before or {}, runs=(run,), world=WORLD
    )


def claim_of(text: str) -> Claim:
    """What a Codex says of a file of ours that can be asked."""
    mode: Any = text.partition('"')[2].partition('"')[0]
    return Claim(loads=bool(mode), sandbox=mode, error="" if mode else "torn")


class FakeCaseCache(CaseCache):
    """One that hears the given stories and claims, and counts what is measured."""

    def __init__(
        self,
        stories: dict[tuple[str, str], CaseRun],
        claims: dict[str, Claim],
        known: tuple[Finding, ...] = (KNOWN,),
        declared: Declaration = ANY,
        was: dict[str, Claim] | None = None,
    ) -> None:
        self.was = was or {"": CLAIM}
        self.measured: list[str] = []
        self.lines: list[Line] = []
        self.asked_before: list[Files] = []
        spec = Spec(scheme="cmd", text="x")
        generators = {name: Generator(name=name, spec=spec, declaration=declared) for name in ("g", "h")}
        writers = GeneratorSet(generators=generators, asked=("g", "h"), cases=CASES, others=())
        programs = SimpleNamespace(
            able=lambda cell: SimpleNamespace(app_server=True, version="0.163.0"), version=lambda cell: "0.163.0"
        )
        runner = SimpleNamespace(case_run=lambda cell, case, intent: stories[cell.subject.generator, case.id])
        claimed = SimpleNamespace(
            after=lambda cell, case_run: claims[case_run.case.id],
            before=self._was,
            text=lambda cell, config: claim_of(config.decode()),
        )
        super().__init__(
            SimpleNamespace(programs=programs, events=SimpleNamespace(emit=self.lines.append)),  # type: ignore[arg-type]
            writers,
            runner=runner,
            claims=claimed,
            controls=SimpleNamespace(outcome=lambda cell: CheckOutcome(findings=known, by="")),
        )
        self._enforcement = SimpleNamespace(of=self._measure)  # type: ignore[assignment]

    def _was(self, cell: Cell, case_run: CaseRun, mode: Mode = "") -> Claim:
        self.asked_before.append(case_run.before)
        return self.was[mode]

    def _measure(self, cell: Cell, case_run: CaseRun, expect: object) -> Any:
        self.measured.append(case_run.case.id)
        return SimpleNamespace(findings=(), by="call", seen=())


def measured(claims: dict[str, Claim], **second: Any) -> list[str]:
    cache = FakeCaseCache({("g", "one"): told(), ("g", "two"): told("two", **second)}, claims)
    for case in ("one", "two"):
        cache.enforces(cell(), case)
    return cache.measured


def test_equal_deciding_settings_are_measured_once() -> None:
    other = msgspec.structs.replace(CLAIM, config={"model": "another", "tui": {"theme": "x"}})
    assert measured({"one": CLAIM, "two": other}) == ["one"]


def test_a_setting_that_may_void_a_policy_is_measured_by_itself() -> None:
    """Codex says the same of both; a feature or a variable may make it do another thing."""
    voided = msgspec.structs.replace(CLAIM, config={"features": {"use_legacy_landlock": True}})
    assert measured({"one": CLAIM, "two": voided}) == ["one", "two"]
    same = {"one": CLAIM, "two": CLAIM}
    assert measured(same, env={"PATH": "/mine"}) == ["one", "two"]
    assert measured(same, argv=("-c", "a=1")) == ["one", "two"]
    assert measured(same, unset=("HOME",)) == ["one", "two"]
    beside = {CONFIG: state(b"a = 1\n"), "@WORKSPACE@/.codex/config.toml": state(b"b = 1\n")}
    assert measured(same, after=beside) == ["one", "two"]


def test_a_copy_that_codex_does_not_read_decides_nothing() -> None:
    beside = {CONFIG: state(b"a = 1\n"), "@CODEX_HOME@/config.toml.bak": state(b"b = 1\n")}
    assert deciding(CLAIM, told(after=beside)) == deciding(CLAIM, told())


def test_an_earlier_file_is_never_another_generators() -> None:
    """A case may begin with what the generator itself writes."""
    mine, other = {CONFIG: state(b"# mine\n")}, {CONFIG: state(b"# other\n")}
    claims = {"one": Claim(loads=False, error="torn")}
    cache = FakeCaseCache({("g", "one"): told(before=mine), ("h", "one"): told(before=other)}, claims)
    for name in ("g", "h", "g"):
        cache.loads(cell(name), "one")
    assert cache.asked_before == [mine, other]


def test_a_file_that_loads_is_no_merit_of_a_generator_that_declined() -> None:
    was = {CONFIG: state(b"a = 1\n")}
    cache = FakeCaseCache(
        {("g", "one"): told(before=was, code=3), ("g", "two"): told("two", before=was)}, {"two": CLAIM}
    )
    assert [bool(one.skipped) for one in cache.loads(cell(), "one").findings] == [True]
    assert [bool(one.skipped) for one in cache.loads(cell(), "two").findings] == [False]


def test_no_private_path_is_recorded() -> None:
    """Not in a file, not in an argument, not in its own words: also where somebody cuts them short."""
    home = WORLD["CODEX_HOME"]
    after = {CONFIG: state(f'notes = "{home}/x"\n'.encode())}
    words: dict[str, Any] = dict.fromkeys(("reason", "stdout", "stderr", "error"), home) | {"argv": ("-c", home)}
    cache = FakeCaseCache({("g", "one"): told(after=after, env={"A": home}, warnings=(home,), **words)}, {"one": CLAIM})
    cache.claims(cell(), "one")
    told_lines = msgspec.json.encode(cache.lines).decode()
    assert "@CODEX_HOME@/x" in told_lines
    assert "/stage" not in told_lines
    case_run, _ = cache.case_run(cell(), "one")
    assert case_run.first.stderr == "@CODEX_HOME@"
    assert case_run.first.argv == words["argv"], "what Codex gets stays what it is"


ADDED = ("-s", "workspace-write", "--add-dir", "/x")


def test_words_that_no_app_server_takes_are_not_asked_there_and_red_about_nothing() -> None:
    launched = {("g", "one"): told(argv=ADDED), ("g", "two"): told("two")}
    cache = FakeCaseCache(launched, {"two": CLAIM})
    for found in (cache.loads(cell(), "one"), cache.claims(cell(), "one")):
        assert ["--add-dir" in one.skipped for one in found.findings] == [True]


def enforced_beside(*second: str, claim: Claim = CLAIM) -> list[str]:
    """What is measured of two stories that start Codex so."""
    more = {CONFIG: state(b"model = 'x'\n")}
    stories = {("g", "one"): told(argv=ADDED), ("g", "two"): told("two", argv=second or ADDED, after=more)}
    cache = FakeCaseCache(stories, {"one": CLAIM, "two": claim})
    for case in ("one", "two"):
        assert cache.enforces(cell(), case)[0].findings == ()
    return cache.measured


def test_such_words_are_measured_once_for_equal_settings_beside_them() -> None:
    assert enforced_beside() == ["one"]
    assert enforced_beside("-s", "workspace-write", "--add-dir", "/y") == ["one", "two"]
    assert enforced_beside(claim=msgspec.structs.replace(CLAIM, network=True)) == ["one", "two"]
    assert enforced_beside(claim=Claim(loads=False)) == ["one", "two"], "nobody knows what it would do"
    assert enforced_beside("-p", "x") == ["one", "two"]
    assert all(chooses_a_profile(told(argv=words)) for words in (("-p", "x"), ("-px",), ("--profile=x",)))
    assert not chooses_a_profile(told(argv=("-c", "profile=x")))


def test_a_start_elsewhere_is_reported_beside_the_claim_and_the_effect_of_codex() -> None:
    away = {("g", "one"): told(launches=(CodexLaunch(argv=("exec", "hi"), cwd="/"),))}
    cache = FakeCaseCache(away, {"one": CLAIM})
    for found in (cache.claims(cell(), "one"), cache.enforces(cell(), "one")[0]):
        assert [one.reason for one in found.findings if not one.held] == ["started-elsewhere"]


def test_nothing_is_measured_of_such_words_where_it_declined_or_was_to() -> None:
    declined = {("g", "one"): told(argv=ADDED, code=3, refused=True)}
    to_decline = Declaration(semantics=(DecisionRow(expect=ExpectedPolicy(refuses=True)),))
    for cache in (
        FakeCaseCache(declined, {}),
        FakeCaseCache({("g", "one"): told(argv=ADDED)}, {}, declared=to_decline),
    ):
        assert [bool(one.skipped) for one in cache.enforces(cell(), "one")[0].findings] == [True]
        assert cache.measured == []


@pytest.mark.parametrize(
    "known",
    [
        (),
        (KNOWN, msgspec.structs.replace(KNOWN, held=False, saw="it was not seen")),
        (msgspec.structs.replace(KNOWN, control_held=False, saw="it was not seen"),),
    ],
)
def test_nothing_is_believed_where_a_known_generator_was_misjudged_or_none_was_asked(
    known: tuple[Finding, ...],
) -> None:
    cache = FakeCaseCache({("g", "one"): told()}, {"one": CLAIM}, known)
    asked: tuple[Callable[[], object], ...] = (
        lambda: cache.case_run(cell(), "one"),
        lambda: cache.loads(cell(), "one"),
        lambda: cache.claims(cell(), "one"),
        lambda: cache.enforces(cell(), "one"),
        lambda: cache.strained("killed", cell(), ""),
        lambda: cache.writer(cell(), "workspace-write"),
    )
    for ask in asked:
        with pytest.raises(HarnessError, match="were misjudged") as fault:
            ask()
        assert "it was not seen" in fault.value.why if known else fault.value.why
    assert cache.standing(cell()).findings == known, "its own promise says what was wrong"


def test_a_row_that_decides_nothing_for_this_codex_is_not_reported_as_if_it_had() -> None:
    """The plan did not know which Codex it is."""
    old, every = DecisionRow(when={"version": "<0.150"}, expect=ExpectedPolicy(sandbox="read-only")), DecisionRow()
    stories = {("g", "row-02"): told("row-02")}
    cache = FakeCaseCache(stories, {"row-02": CLAIM}, declared=Declaration(semantics=(old, every)))
    with pytest.raises(CaseNotApplicable, match=r"<0\.150.*0\.163\.0"):
        cache.claims(cell(), "row-01")
    assert all(one.held for one in cache.claims(cell(), "row-02").findings)


def test_the_version_passed_to_the_generator_chooses_its_row() -> None:
    new = DecisionRow(when={"version": ">=0.150"}, expect=ExpectedPolicy(sandbox="read-only"))
    cache = FakeCaseCache({("g", "one"): told()}, {"one": CLAIM}, declared=Declaration(semantics=(new,)))
    assert [one.held for one in cache.claims(cell(), "one").findings] == [False]
    with pytest.raises(HarnessError, match="workspace-write") as fault:
        cache.writer(cell(), "workspace-write")
    assert fault.value.next_step == "--codex-bin PATH@0.163.0"


def test_an_undeclared_platform_is_asked_no_policy_and_causes_no_red() -> None:
    elsewhere = msgspec.structs.replace(told(), intent=Intent(platform="darwin"))
    (found,) = FakeCaseCache({("g", "one"): elsewhere}, {"one": CLAIM}).claims(cell(), "one").findings
    assert found.skipped.endswith(" darwin")
    named = Declaration(semantics=(DecisionRow(when={"platform": "darwin"}),))
    assert all(
        one.held
        for one in FakeCaseCache({("g", "one"): elsewhere}, {"one": CLAIM}, declared=named)
        .claims(cell(), "one")
        .findings
    )


def test_a_generator_that_declined_by_any_exit_code_is_asked_no_policy_unless_it_wrote() -> None:
    was = {CONFIG: state(b"a = 1\n")}
    for argv in ((), ADDED):
        cache = FakeCaseCache({("g", "one"): told(before=was, code=1, argv=argv)}, {"one": CLAIM})
        for found in (cache.claims(cell(), "one"), cache.enforces(cell(), "one")[0]):
            assert [bool(one.skipped) for one in found.findings] == [True]
        assert cache.measured == []
    wrote = FakeCaseCache({("g", "one"): told(before=was, after={CONFIG: state(b"b = 1\n")}, code=1)}, {"one": CLAIM})
    assert not any(one.skipped for one in wrote.claims(cell(), "one").findings)


# ---- parts that a generator keeps
KEEPS = Declaration(run="cmd:x", semantics=(DecisionRow(expect=ExpectedPolicy(keeps=("roots", "network"))),))
READS = Claim(loads=True, sandbox="read-only", network=False)
GRANTED = msgspec.structs.replace(CLAIM, network=True, roots=("@OUTSIDE@/cache",))


def kept(after: Claim, *, was: dict[str, Claim] | None = None, **words: Any) -> list[tuple[str, str]]:
    cache = FakeCaseCache(
        {("g", "one"): told(**words)},
        {"one": after},
        declared=KEEPS,
        was=was or {"": READS, "workspace-write": GRANTED},
    )
    found = cache.claims(cell(), "one").findings
    return [(one.direction, one.reason or one.skipped) for one in found if not one.held]


def test_grants_of_the_users_file_stay_in_force_and_no_more() -> None:
    assert kept(GRANTED) == []
    more = msgspec.structs.replace(GRANTED, roots=("@OUTSIDE@/cache", "@ROOT0@"))
    assert kept(more) == [("leak", "root-too-many")]
    assert kept(CLAIM) == [("denied", "another-network"), ("denied", "root-missing")]
    bare = {"": READS, "workspace-write": CLAIM}
    assert kept(GRANTED, was=bare) == [("leak", "another-network"), ("leak", "root-too-many")]
    assert kept(READS) == [("denied", "another-mode")]


def test_an_unanswerable_promise_is_never_green_and_a_red_one_stays_red() -> None:
    own = msgspec.structs.replace(READS, config={"default_permissions": "mine"})
    ((_, why),) = kept(GRANTED, was={"": own})
    assert [word for word in ("'mine'", "roots and network", "workspace-write") if word not in why] == []
    assert kept(READS, was={"": own}) == [("denied", "another-mode")]
    away = {"launches": (CodexLaunch(argv=("exec", "hi"), cwd="/"),)}
    assert kept(GRANTED, was={"": own}, **away) == [("leak", "started-elsewhere")]


def test_a_generator_that_repaired_a_file_that_did_not_load_has_kept_no_policy() -> None:
    every = Declaration(run="cmd:x", semantics=(DecisionRow(expect=ExpectedPolicy(keeps=True)),))
    cache = FakeCaseCache(
        {("g", "one"): told()}, {"one": CLAIM}, declared=every, was={"": Claim(loads=False, error="torn")}
    )
    for found in (cache.claims(cell(), "one"), cache.enforces(cell(), "one")[0]):
        assert ["does not load" in one.skipped for one in found.findings] == [True]


def test_the_same_policy_is_measured_once_whether_it_was_kept_or_asked() -> None:
    cache = FakeCaseCache(
        {("g", "one"): told(), ("g", "two"): told("two")},
        {"one": GRANTED, "two": GRANTED},
        declared=KEEPS,
        was={"": READS, "workspace-write": GRANTED},
    )
    for case in ("one", "two"):
        assert all(one.held for one in cache.enforces(cell(), case)[0].findings)
    assert cache.measured == ["one"]
    assert len(cache.asked_before) == 2, "as it is, and in the mode that shall be: once for files that are the same"
