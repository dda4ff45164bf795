"""Each row of an author's decision matrix is a case of its own."""

from pytest_codexsandbox.matrix import generators
from pytest_codexsandbox.matrix.generated import OF_ROWS, ROW, Writers, row_cases, sides, wish_of
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.generator import Case, Declaration, Expect, Row, Wish
from pytest_codexsandbox.model.generator_spec import Generator, Spec
from pytest_codexsandbox.model.policy import AS_ASKED
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.step import Key

ROWS = (
    Row(when={"platform": "darwin", "network": "on"}, expect=Expect(refuses=True), why="Seatbelt"),
    Row(when={"userns": "no", "roots": "some", "network": "unsaid"}),
    Row(when={"version": "<0.150"}),
    Row(when={"version": "unknown"}),
    Row(),
)
DECLARED = Declaration(run="cmd:x", semantics=ROWS)
ENVIRONMENT = EnvironmentSpec(id="here", backend="local", distro="debian-12")


def cell(release: str) -> Cell:
    return Cell(environment=ENVIRONMENT, subject=SubjectSpec(label=release, release=release, generator="x"))


def promise(id: str) -> Promise:
    return Promise(
        id=id, kind="generator", severity="high", needs="nothing", source="", policies=(AS_ASKED,), over="configs"
    )


def known() -> Writers:
    one = Generator(name="x", spec=Spec(scheme="cmd", text="x"), declaration=DECLARED)
    return Writers(generators={"x": one}, asked=("x",), cases=(Case(id="01-none", why="w", config=None),), others=())


def test_a_row_is_asked_for_what_it_speaks_of() -> None:
    assert wish_of(ROWS[0]) == Wish(platform="darwin", network=True)
    assert wish_of(ROWS[1]) == Wish(roots=("@ROOT0@",), network=None, capabilities={"userns": False})
    assert wish_of(ROWS[3]).version == ""
    assert all(generators.fit(row.when, wish_of(row), "0.130.0") for row in ROWS)


def test_each_row_is_a_case_beside_the_corpus_and_only_of_what_rows_speak_of() -> None:
    found = sides(known(), doors=("sandbox",), policies=("workspace-write",))
    rows = tuple(case.id for case in row_cases(DECLARED))
    assert rows == ("row-01", "row-02", "row-03", "row-04", "row-05")
    assert found.cases(promise(OF_ROWS[0]), cell("0.130.0")) == (*rows, "01-none")
    assert found.cases(promise("generator.comments-stay"), cell("0.130.0")) == ("01-none",)
    assert known().case(cell("0.130.0"), "row-01").why == "Seatbelt"


def test_a_row_about_other_releases_is_not_applicable_and_says_so() -> None:
    found = sides(known(), doors=("sandbox",), policies=("workspace-write",))
    asked = promise(OF_ROWS[0])

    def why(case: str, release: str) -> str:
        key = Key(cell="c", door="generator", policy=AS_ASKED, promise=asked.id, case=case)
        return found.ruled_out(key, asked, cell(release))

    assert why("row-03", "0.130.0") == ""
    assert why("row-03", "0.163.0") == "the row speaks of Codex <0.150, and this is 0.163.0"
    assert why("row-01", "0.163.0") == why("row-04", "0.163.0") == ""
    assert ROW not in why("row-03", "0.163.0")
