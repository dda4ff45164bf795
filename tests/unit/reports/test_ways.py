"""What can be done about a cause stands in every report, each way by itself; a screen shows a few."""

from typing import Final

import msgspec

from pytest_codexsandbox.diagnosis.match import match
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Diagnosis, Record
from pytest_codexsandbox.reports import html, markdown
from pytest_codexsandbox.reports.merged_remedies import merged
from pytest_codexsandbox.reports.terminal import render
from tests.unit.reports.builders import cell, journal, keys_of, usual, violation

WAYS = tuple(f"way-{number} (proved in place-{number}). Price: price-{number}" for number in range(5))


def made() -> ReadJournal:
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
    assert "2 more ways" in text
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


# ---- one cause in several environments
REFUSED: Final = "bwrap: No permissions to create new namespace, likely because the kernel does not allow it"


def refused(version: str) -> Diagnosis:
    """Explain it in Docker's default profile with that bubblewrap."""
    facts = {
        "seccomp": "2",
        "kernel": "6.18",
        "bwrap.path": "/usr/bin/bwrap",
        "bwrap.version": version,
        "masked": "/proc/kcore",
        "profile": "docker-default",
    }
    found = match(REFUSED, facts=facts)
    assert found is not None
    return found


def test_a_remedy_for_one_environment_is_not_shown_for_all() -> None:
    """Both stand in one block. What helps in both comes first, and the other says where it does not help."""
    old, new = refused("bubblewrap 0.8.0"), refused("bubblewrap 0.12.0")
    assert old.remedies[0].name == "docker-filter-plus-bubblewrap"
    both = merged([old, new])
    assert (both.remedies[0].name, both.remedies[0].turns) == ("docker-filter-and-bare-proc", "green")
    assert both.remedies[0].proof.count(" docker-default with bubblewrap") == 2
    (alone,) = [one for one in both.remedies if one.name == "docker-filter-plus-bubblewrap"]
    assert alone.turns == "no better"
    here, there = alone.proof.split("; ")
    assert here.startswith("proved in docker-default") and here.endswith("before 0.12")
    assert there.startswith("does not help: ") and there.endswith("docker-default with bubblewrap 0.12")
    assert [f"({one.proof}). Price: {one.price}" in way for one, way in zip(both.remedies, both.ways, strict=True)] == (
        [True] * len(both.ways)
    )
    assert merged([new, new]) == new


def test_every_report_shows_a_cause_for_all_its_environments() -> None:
    cells = [cell(), cell("0.130.0")]
    told = {cells[0].id: refused("bubblewrap 0.8.0"), cells[1].id: refused("bubblewrap 0.12.0")}

    def state(key: Key) -> Record:
        red = (key.promise, key.policy) == ("start.sandbox-is-on", "read-only")
        return violation(key, "denied", diagnosis=told[key.cell]) if red else usual(key)

    made = journal(map(state, keys_of(cells)), cells=cells, exit=1, reasons=("1 some violated",))
    screen = render(made, width=100, color=False, ascii=False, verbosity=0, folder=None)
    words = " ".join(screen.split())
    assert merged(list(told.values())).remedies[0].name in words
    for document in (markdown, html):
        text = document.render(made, None)
        assert text.index("/proc hidden") < text.index("Podman&#39;s" if document is html else "Podman")
