"""Launched program: the program that a call of Codex really started, as the kernel names it from outside. Pure."""

from collections.abc import Sequence

from pytest_codexsandbox.model.observation import ProcReading


def program_of(readings: Sequence[ProcReading]) -> tuple[str, int] | None:
    """Returns path and inode of the outermost Codex between the call and its probe; None where none was seen. A script
    named `codex` does not count, because it runs as its interpreter."""
    links = (link for reading in readings for link in reading.chain)
    found = next((link for link in links if link.exe.rpartition("/")[2].startswith("codex")), None)
    return (found.exe, found.inode) if found is not None else None
