"""Path masking: replaces real paths of worlds, of the cache and of the home folder by placeholders. Pure."""

from collections.abc import Mapping
from typing import Final

import msgspec

from pytest_codexsandbox.model.journal_lines import CallLine, EnvironmentLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.private_paths import HOME, PrivatePaths
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.world import World

USER: Final = "@USER@"
_Worlds = Mapping[str, World | None]


def private(journal: ReadJournal) -> ReadJournal:
    """Returns the journal as every report shows it. The file itself keeps real paths, so that calls can be repeated."""
    places = journal.run.places
    run = PrivatePaths(places=places)
    return msgspec.structs.replace(
        journal,
        run=msgspec.structs.replace(journal.run, places={}),
        plan=msgspec.structs.replace(journal.plan, not_planned=tuple(map(run.of, journal.plan.not_planned))),
        environments=tuple(_environment(line, run, places) for line in journal.environments),
        subjects=tuple(map(run.of, journal.subjects)),
        calls=tuple(_call(call, places) for call in journal.calls),
        records=journal.records if places else _records(journal),
        end=run.of(journal.end) if journal.end is not None else None,
    )


def _environment(line: EnvironmentLine, run: PrivatePaths, places: Mapping[str, str]) -> EnvironmentLine:
    shown = run.of(line)
    users = {path.rpartition("/")[2] for path, word in places.items() if word == HOME} - {"root"}
    named = {name: USER for name in ("user_name",) if shown.facts.get(name) in users}
    return msgspec.structs.replace(shown, facts={**shown.facts, **named})


def _call(call: CallLine, places: Mapping[str, str]) -> CallLine:
    return PrivatePaths([call.observation.world], places).of(call)


def _records(journal: ReadJournal) -> tuple[Record, ...]:
    """Returns the records of a journal whose writer left real paths in them."""
    worlds = {call.id: call.observation.world for call in journal.calls}
    known: dict[tuple[str, ...], PrivatePaths] = {}
    return tuple(_paths(record, worlds, known).of(record) for record in journal.records)


def _paths(record: Record, worlds: _Worlds, known: dict[tuple[str, ...], PrivatePaths]) -> PrivatePaths:
    """Returns the path masking of a record, cached: records of one battery share their calls, and so their paths."""
    if record.calls not in known:
        known[record.calls] = PrivatePaths(worlds.get(call) for call in record.calls)
    return known[record.calls]
