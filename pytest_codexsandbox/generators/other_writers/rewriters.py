"""Writers that save the whole file anew: what a parser keeps of it, and what an editor makes of its line ends."""

from typing import Any

import tomlkit

from pytest_codexsandbox.generators.other_writers.file_save import Given, saving


def _reserialised(text: str, given: Given) -> str:
    """As installers do that parse and print TOML; values stay, with a server of its own."""
    data: dict[str, Any] = tomlkit.parse(text.removeprefix("\ufeff")).unwrap()
    data.setdefault("mcp_servers", {})["installed"] = {"command": "installed", "args": ["--stdio"]}
    return tomlkit.dumps(data)


def _crlf(text: str, given: Given) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


reserialises = saving(_reserialised)
saves_crlf = saving(_crlf)
