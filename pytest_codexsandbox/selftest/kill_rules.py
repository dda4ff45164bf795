"""Kill rules: which promise caught which subject, and the errors in that. Pure.

A mutant is caught by `violates` of the promises that are about what it breaks. `broken` catches nothing, since the
harness only says that it could not tell. No promise may say that a mute subject conforms, and no promise may fail the
good subject. A promise that catches no mutant proves nothing, and is as much an error as a mutant that survives.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict, worst
from pytest_codexsandbox.selftest.fake import Fake

HOLDS: Final = (Verdict.CONFORMS, Verdict.UNCONFINED)
OWN: Final = ("trust",)  # topics that are about the harness: this very check proves them
STANDING: Final = ("start", *OWN)
Records = Mapping[Key, Record]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["survivor", "idle-promise", "good-is-failed"]
    who: str  # the subject, or the promise that catches nothing
    why: str


class KillResult(msgspec.Struct, frozen=True, kw_only=True):
    """Results of the selftest: subject by name → its records."""

    fakes: tuple[Fake, ...]
    promises: tuple[Promise, ...]
    records: dict[str, dict[Key, Record]]

    def verdict(self, fake: Fake, promise: str) -> Verdict | None:
        """Returns the worst verdict of the promise about the subject; None where it was not run."""
        found = [record.verdict for key, record in self.records.get(fake.name, {}).items() if key.promise == promise]
        return worst(found) if found else None

    def caught(self, fake: Fake, promise: str) -> bool:
        return fake.kind != "good" and self.verdict(fake, promise) is Verdict.VIOLATES

    def asked(self, fake: Fake) -> bool:
        """Checks whether any promise that must catch the subject is applicable here."""
        about = [record for key, record in self.records[fake.name].items() if key.promise in fake.caught_by]
        return fake.kind != "mutant" or any(record.verdict is not Verdict.NOT_APPLICABLE for record in about)

    def catchers(self, fake: Fake) -> tuple[str, ...]:
        return tuple(promise.id for promise in self.promises if self.caught(fake, promise.id))

    def catches(self, promise: str) -> tuple[str, ...]:
        return tuple(fake.name for fake in self.fakes if self.caught(fake, promise))


def is_wanted(fake: Fake, promises: Mapping[str, Promise], key: Key) -> bool:
    """Checks whether the subject runs this key. Promises that share the battery run, for a mutant only those of the
    topics that it breaks. Of the promises with an expensive call of their own, those run that must catch the subject;
    for the good subject all.

    The start check does not apply to subjects that restrain themselves. A subject that gives no honest answer is judged
    by it too.
    """
    promise = promises[key.promise]
    if promise.topic in STANDING:
        return promise.topic not in OWN and (fake.kind == "mute" or promise.id in fake.caught_by)
    near = fake.kind != "mutant" or promise.topic in {name.partition(".")[0] for name in fake.caught_by}
    return fake.kind == "good" or promise.id in fake.caught_by or (promise.call is None and near)


def faults(killing: KillResult, *, whole: bool) -> tuple[Fault, ...]:
    """Returns the errors. `whole`: all subjects and all promises ran, so that a promise which catches nothing is an
    error."""
    known = {promise.id for promise in killing.promises}
    found = [fault for fake in killing.fakes for fault in _of_subject(fake, killing.records[fake.name], known)]
    return (*found, *(_idle(killing) if whole else ()))


def not_asked(killing: KillResult) -> dict[str, str]:
    """Returns the promises that are not applicable here, with the reason."""
    reasons: dict[str, set[str]] = {}
    for records in killing.records.values():
        for key, record in records.items():
            reasons.setdefault(key.promise, set()).add(_reason(record))
    return {promise: why.pop() for promise, why in sorted(reasons.items()) if len(why) == 1 and "" not in why}


def unasked(killing: KillResult) -> dict[str, str]:
    """Returns the bad subjects that no promise could be asked about here, with the reason."""
    found: dict[str, str] = {}
    for fake in killing.fakes:
        if not killing.asked(fake):
            about = (record for key, record in killing.records[fake.name].items() if key.promise in fake.caught_by)
            found[fake.name] = next(filter(None, map(_reason, about)), "no promise is about it")
    return found


def _reason(record: Record) -> str:
    return (record.reason or "not applicable") if record.verdict is Verdict.NOT_APPLICABLE else ""


def _of_subject(fake: Fake, records: Records, known: set[str]) -> Iterable[Fault]:
    if fake.kind == "good":
        return _good(fake, records)
    if fake.kind == "mute":
        return _mute(fake, records)
    return _mutant(fake, records, known)


def _good(fake: Fake, records: Records) -> Iterable[Fault]:
    for key, record in records.items():
        if record.verdict not in (*HOLDS, Verdict.NOT_APPLICABLE):
            yield Fault(kind="good-is-failed", who=fake.name, why=_said(key, record))
    if not records:
        yield Fault(kind="good-is-failed", who=fake.name, why="nothing was run")


def _mute(fake: Fake, records: Records) -> Iterable[Fault]:
    for key, record in records.items():
        if record.verdict in HOLDS:
            yield Fault(kind="survivor", who=fake.name, why=_said(key, record))
    if not records:
        yield Fault(kind="survivor", who=fake.name, why="nothing was run")


def _mutant(fake: Fake, records: Records, known: set[str]) -> Iterable[Fault]:
    if not fake.caught_by:
        yield Fault(kind="survivor", who=fake.name, why="no promise is named to catch it")
    for promise in fake.caught_by:
        about = {key: record for key, record in records.items() if key.promise == promise}
        verdicts = {record.verdict for record in about.values()}
        if not about:
            why = f"is not asked under {', '.join(fake.policies)}" if promise in known else "is no promise"
            yield Fault(kind="survivor", who=fake.name, why=f"{promise} {why}")
        elif Verdict.VIOLATES not in verdicts and verdicts != {Verdict.NOT_APPLICABLE}:
            yield Fault(kind="survivor", who=fake.name, why="; ".join(_said(*pair) for pair in about.items()))


def _said(key: Key, record: Record) -> str:
    case = f" [{key.case}]" if key.case else ""
    return f"{key.promise}{case} says {record.verdict.value} under {key.policy}: {record.reason}"


def _idle(killing: KillResult) -> Iterable[Fault]:
    excused = not_asked(killing)
    for promise in killing.promises:
        if promise.topic not in OWN and promise.id not in excused and not killing.catches(promise.id):
            yield Fault(kind="idle-promise", who=promise.id, why="catches no subject; add one that breaks it")
