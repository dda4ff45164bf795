"""Call output: reads the end of a call: the probe's lines on stdout, and what the machine ran out of. Pure.

Every line of the probe carries the call's nonce. A line that carries the nonce and violates the protocol is an error of
its writer: then no line can be trusted. If the machine or a container ran out of something, the end of a call says
nothing about Codex.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec

from pytest_codexsandbox.model.act import ActResult
from pytest_codexsandbox.model.command import CommandResult

NO_ROOM: Final = ("ENOSPC", "EDQUOT", "SQLITE_FULL")
# Codex does not quote SQLite's error. So a failure of its own database counts if the disk was full.
NO_ROOM_TEXTS: Final = (
    b"No space left on device",
    b"database or disk is full",
    b"failed to initialize sqlite state runtime",
)
SECOND_ROW: Final = "a second row for one act"
NO_PROCESS: Final = b"Resource temporarily unavailable"
FULL: Final = 16 << 20  # bytes: a disk with less counts as full, even if space is freed meanwhile


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    ready: bool
    finished: bool
    rows: dict[str, ActResult]
    error: str
    rest: bytes  # what is not the probe's


def parse(output: bytes, nonce: str, asked: Collection[str]) -> Spoken:
    """Parses the output of a probe that was asked for the acts `asked`, in this order."""
    said, rest = _divide(output, f"\x1ecx:{nonce}:".encode())
    listener = _Listener(asked)
    for line in said:
        listener.hear(line)
    rows = listener.rows
    finished = listener.done and not listener.error
    return Spoken(ready=listener.ready, finished=finished, rows=rows, error=listener.error, rest=rest)


def _divide(output: bytes, marker: bytes) -> tuple[list[bytes], bytes]:
    """Separates the probe's lines from the rest. Drops a line without its end, which was cut off when the probe was
    ended.
    """
    said: list[bytes] = []
    rest: list[bytes] = []
    place = 0
    while (start := output.find(marker, place)) >= 0:
        rest.append(output[place:start])
        end = output.find(b"\n", start)
        if end < 0:
            return said, b"".join(rest)
        said.append(output[start + len(marker) : end])
        place = end + 1
    return said, b"".join([*rest, output[place:]])


class _Listener:
    """Reads one line after the other and keeps the first protocol error."""

    def __init__(self, asked: Collection[str]) -> None:
        self._asked = asked
        self.ready = self.done = False
        self.rows: dict[str, ActResult] = {}
        self.error = ""

    def hear(self, line: bytes) -> None:
        fault = self._fault(line)
        if fault and not self.error:
            self.error = f"the probe's output is malformed: {fault}: {line[:200].decode('latin-1')}"

    def _fault(self, line: bytes) -> str:
        """Returns why the line violates the protocol; "" if it is valid. Records a valid line."""
        try:
            message = msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.MsgspecError:
            return "not a JSON object"
        if self.done:
            return "output after the end"
        match list(message.items()):
            case [("ready", dict())] if not self.ready:
                self.ready = True
                return ""
            case [("row", row)] if self.ready:
                return self._fault_of_row(row)
            case [("done", count)] if self.ready:
                self.done = True
                return "" if count == len(self.rows) == len(self._asked) else "the end before every act has its row"
        return "unknown, repeated or too early"

    def _fault_of_row(self, row: Any) -> str:
        try:
            done = msgspec.convert(row, ActResult)
        except msgspec.ValidationError as invalid:
            return f"not a row ({invalid})"
        if done.act not in self._asked:
            return "a row for an act that was not requested"
        if done.act in self.rows:
            return SECOND_ROW
        self.rows[done.act] = done
        return ""


def exhausted_resource(ended: CommandResult, rest: bytes = b"", *, errnos: Sequence[str] = ()) -> str:
    """Returns what the kernel refused to a call for lack of a resource, or "".

    `rest`: the call's other output. `errnos`: of its acts.
    """
    said = (ended.stderr, rest)
    if ended.oom_kills and ended.ended in ("exit", "signal") and ended.code == 137:
        return f"the environment's memory was full: the kernel ended {ended.oom_kills} of its processes"
    if ended.refused_processes and ("EAGAIN" in errnos or any(NO_PROCESS in text for text in said)):
        count = f"the kernel refused {ended.refused_processes} (pids_limit of the profile, --pids-limit)"
        return f"the environment may have no more processes: {count}"
    no_room = any(one in NO_ROOM for one in errnos) or any(words in text for words in NO_ROOM_TEXTS for text in said)
    if no_room and 0 <= ended.room < FULL:
        return f"the environment's disk is full: {ended.room >> 10} KiB were free when the call ended"
    return ""
