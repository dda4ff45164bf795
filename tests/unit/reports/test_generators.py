"""What people see of generators: folded by promise, red by cause, a line for a README; nothing is green by mistake."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.model.generator import CodexLaunch
from pytest_codexsandbox.model.generator_suite import AS_ASKED
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.story_log import LoggedRun
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports import by_generator, causes, html, json_report, markdown
from pytest_codexsandbox.reports.generator_tally import measured, paste
from pytest_codexsandbox.reports.grid import grid, names_of
from pytest_codexsandbox.reports.html_generators import ran
from pytest_codexsandbox.reports.readme_line import line, word_for
from tests.unit.reports import builders, generator_builders
from tests.unit.reports.test_html import ELEMENTS, Page
from tests.unit.reports.test_terminal import GOLDEN, screen


def readme(made: ReadJournal, place: int = 0) -> str:
    return line(by_generator.blocks(made)[place].summary)


def changed(promise: str, verdict: Verdict, **words: object) -> ReadJournal:
    """A good run in which the first case of one promise came out otherwise."""

    def state(key: Key) -> Record:
        if key.promise != promise or key.case not in ("", generator_builders.CASES[0].id):
            return generator_builders.usual(key)
        return builders.record(key, verdict, **words)

    return generator_builders.journal(map(state, generator_builders.keys("good")), [generator_builders.GOOD])


# ---- the screen
@pytest.mark.parametrize("kind", sorted(generator_builders.KINDS))
def test_the_screen_is_the_golden_one(kind: str) -> None:
    assert screen(generator_builders.KINDS[kind]()) == (GOLDEN / f"generators-{kind}-80.txt").read_text()


@pytest.mark.parametrize("kind", ["bad", "both"])
def test_forty_cases_of_a_promise_are_one_line(kind: str) -> None:
    shown = screen(generator_builders.KINDS[kind]()).partition("legend")[0]
    assert len([text for text in shown.splitlines() if "user-keys-keep-their-values" in text]) == 1
    assert len(shown.splitlines()) < 30


def test_a_generator_without_checks_has_no_line() -> None:
    """Its cell was measured by the suite alone: there is nothing of its own to be told, or to be believed."""
    keys = generator_builders.keys("good")
    whole, suite = (
        screen(generator_builders.journal(map(generator_builders.usual, some), [generator_builders.GOOD]))
        for some in (keys, [key for key in keys if key.policy != AS_ASKED])
    )
    assert "checks conform" in whole
    assert "checks conform" not in suite
    assert "NOT TRUSTWORTHY" not in suite


def test_one_column_says_in_how_many_cases_it_held() -> None:
    assert "user-keys-keep-their-values: 36 of 40" in screen(generator_builders.bad())


def test_a_cause_names_cases_shows_one_diff_and_the_line_to_paste() -> None:
    shown = screen(generator_builders.bad()).partition("F wrong-claim: comment-lost")[2].partition("\n\n")[0]
    assert "02-spelling-0" in shown
    assert "and 12" in shown
    assert "cases" in shown
    assert sum(text.startswith(" " * 13 + "+ line") for text in shown.splitlines()) == 11
    assert "… 29 more lines (-v)" in shown
    assert "codexsandbox generator try --case 02-spelling-0 -- mytool render" in shown


def test_users_lines_and_generators_lines_differ_by_sign_as_well_as_by_colour() -> None:
    plain, coloured = screen(generator_builders.bad()), screen(generator_builders.bad(), color=True)
    assert "             - allowed = [" in plain
    assert "             + # BEGIN mytool" in plain
    assert "\x1b[31m- allowed = [" in coloured
    assert "\x1b[34m+ # BEGIN mytool" in coloured


def test_a_block_by_a_case_is_shown_for_that_case_alone() -> None:
    shown = screen(generator_builders.bad())
    assert "F denied: does-not-load: generator.config-loads" in shown
    assert ", 2 results blocked" in shown


def test_the_obstacle_of_a_case_comes_from_the_same_case() -> None:
    first, other = (case.id for case in generator_builders.CASES[:2])

    def state(key: Key) -> Record:
        if key.promise == "generator.config-loads" and key.case == first:
            return generator_builders.found(key, "does-not-load", "denied")
        if key.promise == "generator.config-loads" and key.case == other:
            return builders.record(key, Verdict.BROKEN, reason="the app-server died")
        if key.promise == "effective.says-what-was-asked" and key.case in (first, other):
            return builders.record(key, Verdict.BLOCKED, reason="not asked", blocked_by="generator.config-loads")
        return generator_builders.usual(key)

    made = generator_builders.journal(map(state, generator_builders.keys("mytool")), [generator_builders.BAD])
    loud = causes.loud(made.states(), made.plan.suite_index())
    blocked = [cause for cause in loud if cause.verdict is Verdict.BLOCKED]
    assert len(blocked) == 2
    for cause in blocked:
        assert cause.blocker is not None
        assert [cause.blocker.key.case] == [record.key.case for record in cause.records]


@pytest.mark.parametrize("kind", sorted(generator_builders.KINDS))
@pytest.mark.parametrize("verbosity", [0, 1])
def test_no_line_is_wider_than_the_screen_but_what_is_pasted(kind: str, verbosity: int) -> None:
    for text in screen(generator_builders.KINDS[kind](), ascii=True, verbosity=verbosity).splitlines():
        assert len(text) <= 80 or text.startswith((" " * 10, "again:", "evidence:")), text


def test_if_the_harness_cannot_be_believed_that_comes_first() -> None:
    def state(key: Key) -> Record:
        if key.promise == generator_builders.TRUST:
            return builders.record(key, Verdict.BROKEN, reason="a bad one was not caught")
        return generator_builders.wrong(key)

    shown = screen(generator_builders.journal(map(state, generator_builders.keys("mytool")), [generator_builders.BAD]))
    assert shown.index("E trust.") < shown.index("F leak:")


def declining(made: ReadJournal, *cases: str) -> ReadJournal:
    """Its first run declined there, and so did the rest."""
    no = LoggedRun(ended="exit", code=3, seconds=0.01, stderr="no")
    stories = [msgspec.structs.replace(one, runs=(no,) * 3) if one.case in cases else one for one in made.stories]
    return msgspec.structs.replace(made, stories=tuple(stories))


def test_a_line_says_in_how_many_cases_it_declined() -> None:
    made = generator_builders.good()
    assert "declined" not in readme(made)
    assert " 2 of 40 cases" in readme(declining(made, *(case.id for case in generator_builders.CASES[:2])))


def test_one_that_declines_everything_gets_no_good_sign() -> None:
    """That nothing was spoilt is no merit of who did nothing."""
    quiet = ("generator.user-keys-keep-their-values", "generator.config-loads", "effective.", "managed-block.")

    def state(key: Key) -> Record:
        if key.case and key.promise.startswith(quiet):
            return builders.record(key, Verdict.NOT_APPLICABLE, reason="it declined and wrote nothing")
        return generator_builders.usual(key)

    made = generator_builders.journal(map(state, generator_builders.keys("good")), [generator_builders.GOOD])
    assert "keeps ✔" in readme(made), "what it gives as arguments only writes no file"
    told = readme(declining(made, *(case.id for case in generator_builders.CASES)))
    assert "keeps ?" in told
    assert "loads ?" in told
    assert " 40 of 40 cases" in told


# ---- the matrix
def test_cells_are_alike_only_where_every_case_is() -> None:
    assert len(grid(generator_builders.both()).groups) == 2

    def state(key: Key) -> Record:
        other = generator_builders.CASES[1 if "gen-a" in key.cell else 2].id
        if key.promise == "generator.parses" and key.case == other:
            return generator_builders.found(key, "does-not-parse")
        return generator_builders.usual(key)

    rows = [msgspec.structs.replace(generator_builders.GOOD, name=name, spec=name) for name in ("a", "b")]
    made = generator_builders.journal([state(key) for name in "ab" for key in generator_builders.keys(name)], rows)
    assert len(grid(made).groups) == 2


def test_a_cell_is_named_by_its_differences_from_the_others() -> None:
    good, bad = generator_builders.cell("good"), generator_builders.cell("mytool")
    plain = builders.cell()
    assert list(names_of([good, bad]).values()) == ["good", "mytool"]
    assert list(names_of([good]).values()) == ["0.163.0 / good"]
    assert list(names_of([plain, good]).values()) == ["no generator", "good"]
    two = [generator_builders.cell("good", label) for label in ("0.130.0", "0.163.0")]
    assert list(names_of(two).values()) == ["0.130.0", "0.163.0"]


# ---- a line for a README
def test_a_good_generator_has_a_good_line() -> None:
    assert readme(generator_builders.good()) == (
        "good · codexsandbox 1.0, Codex 0.163.0, 2026-11-18: 317 of 323 checks conform, 6 n/a — loads ✔ keeps ✔ "
        "idempotent ✔ effective ✔ shares ✔ robust ✔"
    )


def test_the_line_of_a_bad_one_counts_what_it_violates_and_what_was_not_measured() -> None:
    assert readme(generator_builders.bad()) == (
        "mytool 1.2 · codexsandbox 1.0, Codex 0.163.0, 2026-11-18: 290 of 323 checks conform, 24 violate (3 leak), "
        "6 n/a, 2 blocked, 1 broken — loads ✘ keeps ✘ idempotent ✔ effective ✘ shares ✔ robust ?"
    )


@pytest.mark.parametrize("verdict", [Verdict.BROKEN, Verdict.BLOCKED])
def test_an_unmeasured_group_is_never_good(verdict: Verdict) -> None:
    told = readme(changed("generator.parses", verdict, reason="nobody could tell"))
    assert "loads ?" in told
    assert f"1 {verdict.value}" in told


@pytest.mark.parametrize("verdict", [Verdict.EXPECTED, Verdict.STALE, Verdict.VIOLATES])
def test_a_deviation_that_is_known_is_none_the_less_one(verdict: Verdict) -> None:
    assert "loads ✘" in readme(changed("generator.parses", verdict, reason="as it is"))


def test_an_unasked_group_is_not_good() -> None:
    kept = [key for key in generator_builders.keys("good") if not key.promise.startswith("effective.")]
    assert "effective –" in readme(
        generator_builders.journal(map(generator_builders.usual, kept), [generator_builders.GOOD])
    )


def test_a_partly_asked_group_is_not_good() -> None:
    kept = [key for key in generator_builders.keys("good") if key.promise != "effective.does-what-was-asked"]
    made = generator_builders.journal(map(generator_builders.usual, kept), [generator_builders.GOOD])
    every = (generator_builders.TRUST, generator_builders.ONCE, generator_builders.OTHERS, *generator_builders.ABOUT)
    told = readme(msgspec.structs.replace(made, plan=msgspec.structs.replace(made.plan, of_generators=every)))
    assert "effective ?" in told
    assert told.count("✔") == 5


@pytest.mark.parametrize("verdict", [Verdict.BROKEN, Verdict.VIOLATES, Verdict.BLOCKED])
def test_nothing_is_good_where_the_harness_was_not_shown_to_see(verdict: Verdict) -> None:
    told = readme(changed(generator_builders.TRUST, verdict, reason="a bad one was not caught"))
    assert "✔" not in told
    assert "NOT TRUSTWORTHY" in told
    unasked = [key for key in generator_builders.keys("good") if key.promise != generator_builders.TRUST]
    assert "✔" not in readme(
        generator_builders.journal(map(generator_builders.usual, unasked), [generator_builders.GOOD])
    )


def test_nothing_is_good_of_a_run_that_did_not_end() -> None:
    keys = generator_builders.keys("good")
    made = generator_builders.journal(
        map(generator_builders.usual, keys[:200]), [generator_builders.GOOD], planned=keys, ended=False
    )
    assert "✔" not in readme(made)


def test_the_line_says_where_cases_were_left_out_and_where_nothing_confined() -> None:
    few = generator_builders.keys("good", generator_builders.CASES[:3])
    assert "3 of 40 cases only" in readme(
        generator_builders.journal(map(generator_builders.usual, few), [generator_builders.GOOD])
    )
    made = generator_builders.journal(
        map(generator_builders.usual, generator_builders.keys("good")), [generator_builders.GOOD], confined=""
    )
    assert "unconfined" in readme(made)
    part = msgspec.structs.replace(made.stories[0], confined="bubblewrap")
    assert "unconfined" in readme(msgspec.structs.replace(made, stories=(part, *made.stories[1:])))


def test_releases_of_one_generator_are_one_line() -> None:
    labels = ("0.130.0", "0.163.0")
    records = [
        generator_builders.usual(key) for label in labels for key in generator_builders.keys("good", label=label)
    ]
    made = generator_builders.journal(records, [generator_builders.GOOD], labels=labels)
    assert len(by_generator.blocks(made)) == 1
    assert "634 of 646 checks conform" in readme(made)


def test_every_promise_has_a_word() -> None:
    words = {
        word_for(promise) for promise in (*generator_builders.ABOUT, generator_builders.ONCE, generator_builders.OTHERS)
    }
    assert words == {"loads", "keeps", "idempotent", "effective", "shares", "robust"}


# ---- by generator
def test_a_block_counts_by_topic_and_names_reasons_leaks_first() -> None:
    shown = by_generator.render(generator_builders.both(), width=80, color=False, ascii=False)
    assert re.search(r"generator +201 +179 +21 +0 +1 +0\n", shown)
    assert shown.index("injected-root") < shown.index("comment-lost") < shown.index("captured")
    assert readme(generator_builders.both(), 1) in shown.splitlines()


def test_a_run_without_generators_says_how_to_have_one() -> None:
    assert "--codex-generator" in by_generator.render(builders.green(), width=80, color=False, ascii=True)
    assert "--codex-generator" in by_generator.markdown_of(builders.green())


def test_hostile_words_do_not_leave_their_place() -> None:
    made = generator_builders.hostile()
    for text in (by_generator.render(made, width=80, color=False, ascii=True), by_generator.markdown_of(made)):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", text)
    outside = re.sub(r"```.*?```", "", by_generator.markdown_of(made), flags=re.DOTALL)
    assert not re.search(r"<(?!code>|/code>)[a-z/!]", outside)


# ---- Markdown, JSON, HTML
@pytest.mark.parametrize("kind", sorted(generator_builders.KINDS))
def test_the_markdown_is_the_golden_one(kind: str) -> None:
    assert markdown.render(generator_builders.KINDS[kind](), None) == (GOLDEN / f"generators-{kind}.md").read_text()


@pytest.mark.parametrize("kind", sorted(generator_builders.KINDS))
def test_hostile_text_means_nothing_to_markdown(kind: str) -> None:
    text = markdown.render(generator_builders.KINDS[kind](), None)
    outside = re.sub(r"(`{3,}).*?\n\1", "", text, flags=re.DOTALL).replace("<br>", "")
    assert not re.search(r"<(?!code>|/code>)[a-z/!]", outside)
    assert "](" not in outside
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({row.count("|") for row in table.splitlines()}) == 1


def test_the_document_has_each_generator_with_its_line() -> None:
    document = json.loads(json_report.render(generator_builders.both(), None))
    assert [one["name"] for one in document["generators"]] == ["good", "mytool"]
    assert document["generators"][1]["answers"]["effective"] == "no"
    assert {reason["reason"]: reason["results"] for reason in document["generators"][1]["reasons"]} == {
        "injected-root": 3,
        "comment-lost": 16,
        "captured": 4,
        "does-not-load": 1,
    }


@pytest.mark.parametrize("kind", sorted(generator_builders.KINDS))
def test_the_page_is_well_formed_leads_somewhere_and_asks_nothing(kind: str) -> None:
    text = html.render(generator_builders.KINDS[kind](), Path("runs/1"))
    made = Page(text)
    assert not made.open
    assert {name for name, _ in made.elements} <= ELEMENTS
    ids = [attributes["id"] for _, attributes in made.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert {link["href"][1:] for link in made.all("a") if link["href"].startswith("#")} <= set(ids)
    assert not [name for _, attributes in made.elements for name in attributes if name.startswith("on")]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", text)
    assert not [link for link in made.all("a") if "javascript" in link["href"]]


def test_the_page_counts_by_group_and_shows_the_diff_the_claim_and_the_runs() -> None:
    text = Page(html.render(generator_builders.bad(), None)).text
    assert "F violates, 8 of 12" in text
    assert "the generator's: + # BEGIN mytool" in text
    assert "the user's: - allowed = [" in text
    assert "workspace-write, network on, roots @ROOT0@, approval on-request" in text
    assert "run 1: exit 0, 14 ms; changed @CODEX_HOME@/config.toml" in text


def test_a_run_lists_each_call_of_codex_once() -> None:
    calls = (
        CodexLaunch(argv=("exec", "do the work")),
        CodexLaunch(argv=("exec", "do the work")),
        CodexLaunch(argv=("--version",)),
    )
    run = LoggedRun(ended="exit", code=0, seconds=0.01, launches=calls)
    (line,) = ran(msgspec.structs.replace(generator_builders.good().stories[0], runs=(run,)))
    assert line == "run 1: exit 0, 10 ms; changed nothing; ran codex exec 'do the work', codex --version"


def test_a_field_that_does_not_hold_leads_to_its_cases_and_these_to_what_was_found() -> None:
    text = html.render(generator_builders.bad(), None)
    assert len(re.findall(r'<td class="violates"><a href="#group-\d+">', text)) == 5
    assert len(re.findall(r'<td class="violates"><a href="#case-\d+">', text)) == 24


# ---- the line to paste
def test_a_pasted_command_names_a_codex_that_is_not_the_installed_one() -> None:
    made = generator_builders.bad()
    record = next(one for one in made.records if one.key.case and one.verdict is Verdict.VIOLATES)
    assert "--codex-release" not in paste(made, record)
    subject = msgspec.structs.replace(made.subjects[0], source="npm")
    told = paste(msgspec.structs.replace(made, subjects=(subject,)), record)
    assert told[4:8] == (record.key.case, "--codex-release", "0.163.0", "--")
    assert told[8:] == ("mytool", "render", "--out", "@CONFIG@")


def test_a_check_outside_the_corpus_has_no_pasted_command() -> None:
    made = generator_builders.both()
    assert not paste(made, next(one for one in made.records if one.key.promise == generator_builders.OTHERS))
    assert not paste(made, next(one for one in made.records if one.key.door == "app-server"))


def test_every_cell_with_a_generator_is_listed() -> None:
    made = generator_builders.both()
    assert [one.cases for one in measured(made, made.states())] == [40, 40]
