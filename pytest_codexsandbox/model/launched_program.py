"""Which program a call of Codex really started, as the kernel named it from outside. Pure."""

from collections.abc import Sequence

from pytest_codexsandbox.model.observation import ProcReading


def program_of(readings: Sequence[ProcReading]) -> tuple[str, int] | None:
    """Path and inode of the outermost Codex between the call and its probe; None where nobody saw one. What only has
    its name (a script runs as its interpreter) is none."""
    links = (link for reading in readings for link in reading.chain)
    found = next((link for link in links if link.exe.rpartition("/")[2].startswith("codex")), None)
    return (found.exe, found.inode) if found is not None else None
