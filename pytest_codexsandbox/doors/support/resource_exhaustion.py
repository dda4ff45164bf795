"""Resource exhaustion: names what the machine or a container ran out of. Then the end of a call says nothing about
Codex.
"""

from collections.abc import Sequence
from typing import Final

from pytest_codexsandbox.model.command import CommandResult

NO_ROOM: Final = ("ENOSPC", "EDQUOT", "SQLITE_FULL")
# Codex does not quote SQLite's error. So a failure of its own database counts if the disk was full.
NO_ROOM_TEXTS: Final = (
    b"No space left on device",
    b"database or disk is full",
    b"failed to initialize sqlite state runtime",
)
NO_PROCESS: Final = b"Resource temporarily unavailable"
FULL: Final = 16 << 20  # bytes: a disk with less counts as full, even if space is freed meanwhile


def exhausted_resource(ended: CommandResult, rest: bytes = b"", *, errnos: Sequence[str] = ()) -> str:
    """Returns what the kernel refused to a call for lack of a resource, or "".

    `rest`: the call's other output. `errnos`: of its acts.
    """
    said = (ended.stderr, rest)
    if ended.oom_kills and ended.ended in ("exit", "signal") and ended.code == 137:
        return f"the environment's memory was full: the kernel ended {ended.oom_kills} of its processes"
    if ended.refused_processes and ("EAGAIN" in errnos or any(NO_PROCESS in text for text in said)):
        told = f"the kernel refused {ended.refused_processes} (pids_limit of the profile, --pids-limit)"
        return f"the environment may have no more processes: {told}"
    no_room = any(one in NO_ROOM for one in errnos) or any(words in text for words in NO_ROOM_TEXTS for text in said)
    if no_room and 0 <= ended.room < FULL:
        return f"the environment's disk is full: {ended.room >> 10} KiB were free when the call ended"
    return ""
