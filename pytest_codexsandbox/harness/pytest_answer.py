"""Pytest answer: what a pytest process returns to a command: the cells as hooks change them, or the request of its
options."""

from pathlib import Path
from typing import Any

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError, InputError
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.matrix.expand import Expanded


class PytestAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Cells or a request, else the error in the words of `InputError`."""

    cells: Expanded | None = None
    request: RunRequest | None = None
    what: str = ""
    where: str = ""
    why: str = ""
    next_step: str = ""

    @classmethod
    def refused(cls, fault: CodexSandboxError) -> "PytestAnswer":
        return cls(what=fault.what, where=fault.where, why=fault.why, next_step=fault.next_step)

    def checked_cells(self) -> Expanded:
        """Returns the cells, or raises the error."""
        return self.cells if self.cells is not None else self._refuse()

    def checked_request(self) -> RunRequest:
        """Returns the request, or raises the error."""
        return self.request if self.request is not None else self._refuse()

    def _refuse(self) -> Any:
        raise InputError(self.what, where=self.where, why=self.why, next_step=self.next_step)


def encode(answer: PytestAnswer) -> bytes:
    return msgspec.json.encode(answer, enc_hook=_plain)


def decode(data: bytes) -> PytestAnswer:
    return msgspec.json.decode(data, type=PytestAnswer, dec_hook=_typed)


def _plain(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no place in an answer")


def _typed(kind: type, value: Any) -> Any:
    return kind(value)
