"""Which promise caught which subject, and what is wrong with that. Pure.

A mutant is caught by `violates` of the promises that are about what it breaks; `broken` catches nothing, since the
harness only says that it could not tell. About a mute subject nothing at all may be said to conform. The good one
must be failed by nothing. A promise that catches no mutant proves nothing, and is as much a fault as a survivor.
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
    """All that was rehearsed: subject by name → its records."""

    fakes: tuple[Fake, ...]
    promises: tuple[Promise, ...]
    records: dict[str, dict[Key, Record]]

    def verdict(self, fake: Fake, promise: str) -> Verdict | None:
        """The worst of what the promise said about the subject; None where it was not asked."""
        found = [record.verdict for key, record in self.records.get(fake.name, {}).items() if key.promise == promise]
        return worst(found) if found else None

    def caught(self, fake: Fake, promise: str) -> bool:
        return fake.kind != "good" and self.verdict(fake, promise) is Verdict.VIOLATES

    def asked(self, fake: Fake) -> bool:
        """Whether anybody who must catch it could be asked here."""
        about = [record for key, record in self.records[fake.name].items() if key.promise in fake.caught_by]
        return fake.kind != "mutant" or any(record.verdict is not Verdict.NOT_APPLICABLE for record in about)

    def catchers(self, fake: Fake) -> tuple[str, ...]:
        return tuple(promise.id for promise in self.promises if self.caught(fake, promise.id))

    def catches(self, promise: str) -> tuple[str, ...]:
        return tuple(fake.name for fake in self.fakes if self.caught(fake, promise))


def is_wanted(fake: Fake, promises: Mapping[str, Promise], key: Key) -> bool:
    """Whether the subject is asked this: what rides in the battery and, for a mutant, is of the topics that it breaks;
    of the promises with a dear call of their own those that must catch it.

    The start is no matter of subjects that restrain themselves; what gives no honest answer is judged by it too.
    """
    promise = promises[key.promise]
    if promise.topic in STANDING:
        return promise.topic not in OWN and (fake.kind == "mute" or promise.id in fake.caught_by)
    near = fake.kind != "mutant" or promise.topic in {name.partition(".")[0] for name in fake.caught_by}
    return fake.kind == "good" or promise.id in fake.caught_by or (promise.call is None and near)


def faults(killing: KillResult, *, whole: bool) -> tuple[Fault, ...]:
    """`whole`: all subjects and all promises were there, so that a promise which catches nothing is a fault."""
    known = {promise.id for promise in killing.promises}
    found = [fault for fake in killing.fakes for fault in _of_subject(fake, killing.records[fake.name], known)]
    return (*found, *(_idle(killing) if whole else ()))


def not_asked(killing: KillResult) -> dict[str, str]:
    """Promises that cannot be asked here, and why."""
    reasons: dict[str, set[str]] = {}
    for records in killing.records.values():
        for key, record in records.items():
            reasons.setdefault(key.promise, set()).add(_reason(record))
    return {promise: why.pop() for promise, why in sorted(reasons.items()) if len(why) == 1 and "" not in why}


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
        yield Fault(kind="good-is-failed", who=fake.name, why="nothing was asked")


def _mute(fake: Fake, records: Records) -> Iterable[Fault]:
    for key, record in records.items():
        if record.verdict in HOLDS:
            yield Fault(kind="survivor", who=fake.name, why=_said(key, record))
    if not records:
        yield Fault(kind="survivor", who=fake.name, why="nothing was asked")


def _mutant(fake: Fake, records: Records, known: set[str]) -> Iterable[Fault]:
    if not fake.caught_by:
        yield Fault(kind="survivor", who=fake.name, why="no promise is named that must catch it")
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
