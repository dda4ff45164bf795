"""strace: the command line that traces a generator, and the log that it leaves."""

import os
import shutil
from collections.abc import Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.generators.confinement import is_of_the_system
from pytest_codexsandbox.generators.stress import strace_log
from pytest_codexsandbox.generators.stress.strace_log import CHANGING, Trace

ALL: Final = ("all",)
_LARGEST: Final = 64 * 1024 * 1024
_LOG: Final = "calls"
_MOST_DELAYS: Final = 6  # for each kind of call in a process: a slow generator must still end in time


class Tracer(msgspec.Struct, frozen=True, kw_only=True):
    """The strace program. `program` is "" if there is none; `why` then says what to do."""

    program: str = ""
    why: str = ""

    def words(self, log: str, *, calls: Sequence[str] = CHANGING, inject: str = "", path: str = "") -> tuple[str, ...]:
        """Returns the words before a generator's own: strings in hexadecimal, descriptors with paths, child processes
        followed.

        No `--seccomp-bpf`: with it strace 6.1 injects no signal.
        """
        traced = ",".join(name if name == "all" else f"?{name}" for name in calls)
        return (
            self.program,
            "-q",
            "-f",
            "-y",
            "-ttt",
            "-xx",
            "-s",
            "0",
            "-e",
            f"trace={traced}",
            "-e",
            "signal=KILL",
            *(("-P", path) if path else ()),
            *(("-e", f"inject={inject}") if inject else ()),
            "-o",
            log,
            "--",
        )

    def slow(self, log: str, *, milliseconds: int) -> tuple[str, ...]:
        """Returns words that delay each change, so that time passes between what a generator reads and what it
        writes."""
        slowed = ("write", "pwrite64", "rename", "renameat", "renameat2", "ftruncate", "copy_file_range")
        some = ",".join(f"?{name}" for name in slowed)
        return self.words(log, inject=f"{some}:delay_enter={milliseconds * 1000}:when=1..{_MOST_DELAYS}")


def tracer() -> Tracer:
    found = shutil.which("strace")
    if not found:
        return Tracer(why="needs strace (apt install strace)")
    real = os.path.realpath(found)
    if not is_of_the_system(real):
        return Tracer(why=f"needs strace in a system folder: {found} is not visible to confined generators")
    return Tracer(program=real)


def log_of(own: str, name: str = _LOG) -> str:
    return f"{own}/{name}"


def kept(log: str) -> Trace:
    """Returns the calls in a log, as far as it can be read. A missing log has no calls."""
    try:
        fd = os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return Trace()
    with os.fdopen(fd, "rb") as file:
        return strace_log.read(file.read(_LARGEST).decode("utf-8", "surrogateescape").splitlines())
