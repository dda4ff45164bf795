"""Rewriters: writers that save the whole file: as a parser prints it, or with an editor's line ends."""

from typing import Any

import tomlkit

from pytest_codexsandbox.generators.other_writers.file_save import Given, saving


def _reserialised(text: str, given: Given) -> str:
    """Parses the file and prints it, as installers do. Values stay, and a server of its own is added."""
    data: dict[str, Any] = tomlkit.parse(text.removeprefix("\ufeff")).unwrap()
    data.setdefault("mcp_servers", {})["installed"] = {"command": "installed", "args": ["--stdio"]}
    return tomlkit.dumps(data)


def _crlf(text: str, given: Given) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


reserialises = saving(_reserialised)
saves_crlf = saving(_crlf)
