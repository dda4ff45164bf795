"""Say why something failed: an old journal, or an error text that you paste.

A journal is explained again with today's fingerprints: each red or grey check with its cause, what to do about it and
where the evidence is. A text (a file, or `-` for what you paste, ended by Ctrl-D) is searched for every known cause,
the most specific first. Nothing is started.

Exit code: 0 something was recognised (or nothing is red), 1 nothing was; 4 the journal or text cannot be read; 11 the
journal contradicts itself (its lines were changed or lost) or has no end: then no cause that is shown is sure.
"""

import argparse
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.commands import diagnose_json
from pytest_codexsandbox.diagnosis.choices import choices
from pytest_codexsandbox.diagnosis.explain import EXPLAINED, diagnose
from pytest_codexsandbox.diagnosis.fingerprint import Fingerprint
from pytest_codexsandbox.diagnosis.match import fingerprints, matches
from pytest_codexsandbox.errors import InputError, os_errors_as
from pytest_codexsandbox.harness.replay import read
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Diagnosis, Record
from pytest_codexsandbox.model.verdict import SIGNS, WORST_FIRST, Verdict
from pytest_codexsandbox.reports.escape import visible
from pytest_codexsandbox.reports.headlines import believed, contradiction, incomplete, not_rejudged
from pytest_codexsandbox.reports.merged_remedies import merged
from pytest_codexsandbox.reports.path_masking import private

EXAMPLES: Final = (
    "codexsandbox diagnose .codexsandbox/2026-11-18T09-41/journal.ndjson",
    "codex sandbox -- true 2>&1 | codexsandbox diagnose -",
    "codexsandbox diagnose ci.log --fact codex=0.114.0 --json",
    "codexsandbox diagnose --list",
)
READ_LIMIT: Final = 16 * 1024 * 1024
CONTRADICTION: Final = 11
OTHERS: Final = 2  # remedies after the first one
SHOWN: Final = 4  # checks and causes named one by one
WORDS: Final = {"sandbox": "the sandbox", "not-sandbox": "not the sandbox", "undecided": "undecided"}

Group = tuple[Diagnosis, list[Record]]


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", nargs="?", metavar="JOURNAL|FILE|-", help="a journal (or its folder), a text, or -")
    parser.add_argument(
        "--fact",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a fact about the machine that the text comes from: codex=0.130.0, platform=darwin, a sysctl",
    )
    parser.add_argument(
        "--fingerprints", action="append", default=[], metavar="FOLDER", help="more fingerprints, one TOML file each"
    )
    parser.add_argument("--json", action="store_true", help="for programs: causes, each with its first fix")
    parser.add_argument("--list", action="store_true", help="list every known cause with its texts")


def run(options: argparse.Namespace) -> int:
    known = fingerprints(tuple(Path(folder).absolute() for folder in options.fingerprints))
    if options.list:
        print("\n".join(_listed(known)))
        return 0
    if not options.source:
        raise InputError("nothing to diagnose", next_step="give a journal, a text file, or - and paste the error text")
    content = _content(options.source)
    if content is None:
        return _journal(private(read(options.source)), known, Path(options.source), as_json=options.json)
    return _text(content, _facts(options.fact), known, as_json=options.json)


# ---- a text
def _text(content: str, facts: Mapping[str, str], known: Sequence[Fingerprint], *, as_json: bool) -> int:
    if not content.strip():
        raise InputError(
            "the text is empty",
            why="a command that works, such as a sandbox that starts, prints no error",
            next_step="paste an error text, or start the sandbox here: codexsandbox boot-check",
        )
    found = matches(content, facts=facts, fingerprints=known)
    if as_json:
        print(diagnose_json.of_text(found))
        return 0 if found else 1
    if not found:
        print("\n".join(_not_recognised(len(known))))
        return 1
    if len(found) > 1:
        print(f"{len(found)} causes in this text, the most specific first\n")
    print("\n\n".join("\n".join((_title(each), *_because(each))) for each in found))
    return 0


def _title(diagnosis: Diagnosis) -> str:
    return f"{visible(diagnosis.fingerprint) or 'not recognised'}  ({WORDS[diagnosis.verdict]})"


def _because(diagnosis: Diagnosis) -> Iterator[str]:
    yield from _field("said", diagnosis.quote)
    yield from _field("because", diagnosis.cause)
    known = choices(diagnosis)
    yield from _field("first", known.first)
    for name, ways in (("or", known.others[:OTHERS]), ("unsafe", known.unsafe), ("no use", known.useless)):
        for way in ways:
            yield from _field(name, way)
    more = len(known.others) - OTHERS
    if more > 0:
        yield from _field("more", f"{more} more ways: codexsandbox remedies {diagnosis.fingerprint}")
    if diagnosis.link:
        yield f"   {'see':<9} {visible(diagnosis.link)}"  # whole, so that it can be followed


def _not_recognised(count: int) -> Iterator[str]:
    yield f"not recognised: none of {count} fingerprints fits this text"
    yield from _field("paste", "all of stderr, from the first line with `bwrap:`, `Error:` or `panicked` on")
    yield from _field("try", "codexsandbox doctor   (starts a sandbox on this machine and says what fails)")
    yield from _field("report", "the text, the Codex release and the distribution, as an issue of this project")
    yield from _field("teach", "a fingerprint is one TOML file: docs/how-to/add-a-fingerprint.md")


# ---- a journal
def _journal(journal: ReadJournal, known: Sequence[Fingerprint], source: Path, *, as_json: bool) -> int:
    states = journal.states()
    red = [record for record in states.values() if record.verdict in EXPLAINED]
    sure = not contradiction(journal, states)
    if as_json:
        groups = _groups(journal, red, known)
        print(diagnose_json.of_journal(journal.run.id, _ending(journal, states), groups))
        return _code(groups, sure=sure)
    for line in (*_ending(journal, states), *_believed(journal)):
        print(line)
    if not red:
        print(f"nothing to diagnose: no check of run {visible(journal.run.id)} is red or blocked")
        return 0 if sure else CONTRADICTION
    groups = _groups(journal, red, known)
    checks = "1 check" if len(red) == 1 else f"{len(red)} checks"
    causes = "1 cause" if len(groups) == 1 else f"{len(groups)} causes"
    print(f"run {visible(journal.run.id)}: {checks} red or blocked, {causes}\n")
    folder = source if source.is_dir() else source.parent
    print("\n\n".join("\n".join((*_group_lines(*group), *_evidence(journal, group[1][0], folder))) for group in groups))
    return _code(groups, sure=sure)


def _code(groups: Sequence[Group], *, sure: bool) -> int:
    """Returns the exit code; 0 also if no record is red."""
    found = 0 if not groups or any(diagnosis.fingerprint for diagnosis, _ in groups) else 1
    return found if sure else CONTRADICTION


def _ending(journal: ReadJournal, states: Mapping[Key, Record]) -> Iterator[str]:
    """Yields why a run is incomplete or ended badly for another reason than its checks."""
    missing = incomplete(journal, states)
    if missing:
        yield missing
    elif journal.end is not None and journal.end.exit:
        for place, reason in enumerate(journal.end.reasons):
            yield f"{'also' if place else 'exit'} {visible(reason.replace(' ', ': ', 1))}"


def _believed(journal: ReadJournal) -> Iterator[str]:
    """Yields how many results, and rows of how many promises, were not derived again."""
    yield from filter(None, (not_rejudged(journal), *believed(journal, journal.states())))


def _groups(journal: ReadJournal, red: Iterable[Record], known: Sequence[Fingerprint]) -> list[Group]:
    """Checks by cause, the worst first."""
    facts, suites = _facts_by_record(journal), journal.plan.suite_index()
    found: dict[tuple[str, ...], list[tuple[Diagnosis, Record]]] = {}
    for record in red:
        wanted = set(record.calls) | {row.call for row in record.evidence}
        calls = [call.observation for call in journal.calls if call.observation.id in wanted and not call.control]
        named = suites.of(record.key).names_faults
        diagnosis = diagnose(record, calls, facts(record), fingerprints=known, named=named) or record.diagnosis
        if diagnosis is None:
            continue
        own = () if diagnosis.fingerprint else _apart(record)
        name = (record.verdict.value, diagnosis.fingerprint, diagnosis.cause, *own)
        found.setdefault(name, []).append((diagnosis, record))
    groups = [(merged([diagnosis for diagnosis, _ in each]), [record for _, record in each]) for each in found.values()]
    return sorted(groups, key=lambda group: WORST_FIRST.index(group[1][0].verdict))


def _apart(record: Record) -> tuple[str, ...]:
    """Returns the key of a block without a fingerprint: broken or blocked records share one by reason, a violation has
    its own.
    """
    if record.verdict is Verdict.VIOLATES:
        return (record.key.promise, record.direction)
    return (record.reason,)


def _facts_by_record(journal: ReadJournal) -> Callable[[Record], dict[str, Any]]:
    environments = {line.id: line.facts for line in journal.environments}
    versions = {line.id: line.version for line in journal.subjects}
    places = {row.id: row.as_version for row in journal.plan.cells}  # of a build that calls itself 0.0.0
    profiles = {row.id: row.axes.get("profile", "") for row in journal.plan.cells if row.axes.get("bwrap")}

    def facts(record: Record) -> dict[str, Any]:
        version = places.get(record.key.cell) or versions.get(record.subject, "")
        profile = profiles.get(record.key.cell, "")
        return {**environments.get(record.environment, {}), "codex": version, "profile": profile}

    return facts


def _group_lines(diagnosis: Diagnosis, records: Sequence[Record]) -> Iterator[str]:
    first = records[0]
    title = _title(diagnosis) if first.attempt else "never came"
    yield f"{SIGNS[first.verdict]}  {title}" + (f"  {len(records)} checks" if len(records) > 1 else "")
    for record in records[:SHOWN]:
        yield from _field("check", str(record.key))
    if len(records) > SHOWN:
        yield from _field("", f"and {len(records) - SHOWN} more")
    yield from _field("saw", first.reason)
    yield from _because(
        msgspec.structs.replace(diagnosis, quote="" if diagnosis.quote in first.reason else diagnosis.quote)
    )
    if first.diagnosis and first.diagnosis.fingerprint != diagnosis.fingerprint:
        yield from _field("then", f"the run itself said {first.diagnosis.fingerprint or 'that no fingerprint fits'}")


def _evidence(journal: ReadJournal, record: Record, folder: Path) -> Iterator[str]:
    """Yields the calls to look at, and the line that reproduces the result (whole, so that it can be pasted)."""
    controls = {call.observation.id for call in journal.calls if call.control}
    yield from _field("calls", ", ".join([call for call in record.calls if call not in controls][:SHOWN]))
    if record.repro:
        yield f"   {'repro':<9} {visible(f'sh {shlex.quote(str(folder / record.repro))}')}"


# ---- both
def _field(name: str, text: str) -> Iterator[str]:
    """Yields one labelled line, wrapped; nothing for an empty text. Control characters of a program's output have no
    effect.
    """
    if not text:
        return
    width = max(60, min(110, shutil.get_terminal_size((80, 24)).columns))
    lines = textwrap.wrap(visible(text), width - 13, break_on_hyphens=False) or [""]
    yield f"   {name:<9} {lines[0]}"
    yield from (f"{'':13}{line}" for line in lines[1:])


def _listed(known: Iterable[Fingerprint]) -> Iterator[str]:
    for each in known:
        yield f"{each.id}  ({WORDS[each.verdict]})"
        yield from _field("words", each.texts[0])
        yield from _field("because", each.cause)


def _facts(given: Iterable[str]) -> dict[str, str]:
    facts = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            raise InputError(f"--fact {pair!r} cannot be read", next_step="--fact codex=0.130.0")
        facts[name] = value
    return facts


def _content(source: str) -> str | None:
    """Returns the text to search; None if `source` is a journal."""
    if source == "-":
        return sys.stdin.buffer.read(READ_LIMIT).decode("utf-8", "replace")
    path = Path(source)
    if path.is_dir():
        return None
    next_step = "give a file, or - to paste"
    with (
        os_errors_as(InputError, "the input cannot be read", where=source, next_step=next_step),
        path.open("rb") as file,
    ):
        content = file.read(READ_LIMIT)
    head = content.lstrip()[:400]
    if path.suffix == ".ndjson" or (head.startswith(b"{") and b'"line"' in head):
        return None
    return content.decode("utf-8", "replace")
