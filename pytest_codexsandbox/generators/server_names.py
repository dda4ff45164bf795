"""MCP server names: fills `@SERVER@` in a case with the name of a server that the generator itself writes. Pure.

A user may have a server of the same name. Only then does a generator meet its own table in the user's spelling.
`@SERVER@` becomes the name as a TOML key, `@SERVER:quoted@` the name in double quotes.
"""

import json
import re
from typing import Final

import msgspec

from pytest_codexsandbox.generators.checks.codex_toml import read, written
from pytest_codexsandbox.model.generator import Case

USUAL: Final = "demo"  # for a generator that writes no server
_TOKEN: Final = re.compile(rb"@SERVER(?P<quoted>:quoted)?@")


def asks_for_a_name(case: Case) -> bool:
    return case.config is not None and _TOKEN.search(case.config) is not None


def server_names(content: bytes) -> tuple[str, ...]:
    """Returns the servers of a configuration in the order of the file. Names with control characters are left out."""
    servers = read(content).data.get("mcp_servers")
    return tuple(name for name in servers if name and name.isprintable()) if isinstance(servers, dict) else ()


def named(case: Case, names: tuple[str, ...]) -> Case:
    """Fills in the first of `names`; USUAL if there is none."""
    if case.config is None or not asks_for_a_name(case):
        return case
    name = names[0] if names else USUAL
    quoted = json.dumps(name, ensure_ascii=False)
    plain = written((name,)) if written((name,)) == name else quoted
    config = _TOKEN.sub(lambda found: (quoted if found["quoted"] else plain).encode(), case.config)
    return msgspec.structs.replace(case, config=config)
