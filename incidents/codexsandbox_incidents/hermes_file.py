"""Hermes Agent's migration of Codex's config.toml: a permission profile, its own MCP server, plugins.

0.13 appends its section, so any table above captures `default_permissions`. 0.14 to 0.19 put it before the first line
that begins with `[`, also of an array. Neither parses the file.
Source: hermes_cli.codex_runtime_plugin_migration of the PyPI package hermes-agent.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from codexsandbox_incidents.file_writing import Given, Result, put, renamed, text_of
from pytest_codexsandbox.config_writer import PolicyRequest, request_of
from pytest_codexsandbox.config_writer.request import Path, Value
from pytest_codexsandbox.model.generator import Request

BEGIN: Final = "# managed by hermes-agent — `hermes codex-runtime migrate` regenerates this section"
END: Final = "# end hermes-agent managed section"
PROFILE: Final = ":workspace"
_OWN: Final = re.compile(r"\[(?:mcp_servers|plugins|permissions[].])")
_ESCAPED: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TOOLS: Final = "hermes-tools"


def servers(request: Request) -> dict[str, dict[str, Any]]:
    """Returns its own server, and those that `params["servers"]` (JSON) adds."""
    more = json.loads(request.params.get("servers", "{}"))
    env = {"HERMES_HOME": f"{request.home}/.hermes", "HERMES_QUIET": "1", "HERMES_REDACT_SECRETS": "true"}
    args = ["-m", "agent.transports.hermes_tools_mcp_server"]
    tools = {"command": "python3", "args": args, "env": env, "startup_timeout_sec": 30.0, "tool_timeout_sec": 600.0}
    return dict(sorted({**more, _TOOLS: tools}.items()))


def section(wanted: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [BEGIN, "", f'default_permissions = "{PROFILE}"', ""]
    for name, server in wanted.items():
        lines += [f"[mcp_servers.{_key(name)}]", *(f"{key} = {_value(value)}" for key, value in server.items())]
    return "\n".join([*lines, "", END])


def stripped(text: str, *, plugins_known: bool) -> str:
    """Removes its section. A section without end marker ends before the next table that cannot be its own."""
    kept: list[str] = []
    inside = False
    for line in text.split("\n"):
        if line == BEGIN:
            inside = True
        elif inside and line == END:
            inside = False
        else:
            inside = inside and not (line.startswith("[") and not _OWN.match(line))
            if not inside:
                kept.append(line)
    return _without_plugins(kept) if plugins_known else "\n".join(kept)


def _without_plugins(lines: list[str]) -> str:
    """Removes the user's plugin tables, because the list of plugins counts as newer: also if that list is empty."""
    kept: list[str] = []
    inside = False
    for line in lines:
        if line.startswith("["):
            inside = line.startswith("[plugins.")
        if not inside:
            kept.append(line)
    return "\n".join(kept)


def at_the_end(text: str, block: str) -> str:
    return f"{text.rstrip(chr(10))}\n\n{block}\n" if text.strip() else f"{block}\n"


def before_first_bracket(text: str, block: str) -> str:
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.lstrip().startswith("[")), None)
    if first is None:
        return at_the_end(text, block)
    head, tail = "\n".join(lines[:first]).rstrip("\n"), "\n".join(lines[first:]).lstrip("\n")
    return f"{head}\n\n{block}\n\n{tail}" if head else f"{block}\n\n{tail}"


def _migrated(given: Given, place: Callable[[str, str], str]) -> Result:
    request = request_of(given)
    text = text_of(request).replace("\r\n", "\n").replace("\r", "\n")  # as Python reads text
    rest = stripped(text, plugins_known=request.params.get("plugins", "empty") != "unknown")
    return renamed(request, place(rest, section(servers(request))).encode(), mode=0o600)


def release_0_13(given: Given) -> Result:
    return _migrated(given, at_the_end)


def release_0_19(given: Given) -> Result:
    return _migrated(given, before_first_bracket)


def fixed(given: Given) -> Result:
    """Writes its keys at the root in dotted form, leaves everything of the user's, and sets no policy over the user's
    own."""
    request = request_of(given)
    more: dict[Path, Value] = {("default_permissions",): PROFILE}
    for name, server in servers(request).items():
        more |= _paths(("mcp_servers", name), server)
    wanted = PolicyRequest(sandbox="", network=None, owner="hermes-agent", more=more, conflicts="refuse")
    return put(request, wanted, before=_section_taken_back)


def _section_taken_back(content: bytes) -> bytes:
    """Removes what 0.13 or 0.19 wrote, if it is unchanged from its first line to its last."""
    text = content.decode("utf-8", "surrogateescape")
    own = re.compile(
        rf"\n{{0,2}}^{re.escape(BEGIN)}\n\ndefault_permissions = [^\n]*\n\n"
        rf"(?:\[mcp_servers\.[^\n]*\n(?:(?![\[#])[^\n]+\n)*)*\n{re.escape(END)}\n*",
        re.MULTILINE,
    )
    return own.sub(lambda found: "\n" if found.start() else "", text).encode("utf-8", "surrogateescape")


def _paths(at: Path, values: Mapping[str, Any]) -> dict[Path, Value]:
    found: dict[Path, Value] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= _paths((*at, key), value)
        else:
            found[*at, key] = tuple(value) if isinstance(value, list) else value
    return found


def _key(name: str) -> str:
    """Leaves a name bare if Python counts all its characters as letters or digits. TOML permits fewer letters."""
    return name if name.replace("-", "").replace("_", "").isalnum() else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_ESCAPED.get(char, char) for char in value) + '"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, list) else repr(value)
