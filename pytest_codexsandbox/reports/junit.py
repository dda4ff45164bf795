"""JUnit XML: brings the file that pytest wrote in line with the journal. Pure.

pytest writes each case when its test ends. Some verdicts are known only at the end of a run: a stale expectation, a
result that never came. The exit code may have a reason that no test shows.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from xml.etree import ElementTree

from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.result_properties import properties
from pytest_codexsandbox.reports.outcomes import Kind, Outcome, machine_changed, of_run, outcomes

RUN: Final = "codexsandbox.run"  # class name of the case that stands for the run itself
NEVER: Final = "codexsandbox.never-ran"  # of cases that stand for results without a test
_RESULTS: Final[tuple[Kind, ...]] = ("failure", "error", "skipped")
_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_KEY: Final = ("cell", "door", "policy", "promise", "case")


def completed(document: bytes, journal: ReadJournal | None, reasons: Sequence[str]) -> bytes:
    """Returns the document with one case for each planned result, as in the journal. Cases of other tests stay.

    `journal` is None if it could not be read back: then only the exit code's reasons are added.
    """
    root = ElementTree.fromstring(document)  # noqa: S314 - pytest wrote it, in this process
    suite = next(root.iter("testsuite"))
    states = {} if journal is None else journal.states()
    for case in [case for case in suite.iter("testcase") if case.get("classname") in (RUN, NEVER)]:
        suite.remove(case)
    if journal is not None:
        cases, changed = _cases(suite), machine_changed(journal)
        for key, outcome in outcomes(journal).items():
            case = _settle(suite, cases.get(key, []), states[key], outcome)
            if key.cell in changed:
                _set_properties(case, [("machine_changed", changed[key.cell])])
        _set_properties(suite, _of_suite(journal).items())
    whole = of_run(states, reasons)
    if whole is not None:
        _put(ElementTree.SubElement(suite, "testcase", classname=RUN, name="exit code", time="0.000"), whole)
    _count(suite)
    return ('<?xml version="1.0" encoding="utf-8"?>' + ElementTree.tostring(root, encoding="unicode")).encode()


def _cases(suite: ElementTree.Element) -> dict[Key, list[ElementTree.Element]]:
    found: dict[Key, list[ElementTree.Element]] = {}
    for case in suite.iter("testcase"):
        shown = {one.get("name", ""): one.get("value", "") for one in case.iterfind("properties/property")}
        if shown.keys() >= set(_KEY[:4]):
            found.setdefault(Key(**{name: shown.get(name, "") for name in _KEY}), []).append(case)
    return found


def _settle(
    suite: ElementTree.Element, cases: list[ElementTree.Element], record: Record, outcome: Outcome
) -> ElementTree.Element:
    """Keeps one case for one result. Of several attempts it keeps one that already has the right outcome, else the
    last."""
    if cases:
        *_, case = sorted(cases, key=lambda one: _kind(one) == outcome.kind)
        for other in cases:
            if other is not case:
                suite.remove(other)
    else:
        case = ElementTree.SubElement(suite, "testcase", classname=NEVER, name=_legal(str(record.key)), time="0.000")
    _set_properties(case, properties(record).items())
    if _kind(case) != outcome.kind or outcome.kind == "skipped":
        _put(case, outcome)
    return case


def _kind(case: ElementTree.Element) -> Kind:
    return next((kind for kind in _RESULTS if case.find(kind) is not None), "passed")


def _put(case: ElementTree.Element, outcome: Outcome) -> None:
    words: dict[str, str] = {}
    for old in [child for child in case if child.tag in _RESULTS]:
        words = {"type": old.get("type", "")} if old.get("type") and old.tag == outcome.kind else {}
        case.remove(old)
    if outcome.kind != "passed":
        place = 1 if case.find("properties") is not None else 0
        result = ElementTree.Element(outcome.kind, words, message=_legal(outcome.message))
        result.text = _legal("\n".join(filter(None, (outcome.message, outcome.details))))
        case.insert(place, result)


def _of_suite(journal: ReadJournal) -> dict[str, str]:
    counts = {f"codexsandbox.{verdict}": str(count) for verdict, count in journal.counts().items()}
    ended = {"codexsandbox.exit": str(journal.end.exit)} if journal.end else {}
    return {"codexsandbox.run": journal.run.id, "codexsandbox.planned": str(len(journal.plan.keys)), **counts, **ended}


def _set_properties(parent: ElementTree.Element, pairs: Iterable[tuple[str, str]]) -> None:
    """Replaces properties of these names; others stay, such as what a user's own test recorded."""
    given = dict(pairs)
    there = parent.find("properties")
    if there is None:
        there = ElementTree.Element("properties")
        parent.insert(0, there)
    for old in [one for one in there if one.get("name") in given]:
        there.remove(old)
    there.extend(_property(name, value) for name, value in given.items())


def _property(name: str, value: str) -> ElementTree.Element:
    return ElementTree.Element("property", name=name, value=_legal(value))


def _count(suite: ElementTree.Element) -> None:
    kinds = [_kind(case) for case in suite.iter("testcase")]
    for name, kind in _counted():
        suite.set(name, str(kinds.count(kind)))
    suite.set("tests", str(len(kinds)))


def _counted() -> Iterator[tuple[str, Kind]]:
    yield from (("errors", "error"), ("failures", "failure"), ("skipped", "skipped"))


def _legal(text: str) -> str:
    """Spells out characters that XML does not permit."""
    return _ILLEGAL.sub(lambda found: f"#x{ord(found.group()):02X}", text)
