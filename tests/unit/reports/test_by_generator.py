"""What confined generators, and the rows of their own matrix, as people see them."""

import msgspec

from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports import by_generator, html, markdown
from pytest_codexsandbox.reports.generator_tally import ROWS, measured, paste
from tests.unit.reports import generator_builders
from tests.unit.reports.test_generators import changed, readme
from tests.unit.reports.test_terminal import screen


def test_a_missing_confinement_is_shown_in_every_report_and_invalidates_nothing() -> None:
    made = changed(generator_builders.TRUST, Verdict.UNCONFINED, reason="unconfined")
    told = readme(made)
    assert "NOT TRUSTWORTHY" not in told
    assert told.count("✔") == 6
    assert ", unconfined — " in told, "also where no story says it"
    (shown_there,) = (text for text in screen(made).splitlines() if "confinement-and-known" in text)
    assert shown_there.split()[-1] == "U"
    shown = (
        html.render(made, None),
        markdown.render(made, None),
        by_generator.render(made, width=80, color=False, ascii=False),
    )
    assert all("UNCONFINED" in text for text in shown)


def test_the_confinement_is_known_without_a_case_run() -> None:
    """Strain is told by no story of its own."""
    made = msgspec.structs.replace(
        generator_builders.journal(
            map(generator_builders.usual, generator_builders.keys("good")), [generator_builders.GOOD]
        ),
        stories=(),
        claims=(),
    )
    assert ", unconfined" not in readme(made)


def test_rows_of_its_own_matrix_are_no_cases_of_the_corpus() -> None:
    good = msgspec.structs.replace(generator_builders.GOOD, rows=("Seatbelt", ""))
    keys = generator_builders.keys("good")
    rows = [
        msgspec.structs.replace(keys[-4], promise=generator_builders.ABOUT[6], case=case)
        for case in ("row-01", "row-02")
    ]
    made = generator_builders.journal(map(generator_builders.usual, (*keys, *rows)), [good])
    declined = msgspec.structs.replace(
        made.stories[0],
        case="row-01",
        id="story-row",
        runs=(msgspec.structs.replace(made.stories[0].runs[0], refused=True, code=3),),
    )
    made = msgspec.structs.replace(made, stories=(*made.stories, declined))
    (one,) = measured(made, made.states())
    assert (one.cases, one.declined_of_corpus, one.declined) == (40, 0, frozenset({"row-01"}))
    assert one.groups[ROWS] == ("row-01", "row-02")
    assert [one.why(case) for case in ("row-01", "row-02", "row-03", "01-empty")] == ["Seatbelt", "", "", ""]
    red = msgspec.structs.replace(
        made,
        records=tuple(
            generator_builders.found(one.key, "another-mode") if one.key.case == "row-01" else one
            for one in made.records
        ),
    )
    assert "Seatbelt" in html.render(red, None)
    assert paste(red, next(one for one in red.records if one.key.case == "row-01"))[4] == "row-01"
