"""Record the violations of a run as known deviations, in the fewest entries.

`update JOURNAL` adds an entry for every violation that no entry covers. It removes entries whose promise holds again,
and narrows entries that cover too much. Comments and order of FILE stay. It leaves `owner` (who looks at the entry
again) and `issue` (where it is discussed) empty: fill them in, a run refuses them empty.
"""

import argparse
import datetime
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Table

from pytest_codexsandbox.errors import Contradiction, InputError
from pytest_codexsandbox.harness.replay import read
from pytest_codexsandbox.matrix import toml_files
from pytest_codexsandbox.matrix.expectation_drafts import Draft, drafts
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict

EXAMPLES: Final = (
    "codexsandbox expectations update .codexsandbox/2026-11-18T09-41-00/journal.ndjson",
    "codexsandbox expectations update JOURNAL -o known.toml",
    "pytest --codex-matrix --codex-expectations known.toml",
)
DAYS: Final = 180
_CARRIED: Final = ("issue", "owner", "until", "reason")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("update",))
    parser.add_argument("journal", type=Path, metavar="JOURNAL", help="the journal of a finished run, or its folder")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="change this file; without it: print entries")
    parser.add_argument("--today", type=datetime.date.fromisoformat, metavar="DATE", help="instead of today's date")


def run(options: argparse.Namespace) -> int:
    journal = read(options.journal)
    if journal.end is None:
        raise InputError(
            "the journal is incomplete: the run was interrupted",
            where=str(options.journal),
            why="a promise that was not measured must not be recorded as kept",
            next_step="run again: pytest --codex-matrix",
        )
    if journal.contradicted:
        first = journal.contradicted[0]
        raise Contradiction(
            "the journal contradicts itself",
            where=f"{options.journal}, line {first.line}",
            why=first.why,
            next_step="run again: pytest --codex-matrix",
        )
    today = options.today or datetime.datetime.now(tz=datetime.UTC).date()
    document = _document(options.output)
    states = journal.states()
    healed, narrowed = outdated(states.values())
    before = {str(entry["id"]): entry for entry in _entries(document)}
    again = frozenset(narrowed & before.keys())
    gone = (healed | narrowed) & before.keys()
    new = drafts(states, journal.plan.cells, again=again, taken=before.keys())
    old_of = {key.promise: one.deviation for key, one in states.items() if one.deviation in again}
    _remove(document, gone)
    for draft in new:
        _append(document, entry_of(draft, today, before.get(old_of.get(draft.promise, ""), {})))
    _finish(document, options.output)
    print(f"{_many(len(new))} added, {_many(len(gone))} removed", file=sys.stderr)
    if any(not draft_has_owner(draft, before, old_of) for draft in new):
        print("next: fill in owner and issue of each; a run refuses them empty", file=sys.stderr)
    return 0


def outdated(records: Iterable[Record]) -> tuple[set[str], set[str]]:
    """Returns the ids of deviations that are healed everywhere, and of those that remain in some of their places."""
    held: set[str] = set()
    seen: set[str] = set()
    for record in records:
        if record.deviation:
            violated = record.verdict is Verdict.EXPECTED or bool(record.direction)
            (seen if violated else held).add(record.deviation)
    return held - seen, held & seen


def entry_of(draft: Draft, today: datetime.date, old: Mapping[str, Any]) -> Table:
    """Returns the entry as TOML, with the texts that people wrote into the entry that it replaces."""
    entry = tomlkit.table()
    entry["id"] = draft.id
    entry["promise"] = draft.promise
    if draft.case:
        entry["case"] = _one_or_many(draft.case)
    entry["direction"] = draft.direction
    if draft.fingerprint:
        entry["fingerprint"] = draft.fingerprint
    where = tomlkit.inline_table()
    where.update({name: _one_or_many(values) for name, values in draft.where.items()})
    entry["where"] = where
    carried = {name: old[name] for name in _CARRIED if name in old}
    fresh = {"reason": draft.reason, "issue": "", "owner": "", "until": today + datetime.timedelta(days=DAYS)}
    for name, value in (fresh | carried).items():
        entry[name] = value
    return entry


def draft_has_owner(draft: Draft, before: Mapping[str, Any], old_of: Mapping[str, str]) -> bool:
    old = before.get(old_of.get(draft.promise, ""), {})
    return bool(old.get("owner")) and bool(old.get("issue"))


def _one_or_many(values: tuple[str, ...]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def _document(path: Path | None) -> tomlkit.TOMLDocument:
    if path is None or not path.exists():
        return tomlkit.document()
    text = toml_files.read(path).text
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise InputError(f"cannot change {path}", why=str(error)) from error


def _entries(document: tomlkit.TOMLDocument) -> list[Any]:
    found = document.get("deviation", [])
    return [entry for entry in found if "id" in entry]


def _remove(document: tomlkit.TOMLDocument, ids: set[str]) -> None:
    found = document.get("deviation")
    if isinstance(found, AoT):
        for index in reversed(range(len(found))):
            if str(found[index].get("id", "")) in ids:
                del found[index]
        if not len(found):
            document.remove("deviation")


def _append(document: tomlkit.TOMLDocument, entry: Table) -> None:
    found = document.get("deviation")
    if found is None:
        document["deviation"] = tomlkit.aot()
    elif not isinstance(found, AoT):
        raise InputError("`deviation` is not a list of tables in this file", next_step="write each as [[deviation]]")
    entry.add(tomlkit.nl())
    document["deviation"].append(entry)


def _finish(document: tomlkit.TOMLDocument, path: Path | None) -> None:
    """Replaces the file by one rename, so that a reader never sees half a file."""
    text = tomlkit.dumps(document)
    if path is None:
        print(text, end="")
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}", why=str(error)) from error


def _many(count: int) -> str:
    return f"{count} entr{'y' if count == 1 else 'ies'}"
