"""Sandbox state: whether a sandbox was on. Every other verdict depends on it."""

from typing import Literal

import msgspec

from pytest_codexsandbox.model.bwrap_used import BwrapUsed
from pytest_codexsandbox.model.record import Diagnosis


class SandboxState(msgspec.Struct, frozen=True, kw_only=True):
    """`on` needs a refusal in behaviour AND a mark of the kernel that the agent does not carry, at the same moment."""

    state: Literal["on", "off", "failed", "unknown"]
    why: str  # one sentence
    marks: tuple[str, ...] = ()  # "own user namespace", "seccomp filters 1 > 0", …
    by: str = ""  # bwrap | landlock | seccomp
    call: str = ""
    diagnosis: Diagnosis | None = None  # when failed
    bwrap: BwrapUsed | None = None  # what set it up, where that could be seen
    another: str = ""  # it was set up by another bubblewrap than was asked for: what holds is not measured
    without_say: str = ""  # a bubblewrap was asked for, and this Codex starts none
    alone: bool = False  # of a promise's own call, beside a battery of the same policy that was confined
    doubt: str = ""  # why it is not known of a promise's own call, beside such a battery: then nothing holds
