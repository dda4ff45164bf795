"""Journals made by hand, of every kind that a report can meet."""

from collections.abc import Iterable, Sequence

import msgspec

from pytest_codexsandbox.model.coverage import Coverage
from pytest_codexsandbox.model.journal_lines import (
    CallLine,
    CellRow,
    EndLine,
    Line,
    PlanLine,
    PromiseRow,
    ResultLine,
    RunLine,
)
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key, NotPlanned
from pytest_codexsandbox.model.record import Diagnosis, Evidence, Record
from pytest_codexsandbox.model.verdict import Direction, Verdict
from tests.unit.reports.line_builders import DIGEST, call, environment, subject

POLICIES = (
    "read-only",
    "workspace-write",
    "workspace-write-roots",
    "workspace-write-network",
    "workspace-write-no-tmp",
    "danger-full-access",
)
PROMISES = (
    "start.sandbox-is-on",
    "trust.no-sandbox-is-caught",
    "filesystem.outside-refused",
    "filesystem.workspace-written",
    "filesystem.symlink-escape-refused",
    "filesystem.sibling-of-a-root-refused",
    "protected.dot-git-stays-read-only",
    "protected.nested-dot-git-is-writable",
    "sqlite.board-outside-refused",
    "network.loopback-http-refused",
    "dns.lookup-in-the-sandbox",
    "process.exit-code-kept",
)
OLD = "codexsandbox 0.1.0"  # the last version that wrote schema 1
HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07</script><script>alert(1)</script><img src=x onerror=alert(1)> "
    "| **bold** [link](javascript:alert(1)) `code` @everyone #1 https://evil.example \u202egnp.exe\u2066 "
    "\r\nsecond line\x00\x9b31m\u200b\u2028 {{ 7*7 }} ]]> -->"
)


def cell(label: str = "0.163.0", environment: str = "debian-12~host~local") -> CellRow:
    distro, kernel, profile = (*environment.split("~"), "", "")[:3]
    axes = {"distro": distro, "kernel": kernel, "profile": profile, "environment": environment, "codex": label}
    return CellRow(id=f"{environment}~codex-{label}", environment=environment, subject=label, axes=axes, arch="x86_64")


def row(promise: str, *, title: str = "") -> PromiseRow:
    return PromiseRow(
        id=promise,
        title=title or promise.partition(".")[2].replace("-", " "),
        kind="boundary",
        severity="high",
        needs="sandbox",
        source="https://developers.openai.com/codex/sandbox",
        summary=f"What {promise} means.",
    )


def held(key: Key, **words: object) -> Evidence:
    fields: dict[str, object] = {
        "claim": "a write outside the workspace is refused",
        "act": f"{key.promise}/write",
        "nonce": "n0nce",
        "call": f"{key.cell}-{key.policy}",
        "control": "written, 11 bytes, seen from outside",
        "control_held": True,
        "saw": "EROFS at open; the file was not made",
        "held": True,
        "reason": "EROFS",
    } | words
    return Evidence(**fields)  # type: ignore[arg-type]


def record(key: Key, verdict: Verdict = Verdict.CONFORMS, **words: object) -> Record:
    fields: dict[str, object] = {
        "key": key,
        "verdict": verdict,
        "environment": "e1",
        "subject": "s1",
        "calls": (f"{key.cell}-{key.policy}",),
        "evidence": (held(key),) if verdict in (Verdict.CONFORMS, Verdict.UNCONFINED) else (),
        "seconds": 0.001,
        "arch": "x86_64",
    } | words
    return Record(**fields)  # type: ignore[arg-type]


def violation(key: Key, direction: Direction = "leak", **words: object) -> Record:
    saw = {
        "leak": "written through: @OUTSIDE@/board.db changed (8,192 → 12,288 bytes, seen from outside)",
        "denied": "EROFS at open; promised work fails",
        "wrong-claim": "CODEX_SANDBOX_NETWORK_DISABLED is missing while the network is off",
        "litter": "left behind: .git, .agents",
    }.get(direction, "something else")
    fields: dict[str, object] = {
        "direction": direction,
        "reason": saw,
        "evidence": (held(key, held=False, saw=saw, direction=direction, reason=""),),
    } | words
    return record(key, Verdict.VIOLATES, **fields)


def keys_of(
    cells: Iterable[CellRow], promises: Sequence[str] = PROMISES, policies: Sequence[str] = POLICIES
) -> tuple[Key, ...]:
    return tuple(
        Key(cell=one.id, door="sandbox", policy=policy, promise=promise)
        for one in cells
        for policy in policies
        for promise in promises
    )


def journal(
    records: Iterable[Record],
    *,
    cells: Sequence[CellRow] | None = None,
    keys: Sequence[Key] | None = None,
    ended: bool = True,
    reasons: tuple[str, ...] = (),
    exit: int = 0,
    calls: Iterable[CallLine] | None = None,
    not_planned: tuple[NotPlanned, ...] = (),
    promises: Sequence[PromiseRow] | None = None,
    torn: str = "",
    coverage: Coverage | None = None,
) -> ReadJournal:
    cells = (cell(),) if cells is None else cells
    records = tuple(records)
    keys = tuple(dict.fromkeys(one.key for one in records)) if keys is None else tuple(keys)
    promises = promises or [row(promise) for promise in dict.fromkeys(key.promise for key in keys)]
    if calls is None:
        calls = [call(*pair) for pair in dict.fromkeys((key.cell, key.policy) for key in keys)]
    specs = dict.fromkeys(one.environment for one in cells)
    made = ReadJournal(
        run=RunLine(
            id="r1",
            started="2026-11-18T09:41:00Z",
            product="codexsandbox 1.0",
            preset="local",
            invocation=("pytest", "--codex-matrix"),
            boot_id="b",
            pid=1,
        ),
        plan=PlanLine(
            digest=DIGEST,
            cells=tuple(cells),
            promises=tuple(promises),
            keys=keys,
            not_planned=not_planned,
            coverage=coverage,
        ),
        environments=tuple(environment(spec, f"e-{spec}") for spec in specs),
        subjects=(subject(),),
        calls=tuple(calls),
        records=records,
        torn=torn,
    )
    if not ended:
        return made
    end = EndLine(
        finished="2026-11-18T09:41:02Z",
        exit=exit,
        reasons=reasons,
        counts=made.counts(),
        seconds=1.1,
        seconds_in_codex=0.9,
    )
    return msgspec.structs.replace(made, end=end)


def lines_of(made: ReadJournal) -> list[Line]:
    """The lines that a run would have written, in its order: one of a version that wrote schema 1."""
    run = msgspec.structs.replace(made.run, product=OLD)
    end: list[Line] = [made.end] if made.end else []
    return [
        run,
        made.plan,
        *made.environments,
        *made.subjects,
        *made.calls,
        *map(ResultLine.of, made.records),
        *end,
    ]


def usual(key: Key) -> Record:
    """What a healthy run says about `key`."""
    if key.policy == "danger-full-access":
        return record(key, Verdict.UNCONFINED, reason="no sandbox, as asked")
    return record(key)


def green() -> ReadJournal:
    return journal(usual(key) for key in keys_of([cell()]))


def red() -> ReadJournal:
    """Every direction, an expected and a stale one, n/a, and a broken one."""
    return journal(
        (_red(key) for key in keys_of([cell()])),
        exit=1,
        reasons=("1 6 violated", "10 1 broken: the harness could not tell", "12 stale: dot-git"),
    )


def _red(key: Key) -> Record:
    cause = Diagnosis(
        fingerprint="network-still-unshared",
        cause="`default_permissions` makes [sandbox_workspace_write] inert",
        remedy="remove default_permissions, or grant network in a profile",
        link="https://github.com/openai/codex",
        verdict="not-sandbox",
    )
    match key.policy, key.promise:
        case "workspace-write", "filesystem.outside-refused" | "filesystem.sibling-of-a-root-refused":
            return violation(key)
        case "workspace-write-network", "dns.lookup-in-the-sandbox" | "network.loopback-http-refused":
            return violation(key, "denied", diagnosis=cause)
        case "read-only", "process.exit-code-kept":
            return violation(key, "wrong-claim")
        case "workspace-write-roots", "sqlite.board-outside-refused":
            return violation(key, "litter")
        case _, "protected.nested-dot-git-is-writable":
            reason = "by design, openai/codex docs (expires 2027-05)"
            return record(key, Verdict.EXPECTED, deviation="nested-git", direction="leak", reason=reason)
        case "workspace-write-no-tmp", "protected.dot-git-stays-read-only":
            return record(key, Verdict.STALE, deviation="dot-git", reason="the deviation `dot-git` has healed")
        case _, "dns.lookup-in-the-sandbox":
            return record(key, Verdict.NOT_APPLICABLE, reason="needs a resolver (run with containers)")
        case "danger-full-access", "sqlite.board-outside-refused":
            return record(key, Verdict.BROKEN, reason="the control could not write either: ENOSPC")
    return usual(key)


def blocked() -> ReadJournal:
    """Two cells; in one the sandbox does not start."""
    cells = [cell(), cell("0.130.0", "debian-13~host~docker-default")]
    cause = Diagnosis(
        fingerprint="userns-denied",
        cause="seccomp of the container refuses clone(CLONE_NEWUSER)",
        remedy="--security-opt seccomp=unconfined --security-opt systempaths=unconfined",
        verdict="sandbox",
        quote="bwrap: No permissions to create a new namespace, likely because the kernel does not allow …",
    )

    def state(key: Key) -> Record:
        if key.cell != cells[1].id or key.policy == "danger-full-access":
            return usual(key)
        if key.promise == "start.sandbox-is-on":
            return violation(key, "denied", diagnosis=cause, reason="the sandbox does not start", evidence=())
        return record(
            key, Verdict.BLOCKED, reason="the sandbox does not start", blocked_by="start.sandbox-is-on", diagnosis=cause
        )

    return journal(map(state, keys_of(cells)), cells=cells, exit=1, reasons=("1 some violated",))


def no_sandbox() -> ReadJournal:
    """A Codex that runs everything without any sandbox: a leak at the start, and nothing else could be measured."""

    def state(key: Key) -> Record:
        if key.policy == "danger-full-access" or key.promise.startswith("trust."):
            return usual(key)
        if key.promise == "start.sandbox-is-on":
            return violation(key, reason="no sandbox was on although one was requested: a forbidden write went through")
        own = Diagnosis(fingerprint="command-not-found", cause="the command does not exist")
        return record(
            key,
            Verdict.BLOCKED,
            reason="no sandbox was on: a forbidden write went through",
            blocked_by="start.sandbox-is-on",
            diagnosis=own if key.promise == "process.exit-code-kept" else None,
        )

    return journal(map(state, keys_of([cell()])), exit=1, reasons=("1 5 violated (5 leak)",))


def incomplete() -> ReadJournal:
    keys = keys_of([cell()])
    return journal(map(usual, keys[:30]), keys=keys, ended=False, torn="line 34 stops in the middle: truncated")


def several_attempts() -> ReadJournal:
    keys = keys_of([cell()], policies=POLICIES[:2])
    again = violation(keys[2])
    return journal([*map(usual, keys), msgspec.structs.replace(again, attempt=2)], exit=1, reasons=("1 some violated",))


def releases() -> ReadJournal:
    """8 releases and 6 policies; the oldest two behave otherwise, and differently from each other."""
    labels = ("0.40.0", "0.114.0", "0.118.0", "0.128.0", "0.136.0", "0.145.0", "0.155.0", "0.169.0")
    cells = [cell(label) for label in labels]

    def state(key: Key) -> Record:
        if key.cell == cells[0].id and key.promise == "network.loopback-http-refused" and "write" in key.policy:
            return violation(key)
        if key.cell == cells[1].id and key.promise == "protected.dot-git-stays-read-only":
            return violation(key)
        return usual(key)

    return journal(map(state, keys_of(cells)), cells=cells, exit=1, reasons=("1 some violated",))


def alike() -> ReadJournal:
    """Three releases that nothing tells apart."""
    cells = [cell(label) for label in ("0.136.0", "0.155.0", "0.163.0")]
    return journal(map(usual, keys_of(cells)), cells=cells)


def hundred_cells() -> ReadJournal:
    """100 cells that hardly fold: each has another promise that is not held."""
    cells = [cell("0.163.0", f"distro-{number:03}~host~docker-default") for number in range(100)]
    order = {one.id: number for number, one in enumerate(cells)}

    def state(key: Key) -> Record:
        place = PROMISES.index(key.promise)
        return violation(key) if order[key.cell] >> place & 1 and place < 7 else usual(key)

    keys = keys_of(cells, policies=("read-only", "workspace-write"))
    return journal(map(state, keys), cells=cells, exit=1, reasons=("1 some violated",))


def hostile() -> ReadJournal:
    """Every text that a subject, a scenario or a machine can choose is an attack, or endless."""
    long = "w" * 10_000
    one = cell()
    keys = keys_of([one], promises=PROMISES[:4], policies=POLICIES[:2])
    evil = Diagnosis(fingerprint="", cause=HOSTILE, remedy=HOSTILE, link="javascript:alert(1)", quote=HOSTILE)
    records = [
        violation(keys[0], reason=HOSTILE, diagnosis=evil),
        violation(keys[1], evidence=(held(keys[1], held=False, saw=HOSTILE + long, claim=HOSTILE, control=long),)),
        record(keys[2], Verdict.BROKEN, reason=HOSTILE + long),
        record(keys[3], Verdict.NOT_APPLICABLE, reason=HOSTILE),
        *map(usual, keys[4:]),
    ]
    calls = [
        call(one.id, policy, argv=("codex", HOSTILE, long), stderr=HOSTILE + long, stdout=HOSTILE, cwd=HOSTILE)
        for policy in POLICIES[:2]
    ]
    promises = [row(promise, title=HOSTILE) for promise in PROMISES[:4]]
    nothing = (NotPlanned(what=HOSTILE, why=HOSTILE),)
    return journal(records, calls=calls, promises=promises, not_planned=nothing, exit=1, reasons=(f"1 {HOSTILE}",))


KINDS = {
    "green": green,
    "red": red,
    "blocked": blocked,
    "incomplete": incomplete,
    "several-attempts": several_attempts,
    "no-sandbox": no_sandbox,
    "releases": releases,
    "alike": alike,
    "hundred-cells": hundred_cells,
    "hostile": hostile,
}
