"""Command for an environment, and its result."""

from typing import Literal

import msgspec

from pytest_codexsandbox.model.act import Launch
from pytest_codexsandbox.model.generator import GeneratedFile
from pytest_codexsandbox.model.observation import ProcReading


class Command(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]  # the whole environment: nothing is inherited
    stdin: bytes = b""
    timeout: float = 20.0
    probe_nonce: str = ""  # a nonce: hold the probe that says it, read it from outside, then let it go
    probe_argv: tuple[str, ...] = ()  # the probe's own argv, by which it is recognised in /proc
    channel: str = ""  # a folder in which the agent makes two FIFOs: what is written into `out` counts as stdout
    aside: bool = False  # it runs beside calls and leaves the shared folders alone: it waits for no turn there
    interrupt_after: float = 0.0
    launch: Launch = Launch()
    files: dict[str, GeneratedFile] = {}  # path → what is put there before the start; paths have no placeholders
    output_limit: int = 64 * 1024 * 1024
    why: str = ""  # said in the error when it takes too long: "the battery of workspace-write"


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    ended: Literal["exit", "signal", "timeout", "not-started", "lost"]
    exit: int = 0  # the code, when ended == "exit"
    signal: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_total: int = 0  # bytes printed, also past the limit
    seconds: float = 0.0
    error: str = ""  # why it was not started or lost
    readings: tuple[ProcReading, ...] = ()
    oom_kills: int = 0  # processes that the kernel ended meanwhile because the environment's memory was full
    refused_processes: int = 0  # and those that it did not let begin, because there may be no more
    room: int = -1  # bytes free where it ran or in /tmp, the less of both, when it had ended; -1: not known
    cpu_seconds: float = 0.0  # of the command and of those that it waited for
    memory_kb: int = 0  # the largest of them
    survivors: tuple[str, ...] = ()  # processes of the scope that outlived the command and were then ended

    @property
    def code(self) -> int:
        """Returns the exit code as a shell reports it: 128 + signal."""
        return 128 + self.signal if self.ended == "signal" else self.exit
