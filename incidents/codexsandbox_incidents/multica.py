"""multica's daemon: a configuration for each task, with its own blocks in a copy of the user's file.

The requested policy differs by release and platform. On macOS a sandbox cannot have the network (openai/codex#10390),
so the daemon gives up the sandbox there. From v0.4.16 on it does so everywhere but on a Windows with its own sandbox.
Source: multica-ai/multica#1246 and docs/codex-sandbox-troubleshooting.md there.
"""

import re
import tomllib
from pathlib import Path
from typing import Final, Literal

import msgspec

from codexsandbox_incidents.file_writing import Given, Result, bytes_of, put
from codexsandbox_incidents.multica_blocks import (
    agents_block,
    memory_blocks,
    sandbox_block,
    shell_block,
    taken_back,
    upsert,
)
from pytest_codexsandbox.config_writer import PolicyRequest, request_of
from pytest_codexsandbox.model.generator import Mode, Request

DARWIN_FIXED: Final = ""  # the release of Codex from which macOS permits the network; none is known
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_HINT: Final = {
    "darwin": "upgrade Codex CLI (e.g. `brew upgrade codex` or `npm i -g @openai/codex`)",
    "linux": "run the daemon inside a VM or a container",
}
_XDG: Final = {
    "XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state", "npm_config_cache": ".npm",
}  # fmt: skip
_NATIVE: Final = ("elevated", "unelevated")
_ARGUMENT: Final = re.compile(r"(?:^|\s)(?:-c|--config)(?:[ =])\s*windows\.sandbox=(\S+)")


def windows_state(text: str, args: str) -> Literal["absent", "native", "undecidable"]:
    """Returns the more careful state of file and arguments: undecidable before native, native before absent."""
    states = (_state(_in_file(text)), _state(_in_arguments(args)))
    return "undecidable" if "undecidable" in states else "native" if "native" in states else "absent"


def _in_file(text: str) -> object:
    """Returns the setting in the file; None if there is none. Python's own parser reads TOML 1.0, as Go's does."""
    try:
        windows = tomllib.loads(text).get("windows", {})
    except (tomllib.TOMLDecodeError, UnicodeError):
        return "unreadable"
    return windows.get("sandbox") if isinstance(windows, dict) else windows


def _in_arguments(args: str) -> object:
    found = _ARGUMENT.findall(args)
    return found[-1].strip("\"'") if found else None


def _state(value: object) -> Literal["absent", "native", "undecidable"]:
    return "absent" if value in (None, "") else "native" if value in _NATIVE else "undecidable"


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    mode: Mode
    roots: tuple[str, ...] = ()
    env: dict[str, str] = {}


def version_of(text: str) -> tuple[int, ...] | None:
    """Returns the first three numbers in a text; None if there are none, which counts as a broken release."""
    found = _VERSION.search(text)
    return tuple(map(int, found.groups())) if found else None


def policy_0_2_5(request: Request) -> Policy:
    if request.platform != "darwin":
        return Policy(mode="workspace-write")
    fixed, version = version_of(request.params.get("darwin_fixed", DARWIN_FIXED)), version_of(request.version)
    return Policy(mode="workspace-write" if fixed and version and version >= fixed else "danger-full-access")


def policy_0_4_3(request: Request) -> Policy:
    """Makes a home of the task's own writable, and moves everything there that tools keep at home."""
    policy = policy_0_2_5(request)
    if policy.mode != "workspace-write" or request.platform == "windows":
        return policy
    home = task_home(request)
    env = {"HOME": home, **{name: f"{home}/{folder}" for name, folder in _XDG.items()}}
    return Policy(mode=policy.mode, roots=(home,), env=env)


def policy_0_4_16(request: Request) -> Policy:
    """Turns the sandbox off: by product decision, the operator confines tasks. A Windows that has a sandbox, or may
    have one, keeps it."""
    if request.platform == "windows" and windows_state(_bytes(request), request.params.get("args", "")) != "absent":
        return Policy(mode="workspace-write")
    return Policy(mode="danger-full-access")


def task_home(request: Request) -> str:
    return f"{request.home}/.multica/home"


def legacy_text(text: str) -> str:
    """Writes as up to v0.2.4: searches for words anywhere in the file."""
    header, network = "[sandbox_workspace_write]", "network_access"
    if header in text and network in text:
        return text
    if header in text:
        return text.replace(header, f"{header}\nnetwork_access = true", 1)
    mode = "" if "sandbox_mode" in text else 'sandbox_mode = "workspace-write"\n'
    return f"{text}\n{mode}\n{header}\nnetwork_access = true\n"


def legacy(given: Given) -> Result:
    request = request_of(given)
    return _in_place(request, legacy_text(_bytes(request)))


def release_0_2_5(given: Given) -> Result:
    request = request_of(given)
    policy = policy_0_2_5(request)
    text = upsert(_bytes(request), sandbox_block(policy.mode), newlines="\n?")
    return {**_in_place(request, text), "warnings": _warnings(request, policy)}


def release_0_4_3(given: Given) -> Result:
    request = request_of(given)
    policy = policy_0_4_3(request)
    for root in policy.roots:
        Path(root).mkdir(mode=0o700, parents=True, exist_ok=True)
    text = upsert(_bytes(request), sandbox_block(policy.mode, policy.roots))
    text = memory_blocks(agents_block(text))
    return {**_in_place(request, text), "env": policy.env, "warnings": _warnings(request, policy)}


def release_0_4_16(given: Given) -> Result:
    """Validates the last block and refuses a file that it cannot read, when the earlier blocks are already written."""
    request = request_of(given)
    policy = policy_0_4_16(request)
    text = memory_blocks(agents_block(upsert(_bytes(request), sandbox_block(policy.mode))))
    try:
        complete = shell_block(text)
    except ValueError as problem:
        _in_place(request, text)
        return {"refused": True, "reason": f"the task is given up: {problem}"}
    return {**_in_place(request, complete), "warnings": _warnings(request, policy)}


def fixed(given: Given) -> Result:
    """Writes the policy of v0.2.5 in one block that is found again after any change, and loses nothing of the
    user's."""
    request = request_of(given)
    policy = policy_0_2_5(request)
    network = True if policy.mode == "workspace-write" else None
    wanted = PolicyRequest(sandbox=policy.mode, network=network, owner="multica")
    told = put(request, wanted, before=taken_back)
    return {**told, "warnings": [*told.get("warnings", ()), *_warnings(request, policy)]}


def _bytes(request: Request) -> str:
    """Returns the file's text with all bytes preserved, as in Go's strings."""
    path = Path(request.config)
    return path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""


def _in_place(request: Request, text: str) -> Result:
    content = text.encode("utf-8", "surrogateescape")
    path = Path(request.config)
    return {} if path.exists() and path.read_bytes() == content else bytes_of(request, content)


def _warnings(request: Request, policy: Policy) -> list[str]:
    if policy.mode != "danger-full-access":
        return []
    hint = _HINT.get(request.platform, "")
    return [f"codex sandbox: falling back to danger-full-access on {request.platform}{hint and '; hint: ' + hint}"]
