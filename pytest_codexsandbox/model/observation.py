"""Observation: what one call of Codex (or of a control) showed: the probe's rows, the looks from outside, the kernel's
marks."""

from typing import Literal

import msgspec

from pytest_codexsandbox.model.act import ActResult, Given, PathState
from pytest_codexsandbox.model.world import World


def look_key(act: str, path: str) -> str:
    """Returns the key under which `before` and `after` of an observation keep an act's look at a path with its
    placeholders."""
    return f"{act}|{path}"


class OutsideView(msgspec.Struct, frozen=True, kw_only=True):
    """View from outside after a call."""

    looks: dict[str, PathState]
    arrivals: dict[str, tuple[str, ...]]  # token → the listeners that it reached
    litter: tuple[str, ...]


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """Process between the command that the agent started and the probe."""

    pid: int
    exe: str
    name: str = ""
    sha256: str = ""  # of the running file; "" where it is larger than 64 MB or not readable
    device: int = 0
    inode: int = 0


class ProcReading(msgspec.Struct, frozen=True, kw_only=True):
    """The probe as the kernel shows it to the agent while the probe waits, and the agent itself at that moment."""

    pid: int
    namespaces: dict[str, str]
    seccomp: int
    filters: int
    no_new_privs: int
    cap_eff: str
    cap_bnd: str
    uid_map: str
    stdout_is_ours: bool
    chain: tuple[Link, ...]  # from the command to the probe's parent
    hand_namespaces: dict[str, str]
    hand_seccomp: int
    hand_filters: int
    hand_no_new_privs: int
    hand_cap_eff: str


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    id: str  # of the call; unique in the run
    door: str
    policy: str
    nonce: str
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    ended: Literal["exit", "signal", "timeout", "not-started", "lost"]
    code: int
    seconds: float
    stdout_sha256: str
    stdout_total: int
    stdout: str  # what the probe did not say, as UTF-8, bounded
    stderr: str
    stderr_sha256: str = ""  # of all of it
    stderr_total: int = 0
    error: str = ""
    lacked: str = ""  # what the environment ran out of (memory, disk): how such a call ended is no finding
    ready: bool = False  # the probe said that it runs
    finished: bool = False  # the probe said that it did all that it was asked
    rows: dict[str, ActResult] = {}
    before: dict[str, PathState] = {}
    after: dict[str, PathState] = {}
    arrivals: tuple[str, ...] = ()  # what reached the listeners outside
    readings: tuple[ProcReading, ...] = ()
    survivors: tuple[str, ...] = ()
    litter: tuple[str, ...] = ()  # new names in workspace, roots, outside, home and /tmp that no act explains
    searched: tuple[str, ...] = ()  # places of base_acts.SEARCHED where the search found the file that was put there
    world: World | None = None  # what the placeholders stood for: a repro writes its own paths in their place
    adds: tuple[str, ...] = ()  # the door's `adds_variables`: a replay needs no door
    given: dict[str, tuple[Given, ...]] = {}  # act → files that were put there for it, placeholders filled

    @property
    def never_started(self) -> bool:
        """Checks whether the kernel did not start the program. Without argv there was none: Codex cannot be asked
        that."""
        return self.ended == "not-started" and bool(self.argv)
