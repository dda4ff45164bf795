"""File save: how these writers read and save the whole file in place, as many programs do. No other program writes
meanwhile."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Given = Mapping[str, Any]
Result = dict[str, Any]
Writer = Callable[[Given], Result]


def marks(given: Given) -> tuple[str, str]:
    """Returns the begin and end markers of the generator's block."""
    return given["params"].get("begin", ""), given["params"].get("end", "")


def saving(change: Callable[[str, Given], str]) -> Writer:
    """Returns a writer that applies `change` to the text. It refuses if the text stays the same."""

    def write(given: Given) -> Result:
        path = Path(given["config"])
        before = path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""
        after = change(before, given)
        if after == before:
            return {"refused": True, "reason": "this file has nothing that it changes"}
        path.write_bytes(after.encode("utf-8", "surrogateescape"))
        return {}

    return write


def line_of(text: str, mark: str) -> tuple[int, int] | None:
    """Returns start and end of the last line with exactly this text, its line end included."""
    at, found = 0, None
    for line in text.splitlines(keepends=True):
        if mark and line.strip("\r\n \t") == mark.strip():
            found = at, at + len(line)
        at += len(line)
    return found
