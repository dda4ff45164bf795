"""Explain: finds the cause of a record in what its calls printed. Pure: today's fingerprints explain old journals
too.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from pytest_codexsandbox.diagnosis.bare_tools import alone
from pytest_codexsandbox.diagnosis.builtin_causes import (
    ANOTHER_BWRAP,
    ETC_CODEX,
    FAILS_OUTSIDE,
    HALF_A_SANDBOX,
    HARNESS,
    KILLED,
    LET_THROUGH,
    NEVER_RAN,
    NO_DIRECTION,
    NO_SANDBOX,
    TEST_IS_WRONG,
    TIMED_OUT,
    UNKNOWN,
)
from pytest_codexsandbox.diagnosis.fact_conditions import flatten
from pytest_codexsandbox.diagnosis.fingerprint import Fingerprint
from pytest_codexsandbox.diagnosis.judge import SANDBOX_WAS_OFF, START
from pytest_codexsandbox.diagnosis.match import QUOTE, match
from pytest_codexsandbox.diagnosis.match import fingerprints as all_fingerprints
from pytest_codexsandbox.diagnosis.sandbox_state import proof_of
from pytest_codexsandbox.diagnosis.syscall_causes import with_measured
from pytest_codexsandbox.model.bwrap_used import BLOCKED_BY
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.private_paths import PrivatePaths
from pytest_codexsandbox.model.record import Diagnosis, Evidence, Record
from pytest_codexsandbox.model.verdict import Verdict

CANARIES: Final = ("allow-all", "good")  # acts of rows that are about the harness
SIGKILLED: Final = 128 + 9
FOUND: Final = "generator found: {}."  # how fingerprints know the word that a check of a generator has for a cause
_FOUND: Final = FOUND.partition("{")[0]
ENFORCES: Final = "effective.does-what-was-asked"
_ENFORCED: Final = {"leak": "more-than-asked", "denied": "less-than-asked"}  # what the acts of a policy showed
EXPLAINED: Final = (Verdict.VIOLATES, Verdict.BLOCKED, Verdict.BROKEN)


def diagnose(
    record: Record,
    observations: Sequence[Observation],
    facts: Mapping[str, Any],
    *,
    fingerprints: Sequence[Fingerprint] | None = None,
    named: bool = False,
) -> Diagnosis | None:
    """Returns why a record is red or grey; None for one that is neither.

    `observations` are the calls of the subject, not of the controls; `facts` those of the environment, and `codex`
    (the release). `named`: the reason of a row names the fault, before any text does (`SuiteTraits.names_faults`).
    Without a fingerprint the diagnosis says so, and its `fingerprint` is "".
    """
    if record.verdict not in EXPLAINED:
        return None
    if record.diagnosis is not None and record.diagnosis.fingerprint == TEST_IS_WRONG.fingerprint:
        return record.diagnosis  # what to type is known to the run alone
    record, observations = _without_paths(record, observations)
    if record.attempt == 0:  # the reader made it of a plan that has no result
        return NEVER_RAN
    if record.blocked_by == BLOCKED_BY:
        file = record.reason.partition(": ")[2].partition(" (sha256")[0]  # each release brings another file
        return msgspec.structs.replace(ANOTHER_BWRAP, quote=file)
    known = [known for known in (all_fingerprints() if fingerprints is None else fingerprints) if not known.note]
    clues = flatten(facts)
    found = _found(record, observations, facts, clues, known, named=named)
    start = record.key.promise.partition(".")[0] == START
    return with_measured(found, clues) if start and record.direction == "denied" else found


def with_bare_tools(journal: ReadJournal, *, fingerprints: Sequence[Fingerprint] | None = None) -> ReadJournal:
    """Returns the journal with the bare tools' results for each environment: facts hold their output, not its
    meaning.
    """
    found = {line.spec: alone(line.facts, fingerprints=fingerprints) for line in journal.environments}
    return msgspec.structs.replace(journal, alone={spec: words for spec, words in found.items() if words is not None})


def _without_paths(record: Record, observations: Sequence[Observation]) -> tuple[Record, list[Observation]]:
    """Removes a world's real paths: below the user's cache folder they would look like the state of another program."""
    shown = [PrivatePaths([seen.world]).of(seen) for seen in observations]
    return PrivatePaths(seen.world for seen in observations).of(record), shown


def _found(
    record: Record,
    observations: Sequence[Observation],
    facts: Mapping[str, Any],
    words: Mapping[str, str],
    known: Sequence[Fingerprint],
    *,
    named: bool,
) -> Diagnosis:
    if any(row.reason == FAILS_OUTSIDE.fingerprint and not row.control_held for row in record.evidence):
        return _quoted(FAILS_OUTSIDE, record)
    if named and (by_word := _by_word(record, words, known)) is not None:
        return by_word
    particular = [known for known in known if not _bare(known)]
    text = "\n".join(_leak_lines(record) if record.direction == "leak" else _lines(record, observations))
    return (
        match(text, facts=words, fingerprints=particular if _of_harness(record) else known)
        or _no_sandbox(record, observations)
        or _by_etc_codex(record, facts)
        or _let_through(record)
        or _ended(record, observations)
        or match(_said_aside(observations), facts=words, fingerprints=particular)
        or _quoted(_not_known(record), record)
    )


def _not_known(record: Record) -> Diagnosis:
    if record.verdict is Verdict.BROKEN:
        return HARNESS
    return NO_DIRECTION if record.verdict is Verdict.VIOLATES and not record.direction else UNKNOWN


def _by_word(record: Record, described: Mapping[str, str], known: Sequence[Fingerprint]) -> Diagnosis | None:
    """Finds the cause by the word that the check has for what it found."""
    row = record.deciding
    if record.verdict is not Verdict.VIOLATES or row is None:
        return None
    named = [one for one in known if one.id == row.reason]  # for a sandbox's start, the reason is a fingerprint's id
    if named:
        found = match(named[0].texts[0], facts=described, fingerprints=named)
    else:
        own = [one for one in known if one.texts[0].startswith(_FOUND)]
        words = (row.reason, _ENFORCED.get(record.direction, "") if record.key.promise == ENFORCES else "")
        tried = (match(FOUND.format(word), facts=described, fingerprints=own) for word in words if word)
        found = next((one for one in tried if one is not None), None)
    return None if found is None else msgspec.structs.replace(found, quote=row.saw[:QUOTE])


def _lines(record: Record, observations: Sequence[Observation]) -> Iterator[str]:
    """Yields the texts that bear on this record: its own rows, and each call's output that did not come from the
    probe.
    """
    yield from _promise_lines(record)
    failing = _failing(record)
    if not failing:
        yield record.reason  # with rows it repeats the claim, whose errno is what was promised, not what was seen
    for row in failing:
        if row.act in CANARIES:
            continue  # it speaks of a fake Codex: its words are no finding about the real one
        if not row.control_held:
            yield row.control
            continue
        yield from (row.reason, row.saw)
        yield from (seen.rows[row.act].detail for seen in observations if row.act in seen.rows)
    for seen in observations:
        yield seen.error
        if not seen.ready:
            yield from (seen.stderr, seen.stdout)


def _leak_lines(record: Record) -> Iterator[str]:
    """Yields the promise lines only. A leak has no error text; only knowledge about the release explains it."""
    yield from _promise_lines(record)


def _promise_lines(record: Record) -> Iterator[str]:
    """Yields the line of the promise, and of its case: a cause may fit one case alone."""
    said = record.direction or record.verdict.value
    yield f"promise {record.key.promise}: {said}"
    if record.key.case:
        yield f"promise {record.key.promise} [{record.key.case}]: {said}"


def _failing(record: Record) -> list[Evidence]:
    return [row for row in record.evidence if not (row.held and row.control_held)]


def _said_aside(observations: Sequence[Observation]) -> str:
    return "\n".join(seen.stderr for seen in observations if seen.ready)


def _of_harness(record: Record) -> bool:
    """Checks whether the harness itself gives the reason of a broken record; its errno is then not Codex's."""
    return record.verdict is Verdict.BROKEN and not _failing(record)


def _bare(known: Fingerprint) -> bool:
    """Checks whether a fingerprint is an errno text only, which fits any of the messages that a battery prints."""
    return not known.when and known.id in ("permission-denied", "not-permitted", "write-outside-roots")


def _no_sandbox(record: Record, observations: Sequence[Observation]) -> Diagnosis | None:
    start = record.key.promise.partition(".")[0] == START
    if not record.reason.startswith(SANDBOX_WAS_OFF) and not (start and record.direction == "leak"):
        return None
    marked = any(proof_of(reading, "") for seen in observations for reading in seen.readings)
    return HALF_A_SANDBOX if marked else NO_SANDBOX


def _by_etc_codex(record: Record, facts: Mapping[str, Any]) -> Diagnosis | None:
    """Names the machine's own configuration as the cause, before a hole in Codex is suspected."""
    files = facts.get("etc_codex")
    if record.verdict is not Verdict.VIOLATES or not isinstance(files, Mapping) or not files:
        return None
    found = _quoted(ETC_CODEX, record)
    return msgspec.structs.replace(found, remedy=found.remedy.format(names=", ".join(sorted(files))))


def _let_through(record: Record) -> Diagnosis | None:
    return _quoted(LET_THROUGH, record) if record.direction == "leak" else None


def _ended(record: Record, observations: Sequence[Observation]) -> Diagnosis | None:
    """Returns the diagnosis if the end of a call explains the failure: a timeout, or SIGKILL before the probe was
    ready.

    Looks at the calls of the failing rows; without such rows, at every call.
    """
    calls = {row.call for row in _failing(record)} or {seen.id for seen in observations}
    ends = [seen for seen in observations if seen.id in calls]
    if any(seen.ended == "timeout" for seen in ends):
        return _quoted(TIMED_OUT, record)
    probed = [seen for seen in ends if seen.nonce in seen.argv]  # in another command, missing output proves nothing
    if any(seen.ended == "signal" and seen.code == SIGKILLED and not seen.ready for seen in probed):
        return _quoted(KILLED, record)
    return None


def _quoted(diagnosis: Diagnosis, record: Record) -> Diagnosis:
    failing = _failing(record)
    return msgspec.structs.replace(diagnosis, quote=(failing[0].saw if failing else record.reason)[:300])
