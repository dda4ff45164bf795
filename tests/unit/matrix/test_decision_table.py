"""Each row of an author's decision matrix is a case of its own, in which this row decides and no other."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import decision_table, generator_files
from pytest_codexsandbox.matrix.generator_cells import OF_ROWS, GeneratorSet, cases_of, ruled_out
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.generator import (
    Case,
    DecisionRow,
    Declaration,
    ExpectedPolicy,
    Intent,
    expected,
    is_silent,
)
from pytest_codexsandbox.model.generator_spec import Generator, Spec
from pytest_codexsandbox.model.generator_suite import AS_ASKED
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from tests.unit.matrix.builders import traits

ROWS = (
    DecisionRow(when={"platform": "darwin", "network": "on"}, expect=ExpectedPolicy(refuses=True), why="Seatbelt"),
    DecisionRow(when={"userns": "no", "roots": "some", "network": "unsaid"}),
    DecisionRow(when={"version": "<0.150"}),
    DecisionRow(when={"version": "unknown"}),
    DecisionRow(),
)
DECLARED = Declaration(run="cmd:x", semantics=ROWS)
(APP_SERVER,) = traits("app-server")
ENVIRONMENT = EnvironmentSpec(id="here", backend="local", distro="debian-12")


def cell(release: str) -> Cell:
    return Cell(environment=ENVIRONMENT, subject=SubjectSpec(label=release or "mine", release=release, generator="x"))


def promise(id: str) -> Promise:
    return Promise(
        id=id, kind="generator", severity="high", needs="nothing", source="", policies=(AS_ASKED,), over="configs"
    )


def known(declared: Declaration = DECLARED) -> GeneratorSet:
    one = Generator(name="x", spec=Spec(scheme="cmd", text="x"), declaration=declared)
    return GeneratorSet(
        generators={"x": one}, asked=("x",), cases=(Case(id="01-none", why="w", config=None),), others=()
    )


def of(*whens: dict[str, str], **words: object) -> Declaration:
    return Declaration(run="cmd:x", semantics=tuple(DecisionRow(when=when) for when in whens), **words)  # type: ignore[arg-type]


def why_not(case: str, release: str, declared: Declaration = DECLARED) -> str:
    asked = promise(OF_ROWS[0])
    key = Key(cell="c", door="generator", policy=AS_ASKED, promise=asked.id, case=case)
    return ruled_out(known(declared), key, asked, cell(release))


def test_a_row_is_asked_for_what_it_speaks_of_and_for_nothing_else() -> None:
    assert decision_table.intent_for(DECLARED, 0, "0.130.0") == Intent(platform="darwin", network=True)
    assert decision_table.intent_for(DECLARED, 1, "0.130.0") == Intent(
        roots=("@ROOT0@",), network=None, capabilities={"userns": False}
    )
    assert decision_table.intent_for(DECLARED, 3, "0.130.0") == Intent(version="")
    assert decision_table.intent_for(DECLARED, 4, "0.163.0") == Intent()


def test_each_row_is_a_case_beside_the_corpus_and_only_of_what_rows_speak_of() -> None:
    own = tuple(case.id for case in decision_table.cases(DECLARED, "0.130.0"))
    assert own == ("row-01", "row-02", "row-03", "row-04", "row-05")
    assert cases_of(known(), promise(OF_ROWS[0]), cell("0.130.0")) == (*own, "01-none")
    assert cases_of(known(), promise("generator.comments-stay"), cell("0.130.0")) == ("01-none",)
    assert known().case(cell("0.130.0"), "row-01").why == "Seatbelt"


def test_a_row_about_other_releases_is_not_applicable_and_says_so() -> None:
    assert why_not("row-03", "0.130.0") == why_not("01-none", "0.163.0") == ""
    told = why_not("row-03", "0.163.0")
    assert "<0.150" in told and told.endswith(" 0.163.0")
    assert why_not("row-01", "0.163.0") == why_not("row-04", "0.163.0") == ""


def test_a_build_of_unknown_version_rules_nothing_out_before_it_runs() -> None:
    assert {why_not(f"row-0{number}", "") for number in range(1, 6)} == {""}
    assert known().ruled_out(cell(""), "row-03", "0.163.0"), "the case cache knows it"
    intent = Intent()
    assert known().row(cell(""), intent, "0.130.0") is ROWS[2]
    assert known().row(cell("0.130.0"), intent) is ROWS[2]
    assert known().row(cell(""), intent) is ROWS[3]


def test_a_row_that_an_earlier_one_takes_for_this_release_is_not_shown_as_if_it_had_held() -> None:
    assert "0.130.0 row-02 and row-03 " in why_not("row-05", "0.130.0")
    assert why_not("row-05", "0.163.0") == ""


def test_a_row_is_asked_where_it_decides_although_the_ordinary_intent_belongs_to_another() -> None:
    declared = of({"network": "off"}, {"userns": "no"}, {"network": "on", "userns": "no"}, {"seccomp": "no"})
    assert decision_table.intent_for(declared, 1, "0.163.0") == Intent(network=True, capabilities={"userns": False})
    assert decision_table.intent_for(declared, 3, "0.163.0") == Intent(network=True, capabilities={"seccomp": False})
    assert "0.163.0 row-02 " in why_not("row-03", "0.163.0", declared)


def test_the_case_of_a_row_asks_for_what_it_decides_or_for_what_it_speaks_of() -> None:
    declared = of({"network": "off"}, {"userns": "no"}, {"version": "<0.150", "roots": "some"}, {"uid_map": "no"})
    first, second, third, fourth = decision_table.cases(declared, "0.163.0")
    assert (second.intent, fourth.intent) == (
        Intent(network=True, capabilities={"userns": False}),
        Intent(network=True, capabilities={"uid_map": False}),
    )
    assert third.intent == Intent(roots=("@ROOT0@",)), "it decides nothing here, and says what it would be asked"
    assert (first.group, first.config) == ("rows", None) and first.why


def test_a_row_of_other_releases_is_reported_as_such_although_earlier_ones_take_some_of_it() -> None:
    declared = of({"network": "on"}, {"version": "<0.150"}, {})
    told = why_not("row-02", "0.163.0", declared)
    assert "<0.150" in told and told.endswith(" 0.163.0")


@pytest.mark.parametrize(
    ("when", "intent", "version", "fits"),
    [
        ({"roots": "none"}, Intent(), "0.163.0", True),
        ({"roots": "none"}, Intent(roots=("/x",)), "0.163.0", False),
        ({"roots": "some"}, Intent(), "0.163.0", False),
        ({"userns": "yes"}, Intent(), "0.163.0", True),
        ({"userns": "yes"}, Intent(capabilities={"userns": False}), "0.163.0", False),
        ({"version": ""}, Intent(), "", True),
        ({"version": ""}, Intent(), "nonsense", True),
        ({"version": ""}, Intent(), "0.163.0", False),
        ({"version": "unknown"}, Intent(version=""), "0.163.0", True),
        ({"version": "0.163.0"}, Intent(), "0.163.0", True),
        ({"version": "0.163.0"}, Intent(), "0.162.0", False),
    ],
)
def test_a_row_speaks_of_what_it_names_and_of_nothing_else(
    when: dict[str, str], intent: Intent, version: str, fits: bool
) -> None:
    assert decision_table.matches(when, intent, version) is fits


def test_a_row_of_a_tool_for_other_platforms_is_asked_there() -> None:
    """Elsewhere it declines, whatever its rows say: none of them would have been asked."""
    declared = of({"network": "on"}, platforms=("darwin", "wsl"))
    intent = decision_table.intent_for(declared, 0, "0.163.0")
    assert intent is not None
    assert (intent.platform, expected(declared, intent, declared.semantics[0]).refuses) == ("darwin", False)


def test_a_row_that_names_a_platform_says_what_is_to_be_there() -> None:
    darwin, refusing = (
        DecisionRow(when={"platform": "darwin"}),
        DecisionRow(when={"network": "on"}, expect=ExpectedPolicy(refuses=True)),
    )
    declared, intent = Declaration(run="x", semantics=(darwin, refusing)), Intent(platform="darwin")
    assert not expected(declared, intent, darwin).refuses
    assert not is_silent(declared, intent, darwin)
    assert not is_silent(declared, intent, refusing)
    assert expected(declared, intent, None).refuses
    assert is_silent(declared, intent, None)
    assert is_silent(declared, intent, DecisionRow(when={"roots": "none"}))
    assert not is_silent(Declaration(platforms=("wsl",)), intent, None), "it has named those that it is for"


@pytest.mark.parametrize(
    ("whens", "row", "by"),
    [
        (({"userns": "no"}, {"userns": "no"}), 2, "1"),
        (({"userns": "no"}, {"userns": "no", "network": "on"}), 2, "1"),
        (({}, {"network": "on"}), 2, "1"),
        (({}, {"version": "<0.150"}), 2, "1"),
        (({"network": "on"}, {"network": "off"}, {"network": "unsaid"}, {}), 4, "1, 2, 3"),
        (({"version": "<0.150"}, {"version": "<0.150", "roots": "some"}), 2, "1"),
        (({"version": "unknown"}, {"version": "unknown"}), 2, "1"),
    ],
)
def test_a_row_that_never_decides_is_refused_with_those_that_take_its_place(
    tmp_path: Path, whens: tuple[dict[str, str], ...], row: int, by: str
) -> None:
    assert decision_table.shadowed(of(*whens), row - 1) == by
    path = tmp_path / "mine.toml"
    said = (f"[[semantics]]\nwhen = {{ {', '.join(f'{a} = {b!r}' for a, b in when.items())} }}\n" for when in whens)
    path.write_text('run = "x"\n' + "".join(said))
    with pytest.raises(InputError, match=f"row {row} never decides") as caught:
        generator_files.load(path)
    assert caught.value.what.endswith(f" row {by}")
    assert f":{2 * row + 1}:1 (when)" in caught.value.where


@pytest.mark.parametrize(
    "whens",
    [
        ({"userns": "no", "network": "on"}, {"userns": "no"}),
        ({"version": "<0.150"}, {}),
        ({"version": "<0.150"}, {"version": "<0.160"}),
        ({"version": "unknown"}, {}),
        ({"network": "on"}, {"network": "off"}, {}),
    ],
)
def test_a_row_that_decides_somewhere_is_taken(whens: tuple[dict[str, str], ...]) -> None:
    assert {decision_table.shadowed(of(*whens), place) for place in range(len(whens))} == {""}


def test_an_unavailable_root_is_no_expectation(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('run = "x"\n[[semantics]]\nexpect = { roots = ["@ROOTS0@/x"] }\n')
    with pytest.raises(InputError, match="'@ROOTS0@/x'") as caught:
        generator_files.load(path)
    assert ":3:1 (expect)" in caught.value.where


_SAID = {name: st.sampled_from(words) for name, words in decision_table.WORDS.items()}
_WHENS = st.fixed_dictionaries({}, optional={**_SAID, "version": st.sampled_from(("<0.150", ">=0.140", "unknown"))})


@settings(deadline=None, derandomize=True, max_examples=80, suppress_health_check=list(HealthCheck))
@given(st.lists(_WHENS, min_size=1, max_size=5), st.sampled_from(("0.130.0", "0.145.0", "0.163.0")))
def test_for_every_table_the_intent_of_a_row_is_decided_by_that_row(whens: list[dict[str, str]], version: str) -> None:
    declared = of(*whens, platforms=decision_table.WORDS["platform"])
    for place, row in enumerate(declared.semantics):
        intent = decision_table.intent_for(declared, place, version)
        assert (intent is None) == bool(decision_table.ruled_out(declared, decision_table.name_of(place), version))
        if intent is not None:
            assert decision_table.row(declared, intent, version) is row
            assert not decision_table.shadowed(declared, place)


# ---- what is kept as it was
def keeping(**words: Any) -> GeneratorSet:
    return known(Declaration(run="cmd:x", semantics=(DecisionRow(expect=ExpectedPolicy(**words)),)))


def test_a_part_that_is_kept_leads_to_no_policy_of_its_own() -> None:
    """Without a file of the user's nobody has granted anything."""
    here = cell("0.163.0")
    assert set(keeping().intents(here)) == {"workspace-write", "workspace-write-roots", "workspace-write-network"}
    assert set(keeping(keeps=("roots",)).intents(here)) == {"workspace-write", "workspace-write-network"}
    assert set(keeping(keeps=("network",)).intents(here)) == {"workspace-write", "workspace-write-roots"}
    both = keeping(keeps=("roots", "network"))
    assert both.intents(here) == {"workspace-write": Intent()}
    free = keeping(keeps=("roots", "network"), sandbox="danger-full-access")
    assert set(free.intents(here)) == {"danger-full-access"}
    for keeps in (True, ("sandbox",)):
        assert keeping(keeps=keeps).intents(here) == {}, "which mode is in force is the user's"


def test_an_approval_that_is_kept_is_not_the_one_that_was_wished() -> None:
    row = DecisionRow(expect=ExpectedPolicy(keeps=("approval",)))
    assert expected(Declaration(), Intent(approval="never", network=True), row).approval == ""
    assert expected(Declaration(), Intent(approval="never", network=True), row).network is True
