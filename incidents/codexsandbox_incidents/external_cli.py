"""External CLI: a user lets Codex supervise another agent's command line tool, and writes the configuration by hand.

The tool keeps databases, locks and settings in its folders below the four homes of the XDG specification. Codex's
sandbox permits no writes there. The tool also needs the network. Source: openai/codex#23857.
"""

from collections.abc import Iterable
from typing import Final

from codexsandbox_incidents.file_writing import Given, Result
from pytest_codexsandbox.config_writer import request_of
from pytest_codexsandbox.config_writer.request import Value, as_toml
from pytest_codexsandbox.model.generator import Request

TOOL: Final = "opencode"
HOMES: Final = {
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
}


def none(given: Given) -> Result:
    """Grants the workspace alone, as reported."""
    return _granting(request_of(given), ())


def in_place(given: Given) -> Result:
    """Grants only the tool's own folders where they are."""
    request = request_of(given)
    return _granting(request, (f"{request.home}/{home}/{TOOL}" for home in HOMES.values()))


def moved(given: Given) -> Result:
    """Moves the four homes into a granted folder."""
    request = request_of(given)
    env = {name: f"{request.roots[0]}/{home}" for name, home in HOMES.items()} if request.roots else {}
    return {**_granting(request, request.roots), "env": env}


def whole_home(given: Given) -> Result:
    """Grants the whole home: this helps as well, but grants everything that the user has."""
    request = request_of(given)
    return _granting(request, (request.home, *request.roots))


def _granting(request: Request, roots: Iterable[str]) -> Result:
    words: dict[str, Value] = {
        "sandbox_mode": "workspace-write",
        "sandbox_workspace_write.writable_roots": tuple(roots),
        "sandbox_workspace_write.network_access": bool(request.network),
    }
    return {"argv": [word for key, value in words.items() for word in ("-c", f"{key}={as_toml(value)}")]}
