"""Artefact: a published archive: where it is, what it hashes to, how it is packed."""

import re
from collections.abc import Callable
from typing import Literal

import msgspec

from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.system.download import Hash

Run = Callable[[Command], CommandResult]


class Artefact(msgspec.Struct, frozen=True, kw_only=True):
    release: str
    source: Literal["pypi", "npm"]
    form: Literal["wheel", "tgz"]
    url: str
    expected: Hash
    headers: dict[str, str] = {}  # a login of the user's own; never recorded


def last_line(output: bytes) -> str:
    """Returns the last line of a tool's output, without a login in an address."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return re.sub(r"://[^/@\s]+@", "://", lines[-1])[:300] if lines else ""
