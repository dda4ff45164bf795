"""Report payload: data that a pytest report carries from the process that measured to the one that writes the
journal."""

from typing import Final

import msgspec

from pytest_codexsandbox.model.journal_lines import CallLine, Line, ResultLine
from pytest_codexsandbox.model.printed_text import spelled
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.redact import redact_registered

ATTRIBUTE: Final = "codexsandbox"


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    lines: tuple[Line, ...] = ()
    record: Record | None = None
    seconds_in_codex: float = 0.0

    def all_lines(self) -> tuple[Line, ...]:
        return (*self.lines, ResultLine.of(self.record)) if self.record else self.lines

    def calls(self) -> tuple[tuple[str, str], ...]:
        """Returns the cell and the policy of each call of Codex, without controls."""
        called = (line for line in self.lines if isinstance(line, CallLine) and not line.control)
        return tuple((line.cell, line.observation.policy) for line in called)


def put(report: object, payload: Payload) -> None:
    """Attaches the payload as text, which survives every way in which a report may travel."""
    setattr(report, ATTRIBUTE, redact_registered(_encoded(payload)).decode())


def _encoded(payload: Payload) -> bytes:
    try:
        return msgspec.json.encode(payload)
    except UnicodeEncodeError:  # words of a file that is not UTF-8
        return msgspec.json.encode(spelled(msgspec.to_builtins(payload)))


def get(report: object) -> Payload | None:
    text = getattr(report, ATTRIBUTE, None)
    return msgspec.json.decode(text, type=Payload) if isinstance(text, str) else None
