"""Event sink: takes what a worker reports, lines for the journal and messages for the terminal.

The caller that starts a measurement makes the sink and passes it down. No layer below knows pytest or a terminal.
"""

import base64
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pytest_codexsandbox.model.bwrap_used import unexpected_bwrap, used
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.contents import Writer as ContentsWriter
from pytest_codexsandbox.model.journal_lines import CallLine, Line
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.redact import redact_bytes

_STDIN_KEPT: Final = 65536  # bytes


class Pending(msgspec.Struct):
    """Holds what no report of pytest carries yet."""

    lines: list[Line] = []
    seconds_in_codex: float = 0.0  # calls that ran at once count once


class EventSink:
    """Discards all lines, for a measurement without a journal. `worker`: its name, "" for the only one. The caller may
    take `pending` away, and leave a new one."""

    def __init__(self, worker: str = "") -> None:
        self.worker = worker
        self.pending = Pending()

    def emit(self, line: Line) -> None:
        """Takes a line of the journal."""

    def say(self, text: str) -> None:
        """Shows the user a message while a test runs."""

    def id_of(self, spec_id: str) -> str:
        """Returns the id of an environment in the journal: each worker has its own."""
        return f"{spec_id}@{self.worker}" if self.worker else spec_id

    def call(
        self,
        observation: Observation,
        *,
        cell: Cell,
        stdin: bytes = b"",
        interrupt_after: float = 0.0,
        timeout: float,
        control: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Emits the line of a call. `facts` of the environment name the requested bubblewrap; None: none was
        requested."""
        found = None if facts is None else used(observation.readings, facts)
        line = CallLine(
            id=observation.id,
            environment=self.id_of(cell.environment.id),
            subject=cell.subject.label,
            cell=cell.id,
            observation=observation,
            control=control,
            stdin=base64.b64encode(redact_bytes(stdin)[:_STDIN_KEPT]).decode(),
            interrupt_after=interrupt_after,
            timeout=timeout,
            bwrap_used=found,
            another_bwrap=unexpected_bwrap(found, facts or {}),
        )
        self.emit(line)


class JournalEvents(EventSink):
    """Keeps the lines. The content of each file is kept on one line only."""

    def __init__(self, worker: str = "") -> None:
        super().__init__(worker)
        self._contents = ContentsWriter()

    def emit(self, line: Line) -> None:
        self.pending.lines.append(self._contents.thin(line))
