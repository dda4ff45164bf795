"""Each environment by itself: what was tried without Codex beside how Codex starts, in every report."""

import json
import re
from pathlib import Path

import msgspec

from pytest_codexsandbox.model.bare_tools import BareToolResults, ToolAttempt
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.record import Diagnosis
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports import html, json_report, markdown
from pytest_codexsandbox.reports.bare_tools import BareToolRow, View, headings, numbered, token, view
from tests.unit.reports import builders
from tests.unit.reports.bare_tools_builders import as_written, by_itself
from tests.unit.reports.test_terminal import screen

MOON = "bwrap: the moon is full"
FOLDER = Path("runs/1")


def seen(made: ReadJournal) -> View:
    found = view(made, made.states())
    assert found is not None
    return found


def row(found: View, name: str) -> BareToolRow:
    return next(row for row in found.rows if name in row.names)


def tokens(found: View, name: str) -> list[str]:
    its = row(found, name)
    numbers = numbered([its])
    return [*(token(field, numbers) for field in its.tried), *(token(side[0], numbers) for side in its.codex)]


def fingerprints(found: View, name: str) -> list[str]:
    return [note.fingerprint for note in row(found, name).notes]


def block(text: str) -> str:
    return text.partition("by itself: ")[2]


def test_results_of_bubblewrap_unshare_and_codex_are_in_one_row() -> None:
    found = seen(by_itself())
    assert headings(found) == ("bwrap", "-net", "-proc", "unshare")
    assert found.sides == ("workspace-write", "workspace-write-network")  # nothing starts where none is asked for
    assert tokens(found, "docker-default") == ["1", "1", "-", "2", "x1", "x1"]  # its words and Codex's are the same
    assert fingerprints(found, "docker-default") == ["userns-not-permitted", "unshare-refused"]
    assert tokens(found, "synthetic-rtm-newaddr") == ["ok", "1", "-", "ok", "F1", "P"]
    assert tokens(found, "open") == ["ok", "ok", "-", "ok", "P", "P"]


def test_words_that_match_nothing_stand_there_as_they_are() -> None:
    found = seen(by_itself())
    assert tokens(found, "odd") == ["1", "2", "-", "-", "F1", "F1"]
    assert fingerprints(found, "odd") == ["", ""]
    assert f"{MOON} (no fingerprint fits)" in screen(by_itself(), width=200)


def test_equal_environments_are_one_row_but_synthetic_ones_are_separate() -> None:
    made = by_itself()
    assert row(seen(made), "open").names == ("open", "roomy")
    cells = [
        msgspec.structs.replace(cell, synthetic=cell.axes["profile"] in ("roomy", "synthetic-rtm-newaddr"))
        for cell in made.plan.cells
    ]
    plan = msgspec.structs.replace(made.plan, cells=tuple(cells))
    apart = seen(msgspec.structs.replace(made, plan=plan))
    assert row(apart, "open").names == ("open",)
    assert row(apart, "roomy (synthetic)").names == ("roomy (synthetic)",)


def test_failing_starts_come_first_and_known_facts_after_them() -> None:
    ranks = [row.rank for row in seen(by_itself()).rows]
    assert ranks == [0, 0, 1, 3]


def test_unmeasured_environments_are_named() -> None:
    assert seen(by_itself()).untold == ("untold",)
    assert re.search(r"\b1 environment [a-z ]+: untold\b", screen(by_itself(), verbosity=1))
    assert "Not measured: untold" in html.render(by_itself(), FOLDER)


def test_without_measurements_no_report_has_the_section() -> None:
    for make in (builders.green, builders.red, as_written):  # the last is as the file has it, without meanings
        made = make()
        assert view(made, made.states()) is None
        assert not block(screen(made, verbosity=1))
        assert "by themselves" not in html.render(made, FOLDER)
        assert "By themselves" not in markdown.render(made, FOLDER)
        assert json.loads(json_report.render(made, FOLDER))["by_itself"] == []


def test_a_screen_shows_failing_environments_and_with_v_all() -> None:
    few, every = (block(screen(by_itself(), width=120, verbosity=verbosity)) for verbosity in (0, 1))
    assert "docker-default" in few and "odd" in few and "open, roomy" not in few
    assert "2 more environments" in few
    assert "open, roomy" in every and "more environments" not in every
    assert "user namespace (EPERM)." in every and "(EPERM)." not in few


def test_a_green_run_prints_no_section_without_v() -> None:
    tried = (ToolAttempt(name="bwrap", command="bwrap true", said="ok"),)
    spec = builders.cell().environment
    made = msgspec.structs.replace(builders.green(), alone={spec: BareToolResults(tried=tried)})
    assert not block(screen(made))
    assert "By themselves" not in markdown.render(made, FOLDER)
    assert block(screen(made, verbosity=1))
    assert "Environments by themselves" in html.render(made, FOLDER)


def test_output_of_programs_has_no_colour_of_a_verdict() -> None:
    body = html.render(by_itself(), FOLDER).partition('aria-labelledby="alone">')[2].partition("</table>")[0]
    fields = re.findall(r"<td([^>]*)><span class=\"heard\">(?:it worked|it was refused|not there) </span>", body)
    assert len(fields) == 4 * 4 and not any(fields)


def test_every_number_of_the_page_leads_to_its_words() -> None:
    page = html.render(by_itself(), FOLDER)
    assert set(re.findall(r'href="#(said-\d+)"', page)) == set(re.findall(r'id="(said-\d+)"', page))
    assert len(re.findall(r'id="said-\d+"', page)) == 5


def test_markdown_has_the_table_and_the_causes() -> None:
    text = markdown.render(by_itself(), FOLDER)
    assert "| | bwrap | -net | -proc | unshare | Codex workspace-write | Codex workspace-write-network |" in text
    assert re.search(r"^\| docker-default \| \d \| \d \| - \| \d \| x\d \| x\d \|", text, re.MULTILINE)
    assert re.search(r"<code>unshare&#58; unshare failed&#58;|<code>unshare: unshare failed:", text)
    assert "unshare-refused: " in text


def test_json_has_every_environment_and_nothing_folded() -> None:
    told = {one["environment"]: one for one in json.loads(json_report.render(by_itself(), FOLDER))["by_itself"]}
    assert len(told) == 5
    filtered = told["debian-12~bwrap-distro~docker-default~u1000"]
    assert [one["fingerprint"] for one in filtered["tried"]] == [
        "userns-not-permitted",
        "userns-not-permitted",
        "",
        "unshare-refused",
    ]
    assert {(one["policy"], one["verdict"], one["deviation"]) for one in filtered["codex"]} == {
        (policy, "expected", "no-userns") for policy in ("workspace-write", "workspace-write-network")
    }
    assert filtered["asked_directly"].endswith("user namespace (EPERM).")
    assert told["debian-12~bwrap-distro~synthetic-rtm-newaddr~u1000"]["synthetic"]


def test_a_known_deviation_shows_its_measurement() -> None:
    measured = (
        "The kernel refuses a user namespace. Checked directly, this environment refuses a user namespace (EPERM)."
    )
    for text in (
        screen(by_itself(), width=300, verbosity=1),
        html.render(by_itself(), FOLDER),
        markdown.render(by_itself(), FOLDER),
    ):
        known = text[text.index("no-userns") :]
        assert f"userns-not-permitted: {measured}" in known
    (quiet,) = [
        one for one in json.loads(json_report.render(by_itself(), FOLDER))["causes"] if one["verdict"] == "expected"
    ]
    assert quiet["measured"] == [f"userns-not-permitted: {measured}"]


def test_releases_that_differ_in_one_environment_are_both_shown() -> None:
    cells = [builders.cell("0.136.0"), builders.cell("0.163.0")]
    keys = builders.keys_of(cells, promises=("start.sandbox-is-on",), policies=("read-only",))
    records = [builders.violation(keys[0], "denied"), builders.usual(keys[1])]
    made = msgspec.structs.replace(
        builders.journal(records, cells=cells),
        alone={
            cells[0].environment: BareToolResults(tried=(ToolAttempt(name="bwrap", command="bwrap true", said="ok"),))
        },
    )
    (only,) = seen(made).rows
    assert [[field.sign for field in side] for side in only.codex] == [["F", "P"]]
    assert re.search(r"^ +ok +F1,P ", screen(made), re.MULTILINE)


def test_a_measurement_is_in_its_column_and_not_in_a_cause_that_others_share() -> None:
    """Two environments are refused by Codex alone, in the same words, and answered differently when they were asked."""
    cells = [builders.cell(environment=f"debian-{number}~host~local") for number in (12, 13)]
    asked = {
        cells[0].environment: "Checked directly, this environment refuses Landlock (ENOSYS).",
        cells[1].environment: "Checked directly, this environment refuses its uid_map (EPERM).",
    }
    keys = builders.keys_of(cells, promises=("start.sandbox-is-on",), policies=("read-only",))
    records = [
        builders.violation(key, "denied", diagnosis=Diagnosis(fingerprint="f", quote="no", cause=f"A cause. {told}"))
        for key, told in zip(keys, asked.values(), strict=True)
    ]
    tried = (ToolAttempt(name="bwrap", command="bwrap true", said="ok"),)
    alone = {spec: BareToolResults(tried=tried, asked=told) for spec, told in asked.items()}
    found = seen(msgspec.structs.replace(builders.journal(records, cells=cells), alone=alone))
    assert [note.cause for note in numbered(found.rows)] == ["A cause."]
    assert [row.asked for row in found.rows] == ["refuses Landlock (ENOSYS).", "refuses its uid_map (EPERM)."]


def test_an_undetermined_start_is_no_sign_of_the_limits_of_a_sandbox_there() -> None:
    """A Codex that could not be had: its own block says why, and says it once."""
    made = by_itself()
    states = {
        key: msgspec.structs.replace(one, verdict=Verdict.BROKEN, reason="it cannot be had")
        if key.promise == "start.sandbox-is-on" and "~roomy~" in key.cell
        else one
        for key, one in made.states().items()
    }
    found = view(made, states)
    assert found is not None
    assert tokens(found, "roomy") == ["ok", "ok", "-", "ok", "E", "E"]
    assert row(found, "roomy").rank == row(found, "open").rank
