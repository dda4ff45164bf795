"""Request and environment of a generator: the request as JSON, and all environment variables. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from pytest_codexsandbox.doors.support.call_settings import SEARCH_PATH
from pytest_codexsandbox.generators import placeholders
from pytest_codexsandbox.model.generator import Declaration, Intent, Request

_QUIET: Final = {
    "LANG": "C.UTF-8", "USER": "agent", "LOGNAME": "agent", "SHELL": "/bin/sh", "TERM": "dumb", "CI": "1",
    "NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1", "DO_NOT_TRACK": "1",
}  # fmt: skip
_XDG: Final = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
}


def request(intent: Intent, values: Mapping[str, str], declaration: Declaration, *, codex: str, run: int) -> Request:
    """Builds the request. `values`: of every placeholder. `codex`: the path by which the generator may call Codex."""
    return Request(
        platform=intent.platform,
        version=values["VERSION"],
        home=values["HOME"],
        codex_home=values["CODEX_HOME"],
        config=values["CONFIG"],
        workspace=values["WORKSPACE"],
        run=run,
        codex=codex,
        roots=placeholders.roots(intent, values),
        network=intent.network,
        approval=intent.approval,
        scope=declaration.scope,
        capabilities=intent.capabilities,
        params=intent.params,
    )


def environment(
    asked: Request, values: Mapping[str, str], declaration: Declaration, *, folders: Sequence[str]
) -> dict[str, str]:
    """Builds the whole environment from nothing. `folders`: put before the usual search path, the stub's first."""
    home = values["HOME"]
    return {
        **_QUIET,
        **{name: f"{home}/{path}" for name, path in _XDG.items()},
        "PATH": ":".join(dict.fromkeys((*folders, *SEARCH_PATH.split(":")))),
        "HOME": home,
        "CODEX_HOME": values["CODEX_HOME"],
        "TMPDIR": values["TMPDIR"],
        "CXG_REQUEST": values["REQUEST"],
        "CXG_RESULT": values["RESULT"],
        "CXG_PLATFORM": asked.platform,
        "CXG_CODEX_VERSION": asked.version,
        "CXG_WORKSPACE": asked.workspace,
        "CXG_WRITABLE_ROOTS": values["ROOTS_JSON"],
        "CXG_NETWORK": values["NETWORK"],
        **{name: placeholders.fill(text, values) for name, text in declaration.env.items()},
    }


def as_json(asked: Request) -> dict[str, Any]:
    answer: dict[str, Any] = msgspec.to_builtins(asked)
    return answer


def as_bytes(asked: Request) -> bytes:
    return json.dumps(as_json(asked), ensure_ascii=False, indent=2).encode("utf-8", "surrogateescape") + b"\n"
