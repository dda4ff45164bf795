"""Journal on disk: one JSON line for each thing known, written once.

A full disk must not end a run. What could not be written is kept in `fault`, and the file is cut back to its last whole
line. The ledger then does not add up, because the results are missing from it.
"""

import fcntl
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import InputError, os_errors_as
from pytest_codexsandbox.journal.packer import Packer
from pytest_codexsandbox.journal.reader import FILE, read
from pytest_codexsandbox.journal.running_sum import RunningSum
from pytest_codexsandbox.model.journal_lines import SCHEMA, EndLine, Line, PlanLine, RunLine
from pytest_codexsandbox.model.plan_key import keys_digest
from pytest_codexsandbox.model.printed_text import spelled
from pytest_codexsandbox.model.redact import redact_json, redact_registered

__all__ = ("FILE", "JournalWriter", "read")

_encode: Final = msgspec.json.Encoder(enc_hook=repr).encode


_DECODER: Final = msgspec.json.Decoder[Line](Line)


class JournalWriter:
    """Writes a journal, unbuffered, so that a killed process leaves every line that it wrote."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.fault = ""  # the first thing that could not be written, and why
        self.lost = 0  # lines that could not be written
        self._descriptor = descriptor
        self._size = 0
        self._end = -1  # offset of the line `end`; -1: not written yet
        self._sum = self._sum_before_end = RunningSum()
        self._packer = Packer()
        self._redacts = False  # whether a credential was found
        self._kinds: Counter[str] = Counter()  # lines of each kind, without `end`

    @classmethod
    def open(cls, folder: Path, run_line: RunLine) -> "JournalWriter":
        """Starts a new journal in `folder`, which must not have one."""
        path = folder / FILE
        next_step = "give a folder that can be written: --codex-report-dir DIR"
        with os_errors_as(InputError, "the journal cannot be written", where=path, next_step=next_step):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # shows `run_folders` that the run is running
        journal = cls(path, descriptor)
        journal.write(msgspec.structs.replace(run_line, schema=SCHEMA))
        return journal

    def write(self, line: Line) -> None:
        running = self._sum.copy()
        packed = self._packed(line)
        data = running.sealed(packed)
        try:
            written = 0
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError as error:
            self._failed(f"{type(line).__name__} could not be written: {error.strerror or error}")
        else:
            self._size += len(data)
            self._sum = running
            if not isinstance(line, EndLine):
                self._kinds.update({"part": len(packed) - 1, str(line.__struct_config__.tag): 1})

    def write_end(self, line: EndLine) -> None:
        """Writes the last line; a later call replaces it. A file that another process changed is left alone."""
        if self._end >= 0:
            try:
                if os.fstat(self._descriptor).st_size != self._size:
                    return
                os.ftruncate(self._descriptor, self._end)
                self._size = os.lseek(self._descriptor, self._end, os.SEEK_SET)
                self._sum = self._sum_before_end
            except OSError as error:
                self.fault = self.fault or f"the last line could not be replaced: {error.strerror or error}"
                return
        start, lost, before = self._size, self.lost, self._sum
        self.write(line)
        self._end, self._sum_before_end = (start if self.lost == lost else -1), before
        self.sync()

    def _packed(self, line: Line) -> list[bytes]:
        """Returns the lines of JSON for one line, without their sums: new parts first."""
        *parts, last = self._without_credentials(line)
        match line:
            case PlanLine():
                last = last[:-1] + b',"keys_digest":"%s"}' % keys_digest(line.keys).encode()
            case EndLine():
                last = last[:-1] + b',"lines":%s}' % _encode(dict(+self._kinds))
        return [*parts, last]

    def _without_credentials(self, line: Line) -> list[bytes]:
        """Packs a line. Redacting all of it takes longer than packing, so only new bytes are searched for hints of a
        credential. From the first credential on, every line is redacted before it is packed."""
        line, whole = _encodable(line)
        if not self._redacts:
            packed, hinted = self._packer.packed(line, whole)
            if (not hinted and redact_registered(whole) == whole) or redact_json(whole) == whole:
                return packed
            self._redacts, self._packer = True, Packer()  # its parts are not written
        clean = redact_json(whole)
        return self._packer.packed(line if clean == whole else _DECODER.decode(clean), clean)[0]

    def sync(self) -> None:
        """Flushes the journal to the disk, not only to its cache: the plan, before the first effect."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            self.fault = self.fault or f"the journal could not be synced: {error.strerror or error}"

    @property
    def closed(self) -> bool:
        return self._descriptor < 0

    def close(self) -> None:
        if self.closed:
            return
        self.sync()
        try:
            os.close(self._descriptor)
        except OSError as error:
            self.fault = self.fault or f"the journal could not be closed: {error.strerror or error}"
        self._descriptor = -1

    def _failed(self, why: str) -> None:
        self.fault = self.fault or why
        self.lost += 1
        self._packer = Packer()  # its parts may be lost with the line
        with suppress(OSError):  # half a line would spoil the next one
            os.ftruncate(self._descriptor, self._size)
            os.lseek(self._descriptor, self._size, os.SEEK_SET)


def _encodable(line: Line) -> tuple[Line, bytes]:
    """Returns a line whose characters UTF-8 can encode, and the same line encoded."""
    try:
        return line, _encode(line)
    except UnicodeEncodeError:  # a file name that is not UTF-8
        data = _encode(spelled(msgspec.to_builtins(line, enc_hook=repr)))
        return _DECODER.decode(data), data
