"""The kill matrix as text: narrow, complete, and plain about what is wrong."""

import re

from pytest_codexsandbox.commands.selftest_table import WIDTH, closing, compact, counted, whole
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.selftest import FAKES
from pytest_codexsandbox.selftest.kill_rules import Fault, KillResult, faults

IDS = tuple(dict.fromkeys(name for fake in FAKES for name in fake.caught_by))


def promise(id: str) -> Promise:
    return Promise(id=id, kind="boundary", severity="high", needs="sandbox", source="here", policies=(WORKSPACE_WRITE,))


def record(id: str, verdict: Verdict, reason: str = "because") -> tuple[Key, Record]:
    key = Key(cell="c", door="sandbox", policy=WORKSPACE_WRITE, promise=id)
    return key, Record(key=key, verdict=verdict, reason=reason)


def every_pair(verdict: Verdict) -> KillResult:
    """All subjects, each caught by those that must catch it, and said to be `verdict` by all others."""
    records = {
        fake.name: dict(record(id, Verdict.VIOLATES if id in fake.caught_by else verdict) for id in IDS)
        for fake in FAKES
    }
    return KillResult(fakes=FAKES, promises=tuple(map(promise, IDS)), records=records)


def test_nothing_is_wider_than_a_terminal() -> None:
    for killing in (every_pair(Verdict.VIOLATES), every_pair(Verdict.NOT_APPLICABLE)):
        texts = (compact(killing), whole(killing), closing(killing, faults(killing, whole=True), 12.3))
        assert [line for text in texts for line in text.splitlines() if len(line) > WIDTH] == []


def test_the_compact_matrix_names_those_that_a_promise_is_there_to_catch_and_counts_the_others() -> None:
    lines = compact(every_pair(Verdict.VIOLATES)).splitlines()
    row = next(line for line in lines if line.startswith("network.netlink-socket-refused"))
    assert row.split() == ["network.netlink-socket-refused", "leaks-netlink", "and", f"{len(FAKES) - 2}", "more"]


def test_the_whole_matrix_has_every_subject_and_every_promise() -> None:
    text = whole(every_pair(Verdict.CONFORMS))
    assert [fake.name for fake in FAKES if text.count(f" {fake.name}\n") != 1] == []
    assert [id for id in IDS if id not in text and id[:44] not in text] == []
    assert text.splitlines()[-1].endswith(". not run")


def test_a_promise_that_catches_nothing_is_shouted() -> None:
    killing = KillResult(
        fakes=FAKES[:1],
        promises=(promise("a.b"), promise("a.c")),
        records={"good": dict([record("a.b", Verdict.CONFORMS), record("a.c", Verdict.NOT_APPLICABLE, "needs more")])},
    )
    assert [line.split() for line in compact(killing).splitlines()[1:]] == [
        ["a.b", "NOTHING"],
        ["a.c", "-", "needs", "more"],
    ]


def test_the_closing_lines_say_each_fault_and_the_counts() -> None:
    killing = every_pair(Verdict.CONFORMS)
    mute = len([fake for fake in FAKES if fake.kind == "mute"])
    found = (Fault(kind="survivor", who="late", why="a.b says conforms"),)
    text = " ".join(closing(killing, found, 1.0).split())
    assert text.startswith("SURVIVES late: ") and "a.b says conforms" in text
    assert f"{len(FAKES) - 2} of {len(FAKES) - 1} bad " in text and ", 1 faults, 1.0 s" in text
    assert len({fault.who for fault in faults(killing, whole=True) if fault.kind == "survivor"}) == mute


def test_a_subject_that_survives_at_another_door_alone_was_caught_at_this_one() -> None:
    killing = every_pair(Verdict.CONFORMS)
    found = tuple(Fault(kind="survivor", who=f"late by {door}", why="nothing was run") for door in ("exec", "other"))
    bad = len(FAKES) - 1
    assert re.findall(r"(\d+) of (\d+)", closing(killing, found, 1.0)) == [(str(bad), str(bad))]
    assert re.findall(r"(\d+) of (\d+)", counted(killing, found)) == [(str(bad - 1), str(bad))]
