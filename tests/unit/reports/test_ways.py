"""What can be done about a cause stands in every report, each way by itself; a screen shows a few."""

import msgspec

from pytest_codexsandbox.model.ledger import Journal
from pytest_codexsandbox.model.record import Diagnosis, Record
from pytest_codexsandbox.model.step import Key
from pytest_codexsandbox.reports import html, markdown
from pytest_codexsandbox.reports.terminal import render
from tests.unit.reports.journals import cell, journal, keys_of, usual, violation

WAYS = tuple(f"way-{number} (proved in place-{number}). Price: price-{number}" for number in range(5))


def made() -> Journal:
    cause = Diagnosis(fingerprint="some-cause", cause="A cause.", remedy="do something", ways=WAYS)

    def state(key: Key) -> Record:
        red = (key.promise, key.policy) == ("start.sandbox-is-on", "read-only")
        return violation(key, "denied", diagnosis=cause) if red else usual(key)

    return journal(map(state, keys_of([cell()])), exit=1, reasons=("1 some violated",))


def shown(text: str) -> list[bool]:
    return [f"price-{number}" in text for number in range(5)]


def screen(verbosity: int) -> str:
    return render(made(), width=100, color=False, ascii=False, verbosity=verbosity, folder=None)


def test_a_screen_shows_three_and_says_that_there_are_more() -> None:
    text = screen(0)
    assert shown(text) == [True, True, True, False, False]
    assert "and 2 more ways (-v)" in text
    assert text.index("do something") < text.index("way-0") < text.index("way-1")


def test_asked_for_more_it_shows_all() -> None:
    assert shown(screen(1)) == [True] * 5
    assert "more way" not in screen(1)


def test_documents_have_all_of_them() -> None:
    for document in (markdown, html):
        assert shown(document.render(made(), None)) == [True] * 5


def test_a_journal_that_knows_of_no_ways_is_read() -> None:
    old = b'{"fingerprint":"x","cause":"A cause.","remedy":"","link":"","quote":"","verdict":"sandbox"}'
    assert msgspec.json.decode(old, type=Diagnosis).ways == ()
