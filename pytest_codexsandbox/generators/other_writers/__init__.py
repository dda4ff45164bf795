"""Other writers of the same file: editors, installers, people. None of them knows about managed blocks."""

from collections.abc import Mapping
from typing import Final

from pytest_codexsandbox.model.generator import Declaration
from pytest_codexsandbox.model.generator_spec import Generator, Spec

NEEDS_MARKS: Final = ("table-inside", "key-inside", "uncomments-marks", "loses-end", "loses-marks")
"""These writers get the markers in `params` of their request, as `begin` and `end`."""
_HERE: Final = "pytest_codexsandbox.generators.other_writers"
_OURS: Final = {
    "reserialises": ("rewriters", "parses and rewrites the file: comments and marks are lost"),
    "saves-crlf": ("rewriters", "an editor that ends every line with CRLF"),
    "appends-a-server": ("appenders", "appends [mcp_servers.theirs] at the end"),
    "table-inside": ("appenders", "inserts a user's table right above the last mark"),
    "key-inside": ("appenders", "inserts a user's key right below the first mark"),
    "uncomments-marks": ("marker_damage", "removes the `# ` of comments that look like marks"),
    "loses-end": ("marker_damage", "removes the last mark"),
    "loses-marks": ("marker_damage", "removes all marks"),
}


def _of(name: str, module: str, wrong: str) -> Generator:
    text = f"{_HERE}.{module}:{name.replace('-', '_')}"
    declaration = Declaration(run=f"py:{text}", name=name, description=wrong, kind="file")
    return Generator(name=name, spec=Spec(scheme="py", text=text), declaration=declaration)


WRITERS: Final[Mapping[str, Generator]] = {name: _of(name, *words) for name, words in _OURS.items()}
"""Name → writer."""
TORN: Final = _of("torn", "torn_write", "empties the file, waits, and writes it: a reader must see this")
