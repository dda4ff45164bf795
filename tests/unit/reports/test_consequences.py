"""One fault of a generator's file is one cause; what Codex makes of it is counted below."""

from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.model.verdict import Direction
from pytest_codexsandbox.reports import by_generator, json_report
from pytest_codexsandbox.reports.causes import Cause, loud
from pytest_codexsandbox.reports.consequences import split
from pytest_codexsandbox.reports.terminal import render
from tests.unit.reports import generator_builders
from tests.unit.reports.generator_builders import BAD, CASES, cell, found, usual

PLACE = "generator.keys-at-their-own-place"
SAYS, DOES, LOADS = "effective.says-what-was-asked", "effective.does-what-was-asked", "generator.config-loads"
GROUP = CASES[:12]


def journal(*promises: tuple[str, Direction]) -> ReadJournal:
    wanted = dict(promises)
    keys = [key for key in generator_builders.keys("mytool") if key.promise not in wanted]
    records = [usual(key) for key in keys]
    template = next(key for key in generator_builders.keys("mytool") if key.promise == SAYS)
    for case in GROUP:
        for promise, direction in promises:
            key = Key(cell=cell("mytool").id, door=template.door, policy=template.policy, promise=promise, case=case.id)
            records.append(found(key, "captured", direction, diff=generator_builders.DIFF if promise == PLACE else ""))
    return generator_builders.journal(records, [BAD])


def causes(made: ReadJournal) -> list[Cause]:
    return loud(made.states(), made.plan.suite_index())


ALL: tuple[tuple[str, Direction], ...] = ((SAYS, "denied"), (DOES, "denied"), (LOADS, "denied"), (PLACE, "wrong-claim"))


def test_captured_is_one_cause_with_what_follows_below_it() -> None:
    (one,) = causes(journal(*ALL))
    assert (len(one.direct), len(one.following)) == (12, 36)
    assert one.direction == "denied", "the worst of what it leads to"
    assert one.first.key.promise == PLACE
    assert one.counted == "12 results, 36 more follow"


def test_a_leak_is_shown_by_itself_and_first() -> None:
    leak, other = causes(journal((SAYS, "leak"), (PLACE, "wrong-claim")))
    assert (leak.direction, other.direction) == ("leak", "wrong-claim")
    assert leak.following == ()


def test_without_a_check_of_the_file_the_effect_in_codex_shows_it() -> None:
    (one,) = causes(journal((SAYS, "denied"), (DOES, "denied")))
    assert (len(one.direct), one.following) == (24, ())


def test_the_screen_names_the_fault_once_and_counts_what_follows() -> None:
    text = render(journal(*ALL), width=100, color=False, ascii=True, verbosity=0)
    assert text.count("F denied: ") == 1 and "F wrong-claim" not in text
    assert f"captured: {PLACE} (12 results, 36 more follow)" in text
    assert "so also" in text and f"{SAYS} (12)" in text and f"{LOADS} (12)" in text


def test_a_generators_block_and_the_document_count_it_once() -> None:
    made = journal(*ALL)
    (reason,) = by_generator.blocks(made)[0].reasons
    assert (reason.word, len(reason.records), len(reason.following)) == ("captured", 12, 36)
    assert "36 more checks" in by_generator.render(made, width=100, color=False, ascii=True)
    assert next(one["following"] for one in json_report._causes(made.states(), made.plan.suite_index())) == 36


def test_results_of_the_sandbox_itself_follow_from_nothing() -> None:
    suite = [usual(key) for key in generator_builders.keys("mytool") if key.promise == "filesystem.outside-refused"]
    assert split(suite, SuiteIndex()) == (tuple(suite), ())
