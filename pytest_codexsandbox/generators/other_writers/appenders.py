"""Appenders: writers that add text and leave the rest: at the end of the file, or inside a managed block."""

from pytest_codexsandbox.generators.other_writers.file_save import Given, line_of, marks, saving

_SERVER = '\n[mcp_servers.theirs]\ncommand = "theirs"\nstartup_timeout_sec = 12.5\n'
_TABLE = '[mcp_servers.inside]\ncommand = "inside"\n'
_DOTTED = 'mcp_servers.inside.command = "inside"\n'
_KEY = "hide_agent_reasoning = true\n"


def _appended(text: str, given: Given) -> str:
    return text + ("" if text.endswith("\n") or not text else "\n") + _SERVER


def _table(text: str, given: Given) -> str:
    """Adds a table above the end marker: as a dotted key if keys follow that a header would capture."""
    found = line_of(text, marks(given)[1])
    if found is None:
        return text
    rest = (line.strip() for line in text[found[1] :].splitlines())
    follows = next((line for line in rest if line and not line.startswith("#")), "")
    table = _TABLE if not follows or follows.startswith("[") else _DOTTED
    return text[: found[0]] + table + text[found[0] :]


def _key(text: str, given: Given) -> str:
    found = line_of(text, marks(given)[0])
    return text if found is None else text[: found[1]] + _KEY + text[found[1] :]


appends_a_server = saving(_appended)
table_inside = saving(_table)
key_inside = saving(_key)
