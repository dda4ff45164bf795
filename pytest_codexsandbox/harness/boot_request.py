"""Boot request: starts one sandbox for `codexsandbox boot-check` and sends one request from inside it.

The same acts run unconfined first: that call is the control. Both calls use a fresh world, so the user's own Codex home
is neither read nor written.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

import msgspec

from pytest_codexsandbox.diagnosis.boot import BootAnswer
from pytest_codexsandbox.errors import HarnessError, InputError
from pytest_codexsandbox.harness.observation_cache import ObservationCache
from pytest_codexsandbox.harness.worker_resources import WorkerResources
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.generator import CONFIG, GeneratedConfig, GeneratedFile
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import FULL_ACCESS, POLICIES
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.protocols import Door
from pytest_codexsandbox.registry import default_door, doors

PROGRAM: Final = "http_get.py"
ACT: Final = "boot/request"
WRITE: Final = "boot/write"  # tells workspace-write from read-only
START_SECONDS: Final = 20.0  # for Codex to start the sandbox, beside the request's own limit


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One boot check, as it was requested."""

    door: str
    policy: str
    url: str = ""
    seconds: float = 5.0  # for the request
    config: bytes | None = None  # a config.toml that decides the policy; None: the policy is passed as overrides
    env: dict[str, str] = {}  # proxy and certificate variables of the caller


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of both calls."""

    started: SandboxState
    seen: Observation
    inside: BootAnswer | None = None  # None: no request was asked for
    outside: BootAnswer | None = None
    writes: bool | None = None  # the sandboxed call could write in the workspace; None: not known


def measure(cache: ObservationCache, cell: Cell, asked: Asked) -> Measured:
    """Runs the control and the sandboxed call, and judges whether the sandbox was on."""
    resources = cache.resources
    control = _observe(resources, cell, asked, resources.control_door)
    seen = _observe(resources, cell, asked, _door(resources, asked))
    resources.check(cell, (seen,))
    started = cache.assessed(cell, asked.policy, seen, control)
    writes = _writes(seen) if _writes(control) else None
    if not asked.url:
        return Measured(started=started, seen=seen, writes=writes)
    return Measured(started=started, seen=seen, inside=answer_of(seen), outside=answer_of(control), writes=writes)


def _writes(observation: Observation) -> bool | None:
    row = observation.rows.get(WRITE)
    return row.ok if row else None


def answer_of(observation: Observation) -> BootAnswer:
    """Reads the line that http_get.py printed, if it printed one."""
    for line in reversed(observation.stdout.splitlines()):
        try:
            found = msgspec.json.decode(line.encode(), type=dict[str, str | int])
            return msgspec.convert({**found, "known": True}, BootAnswer)
        except msgspec.MsgspecError:
            continue
    return BootAnswer()


def _observe(resources: WorkerResources, cell: Cell, asked: Asked, door: Door) -> Observation:
    environment, subject = resources.enter(cell)
    policy = POLICIES[FULL_ACCESS if door.is_control else asked.policy]
    call = Call(env=dict(asked.env), timeout=START_SECONDS + asked.seconds)
    seen = door.observe(environment, subject, policy, _acts(asked, environment.guest), call)[0]
    if seen.ended in ("lost", "not-started"):
        raise HarnessError(
            "a call could not be made",
            where=f"door {door.name}",
            why=seen.error,
            next_step=f"name another door: --door {default_door('files')}",
        )
    if seen.lacked:
        raise HarnessError("this machine lacks the resources for the call", why=seen.lacked)
    return seen


def _acts(asked: Asked, guest: tuple[str, str]) -> Mapping[str, Act]:
    """Returns the acts that show the mode and the network. The base acts of every call prove a start."""
    write = {WRITE: Act(verb="create", path="@WORKSPACE@/@NAME@", params={"data": "new"})}
    if not asked.url:
        return write
    python, folder = guest
    argv = [python, "-I", "-S", str(PurePosixPath(folder) / PROGRAM), asked.url, str(asked.seconds)]
    return {**write, ACT: Act(verb="become", params={"argv": argv, "without": []})}


def _door(resources: WorkerResources, asked: Asked) -> Door:
    door = resources.door(asked.door)
    if asked.config is None:
        return door
    if not door.reads_config_files:
        raise InputError(
            f"--config has no effect at the door {asked.door!r}",
            why="sandbox_mode of a file is ignored there",
            next_step=", or ".join(f"--door {name}" for name, one in doors().items() if one.reads_config_files),
        )
    written = GeneratedConfig(files={CONFIG: GeneratedFile(content=asked.config)})
    return door.configured(lambda world, policy: written)
