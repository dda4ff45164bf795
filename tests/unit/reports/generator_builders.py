"""Journals of runs with generators, made by hand."""

from collections.abc import Iterable, Sequence

import msgspec

from pytest_codexsandbox.model.generator import Claim, Intent
from pytest_codexsandbox.model.generator_suite import AS_ASKED
from pytest_codexsandbox.model.journal_lines import CaseRow, CellRow, ClaimLine, GeneratorRow, PromiseRow, StoryLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Diagnosis, Evidence, Record
from pytest_codexsandbox.model.story_log import LoggedFile, LoggedRun
from pytest_codexsandbox.model.verdict import Direction, Verdict
from tests.unit.reports import builders

ABOUT = (
    "generator.parses",
    "generator.config-loads",
    "generator.user-keys-keep-their-values",
    "generator.comments-stay",
    "generator.second-run-changes-nothing",
    "managed-block.one-balanced-pair",
    "effective.says-what-was-asked",
    "effective.does-what-was-asked",
)
ONCE = "generator.crash-leaves-a-whole-file"
OTHERS = "managed-block.survives-other-writers"
TRUST = "trust.confinement-and-known-generators"
SUITE = ("start.sandbox-is-on", "filesystem.outside-refused", "network.loopback-http-refused")
GROUPS = {"placement": 12, "spelling": 9, "bytes": 7, "block": 6, "inputs": 6}
CASES = tuple(
    CaseRow(id=f"{number:02}-{group}-{place}", group=group, why=f"A {group} that broke somebody's file.")
    for number, group in enumerate(GROUPS, 1)
    for place in range(GROUPS[group])
)
DIFF = """--- before
+++ after
@@ -1,6 +1,11 @@
 # the user's own words
-allowed = [
-  "a",
+# BEGIN mytool
+sandbox_mode = "workspace-write"
+# END mytool
+allowed = [
   "b",
 ]"""
LONG = "\n".join(["--- before", "+++ after", "@@ -1 +1,40 @@", *(f"+line {number} = true" for number in range(40))])


def cell(generator: str, label: str = "0.163.0") -> CellRow:
    made = builders.cell(label)
    return msgspec.structs.replace(made, id=f"{made.id}~gen-{generator}", axes=made.axes | {"generator": generator})


def keys(generator: str, cases: Sequence[CaseRow] = CASES, label: str = "0.163.0") -> list[Key]:
    at = cell(generator, label).id

    def about(promise: str, case: str = "") -> Key:
        return Key(cell=at, door="generator", policy=AS_ASKED, promise=promise, case=case)

    suite = [
        Key(cell=at, door="app-server", policy=policy, promise=promise)
        for policy in ("workspace-write", "workspace-write-roots", "workspace-write-network")
        for promise in SUITE
    ]
    cased = [about(promise, case.id) for promise in ABOUT for case in cases]
    return [*suite, about(TRUST), *cased, about(ONCE), about(OTHERS, "codex-mcp-add"), about(OTHERS, "reprinter")]


def found(
    key: Key, reason: str, direction: Direction = "wrong-claim", *, diff: str = DIFF, saw: str = "", **words: object
) -> Record:
    """A violation as a check of generators tells it."""
    row = Evidence(
        claim="every key of the user's keeps its value",
        act="",
        nonce="n",
        call=f"story-{key.case}",
        control="a key that is taken away from this file is missed",
        control_held=True,
        saw=saw or f"run 1: {reason}",
        held=False,
        reason=reason,
        direction=direction,
        diff=diff,
    )
    cause = Diagnosis(
        fingerprint=f"generator-{reason}",
        cause=f"What {reason} means.",
        remedy="Do it otherwise.",
        verdict="not-sandbox",
    )
    fields: dict[str, object] = {"direction": direction, "reason": row.saw, "evidence": (row,), "diagnosis": cause}
    return builders.record(key, Verdict.VIOLATES, **(fields | words))


def told(generator: str, case: CaseRow, *, confined: str = "bubblewrap /usr/bin/bwrap") -> StoryLine:
    before = LoggedFile(kind="file", size=20, sha256="a" * 64, mode=0o644, text="# the user's own words\n")
    after = msgspec.structs.replace(before, text=f"{before.text}sandbox_mode = 'workspace-write'\n", sha256="b" * 64)
    changed = {"@CODEX_HOME@/config.toml": after}
    runs = (
        LoggedRun(ended="exit", code=0, seconds=0.014, changed=changed),
        *(LoggedRun(ended="exit", code=0, seconds=0.01),) * 2,
    )
    return StoryLine(
        id=f"story-{generator}-{case.id}",
        cell=cell(generator).id,
        generator=generator,
        case=case.id,
        wish=Intent(roots=("@ROOT0@",), network=True),
        before={"@CODEX_HOME@/config.toml": before},
        runs=runs,
        confined=confined,
    )


def claimed(generator: str, case: CaseRow) -> ClaimLine:
    claim = Claim(loads=True, sandbox="workspace-write", network=True, roots=("@ROOT0@",), approval="on-request")
    story = f"story-{generator}-{case.id}"
    return ClaimLine(
        id=f"claim-{generator}-{case.id}", cell=cell(generator).id, story=story, sha256="b" * 64, claim=claim
    )


def journal(
    records: Iterable[Record],
    generators: Sequence[GeneratorRow],
    *,
    cases: Sequence[CaseRow] = CASES,
    confined: str = "bubblewrap /usr/bin/bwrap",
    ended: bool = True,
    planned: Sequence[Key] | None = None,
    labels: Sequence[str] = ("0.163.0",),
) -> ReadJournal:
    records = tuple(msgspec.structs.replace(one, calls=()) for one in records)  # this journal keeps no calls
    names = dict.fromkeys(one.key.promise for one in records)
    promises = [_row(name) for name in names]
    red = any(one.verdict is Verdict.VIOLATES for one in records)
    made = builders.journal(
        records,
        cells=[cell(row.name, label) for row in generators for label in labels],
        promises=promises,
        calls=[],
        ended=ended,
        keys=planned,
        exit=int(red),
        reasons=("1 some violated",) if red else (),
    )
    plan = msgspec.structs.replace(made.plan, cases=tuple(cases), generators=tuple(generators))
    stories = [told(row.name, case, confined=confined) for row in generators for case in cases]
    claims = [claimed(row.name, case) for row in generators for case in cases]
    invocation = ("pytest", "--codex-matrix", *(word for row in generators for word in ("--codex-generator", row.spec)))
    return msgspec.structs.replace(
        made,
        plan=plan,
        stories=tuple(stories),
        claims=tuple(claims),
        run=msgspec.structs.replace(made.run, invocation=invocation),
    )


def _row(promise: str) -> PromiseRow:
    return msgspec.structs.replace(builders.row(promise), kind="generator", needs="nothing")


GOOD = GeneratorRow(name="good", spec="good")
BAD = GeneratorRow(name="mytool", spec="cmd:mytool render --out @CONFIG@", version="1.2")


def usual(key: Key) -> Record:
    number = int(key.case[:2]) if key.case[:2].isdigit() else 0
    if key.promise == "managed-block.one-balanced-pair" and number == 5:
        return builders.record(key, Verdict.NOT_APPLICABLE, reason="it has no markers")
    return builders.record(key)


def wrong(key: Key) -> Record:
    place = int(key.case.rpartition("-")[2]) if key.case[-1:].isdigit() else -1
    group = key.case.split("-")[1] if "-" in key.case else ""
    match key.promise, group:
        case "generator.user-keys-keep-their-values", "placement" if place % 3 == 0:
            return found(key, "captured", saw=f"run 1: mode is gone, and is found as tui.mode ({key.case})")
        case "generator.comments-stay", "spelling" | "bytes":
            return found(key, "comment-lost", diff=LONG)
        case "effective.says-what-was-asked", "inputs" if place < 3:
            return found(key, "injected-root", "leak", saw="'/' is granted, but was not requested")
        case "generator.config-loads", "bytes" if place == 2:
            return found(key, "does-not-load", "denied", saw="config.toml:3:1: expected a value", diff="")
        case "effective.says-what-was-asked" | "effective.does-what-was-asked", "bytes" if place == 2:
            reason = "it cannot be asked while generator.config-loads is red"
            return builders.record(key, Verdict.BLOCKED, reason=reason, blocked_by="generator.config-loads")
    if key.promise == ONCE:
        return builders.record(key, Verdict.BROKEN, reason="strace died")
    return usual(key)


def good() -> ReadJournal:
    return journal(map(usual, keys("good")), [GOOD])


def bad() -> ReadJournal:
    return journal(map(wrong, keys("mytool")), [BAD])


def both() -> ReadJournal:
    return journal([*map(usual, keys("good")), *map(wrong, keys("mytool"))], [GOOD, BAD])


def hostile() -> ReadJournal:
    """What a generator writes, says and is called is an attack."""
    evil = CaseRow(id="01-placement-0", group="placement", why=builders.HOSTILE)
    row = GeneratorRow(name="evil", spec=f"cmd:{builders.HOSTILE}", version=builders.HOSTILE)
    lines = builders.HOSTILE.replace("\r\n", " ")
    diff = f"--- before\n+++ after\n@@ -1 +1 @@\n-{lines}\n+{lines} ```\n+</pre>{'w' * 5000}"
    records = [
        found(key, "captured", saw=builders.HOSTILE, diff=diff) if key.promise == ABOUT[2] else usual(key)
        for key in keys("evil", [evil])
    ]
    made = journal(records, [row], cases=[evil])
    run = msgspec.structs.replace(
        made.stories[0].runs[0],
        stdout=builders.HOSTILE,
        stderr=builders.HOSTILE,
        argv=("-c", builders.HOSTILE),
        changed={builders.HOSTILE: LoggedFile(kind="file", text=builders.HOSTILE)},
    )
    claim = Claim(loads=False, error=builders.HOSTILE, roots=(builders.HOSTILE,), warnings=(builders.HOSTILE,))
    return msgspec.structs.replace(
        made,
        stories=(msgspec.structs.replace(made.stories[0], runs=(run,)),),
        claims=(msgspec.structs.replace(made.claims[0], claim=claim),),
    )


KINDS = {"good": good, "bad": bad, "both": both, "hostile": hostile}
