"""Promises, evidence, starts and observations made by hand."""

from typing import Any

from hypothesis import HealthCheck, settings

from pytest_codexsandbox.model.act import ActResult, PathState
from pytest_codexsandbox.model.base_acts import BASE_ACTS, FORBIDDEN, PERMITTED
from pytest_codexsandbox.model.observation import Link, Observation, ProcReading
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence, Record
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.verdict import Verdict

# The same examples on every machine, however slow it is.
SAME = settings(derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
KEY = f"{FORBIDDEN}|{BASE_ACTS[FORBIDDEN].path}"
READABLE = BASE_ACTS[PERMITTED].given[0].content


def promise(id: str = "filesystem.outside-refused", **words: Any) -> Promise:
    fields: dict[str, Any] = {
        "id": id,
        "kind": "boundary",
        "severity": "critical",
        "needs": "sandbox",
        "source": "docs",
        "policies": ("workspace-write",),
    } | words
    return Promise(**fields)


def row(**words: Any) -> Evidence:
    fields: dict[str, Any] = {
        "claim": "a write outside is refused",
        "act": "filesystem.outside-refused/write",
        "nonce": "n0",
        "call": "c1",
        "control": "worked",
        "control_held": True,
        "saw": "EROFS at open",
        "held": True,
    } | words
    return Evidence(**fields)


def started(state: Any = "on") -> SandboxState:
    return SandboxState(state=state, why=f"because it was {state}", call="c1")


def record(verdict: Verdict = Verdict.VIOLATES, promise: str = "filesystem.outside-refused", **words: Any) -> Record:
    key = Key(cell="debian-12~host~local~codex-0.163.0", door="sandbox", policy="workspace-write", promise=promise)
    fields: dict[str, Any] = {"key": key, "verdict": verdict, "calls": ("c1",)} | words
    return Record(**fields)


def reading(**words: Any) -> ProcReading:
    """A probe inside bubblewrap, read from a bare host by an ordinary user."""
    fields: dict[str, Any] = {
        "pid": 7,
        "namespaces": {"user": "user:[2]", "mnt": "mnt:[2]", "net": "net:[2]"},
        "seccomp": 2,
        "filters": 1,
        "no_new_privs": 1,
        "cap_eff": "0000000000000000",
        "cap_bnd": "0000000000000000",
        "uid_map": "0 1000 1",
        "stdout_is_ours": True,
        "chain": (Link(pid=6, exe="/usr/bin/bwrap", name="bwrap"),),
        "hand_namespaces": {"user": "user:[1]", "mnt": "mnt:[1]", "net": "net:[1]"},
        "hand_seccomp": 0,
        "hand_filters": 0,
        "hand_no_new_privs": 0,
        "hand_cap_eff": "0000000000000000",
    } | words
    return ProcReading(**fields)


OUTSIDE = {"user": "user:[1]", "mnt": "mnt:[1]", "net": "net:[1]"}


def unmarked(**words: Any) -> ProcReading:
    """A probe that nothing confines."""
    fields: dict[str, Any] = {
        "namespaces": OUTSIDE,
        "seccomp": 0,
        "filters": 0,
        "no_new_privs": 0,
        "chain": (),
    } | words
    return reading(**fields)


def landlocked(**words: Any) -> ProcReading:
    """A probe under Landlock and seccomp: no namespaces, only filters and NoNewPrivs."""
    return unmarked(**({"seccomp": 2, "filters": 1, "no_new_privs": 1} | words))


def look(kind: Any = "missing") -> PathState:
    return PathState(path=BASE_ACTS[FORBIDDEN].path, kind=kind, size=11 if kind == "file" else 0)


def observation(**words: Any) -> Observation:
    """A call in which a sandbox by bubblewrap was on."""
    rows = {
        FORBIDDEN: ActResult(act=FORBIDDEN, ok=False, errno="EROFS", step="open"),
        PERMITTED: ActResult(act=PERMITTED, ok=True, value=READABLE),
    }
    fields: dict[str, Any] = {
        "id": "c1",
        "door": "sandbox",
        "policy": "workspace-write",
        "nonce": "n0",
        "argv": ("codex",),
        "cwd": "/w",
        "env": {},
        "ended": "exit",
        "code": 0,
        "seconds": 0.1,
        "stdout_sha256": "",
        "stdout_total": 0,
        "stdout": "",
        "stderr": "",
        "ready": True,
        "finished": True,
        "rows": rows,
        "before": {KEY: look()},
        "after": {KEY: look()},
        "readings": (reading(),),
    } | words
    return Observation(**fields)


def refused_with(errno: str) -> dict[str, ActResult]:
    return observation().rows | {FORBIDDEN: ActResult(act=FORBIDDEN, ok=False, errno=errno, step="open")}


def control(**words: Any) -> Observation:
    """The same acts without any sandbox: everything works."""
    done = {
        act: ActResult(act=act, ok=True, value=READABLE if act == PERMITTED else "") for act in (FORBIDDEN, PERMITTED)
    }
    fields: dict[str, Any] = {"id": "k1", "door": "unconfined", "rows": done, "after": {KEY: look("file")}} | words
    return observation(**({"readings": (unmarked(),)} | fields))


def died(stderr: str = "", **words: Any) -> Observation:
    """A call that ended before the probe ran."""
    fields: dict[str, Any] = {
        "ready": False,
        "finished": False,
        "rows": {},
        "readings": (),
        "code": 1,
        "stderr": stderr,
    } | words
    return observation(**fields)
