"""One bubblewrap is one line of a report, however a call saw it; a call that asked for no sandbox lacks none."""

import msgspec
import pytest

from pytest_codexsandbox.model.bwrap_used import BwrapUsed
from pytest_codexsandbox.model.journal_lines import CallLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.observation import Link
from pytest_codexsandbox.reports import headlines
from tests.unit.reports import builders, line_builders

DIGEST = "ab" * 32
PATH = "/usr/bin/bwrap"
NAMED = BwrapUsed(kind="found", path=PATH, sha256=DIGEST, version="bubblewrap 0.8.0")
LINE = "set up by bubblewrap 0.8.0, /usr/bin/bwrap (sha256 abababababab) in 2 of 2 sandboxed calls"
POLICIES = ("read-only", "workspace-write")


def call(policy: str, **words: object) -> CallLine:
    return msgspec.structs.replace(line_builders.call(builders.cell().id, policy), **words)


def made(*calls: CallLine, bwrap: dict[str, str]) -> ReadJournal:
    environment = line_builders.environment()
    there = msgspec.structs.replace(environment, facts={**environment.facts, "bwrap": bwrap})
    keys = builders.keys_of([builders.cell()], policies=POLICIES)
    whole = builders.journal([builders.usual(key) for key in keys], calls=calls)
    return msgspec.structs.replace(whole, environments=(there,))


@pytest.mark.parametrize(
    "other",
    [
        BwrapUsed(kind="found", path=PATH, sha256=DIGEST),  # without a version
        BwrapUsed(kind="found", path="/bin/bwrap", sha256=DIGEST),  # by another path
        BwrapUsed(kind="found", path=PATH),  # by its path alone
    ],
)
def test_one_file_that_is_seen_in_two_ways_is_listed_once(other: BwrapUsed) -> None:
    bwrap = {"path": PATH, "real": PATH, "sha256": DIGEST, "version": "bubblewrap 0.8.0"}
    calls = (call("read-only", bwrap_used=other), call("workspace-write", bwrap_used=NAMED))
    assert headlines.posture(made(*calls, bwrap=bwrap)) == [LINE]
    assert headlines.posture(made(*reversed(calls), bwrap=bwrap)) == [LINE]


def test_a_call_without_this_reading_uses_the_facts_of_its_environment() -> None:
    """Calls of generators were seen from outside, without what the file on PATH says of itself."""
    link = Link(pid=4241, exe=PATH, name="bwrap", sha256=DIGEST)
    seen = call("read-only")
    reading = msgspec.structs.replace(seen.observation.readings[0], chain=(link,))
    raw = msgspec.structs.replace(seen, observation=msgspec.structs.replace(seen.observation, readings=(reading,)))
    bwrap = {"path": PATH, "real": PATH, "sha256": DIGEST, "version": "bubblewrap 0.8.0"}
    assert headlines.posture(made(raw, call("workspace-write", bwrap_used=NAMED), bwrap=bwrap)) == [LINE]


def test_two_files_are_two() -> None:
    """The same path in two environments, and a path of which the environment says nothing."""
    other = BwrapUsed(kind="found", path=PATH, sha256="cd" * 32)
    unknown = BwrapUsed(kind="found", path="/opt/bwrap")
    bwrap = {"path": PATH, "real": PATH, "sha256": DIGEST, "version": "bubblewrap 0.8.0"}
    named = call("workspace-write", bwrap_used=NAMED)
    for one in (other, unknown):
        assert len(headlines.posture(made(call("read-only", bwrap_used=one), named, bwrap=bwrap))) == 2
    unreadable = {"path": PATH, "real": PATH, "sha256": "unreadable", "version": ""}
    by_path = call("read-only", bwrap_used=BwrapUsed(kind="found", path=PATH))
    assert len(headlines.posture(made(by_path, named, bwrap=unreadable))) == 2


def test_a_call_that_asked_for_full_access_is_no_gap() -> None:
    """Under a policy of a generator's: no sandbox was to be there, and none is missing."""
    asked = call("as-asked")
    bare = msgspec.structs.replace(asked, observation=msgspec.structs.replace(asked.observation, policy="as-asked"))
    told = headlines.posture(made(bare, bwrap={}))
    assert len(told) == 1
    assert headlines.posture(made(msgspec.structs.replace(bare, full_access=True), bwrap={})) == []
