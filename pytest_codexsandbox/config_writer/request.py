"""What shall be in force, and what is refused before any file is looked at."""

import os
import re
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.generator import Mode

Path = tuple[str, ...]
Value = str | bool | float | tuple[str, ...]
WORKSPACE: Final = "sandbox_workspace_write"
MODE: Final = ("sandbox_mode",)
APPROVAL: Final = ("approval_policy",)
NETWORK: Final = (WORKSPACE, "network_access")
ROOTS: Final = (WORKSPACE, "writable_roots")
OWNED: Final = (MODE, APPROVAL, NETWORK, ROOTS)
"""Every key that this may write, and no other."""
VOIDING: Final = ("default_permissions", "profile")
"""Root keys of the user's beside which a `sandbox_mode` says nothing."""

_APPROVALS: Final = ("untrusted", "on-request", "never")
_OWNER: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]*[A-Za-z0-9])?")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class PolicyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A policy and how it is to be put into a file that has a user's own words in it."""

    sandbox: Mode = "workspace-write"  # "": nothing is said about the sandbox
    roots: tuple[str, ...] = ()  # beside the workspace
    network: bool | None = False  # None: whatever the user says
    approval: str = ""
    owner: str = "codexsandbox"  # whose block it is
    conflicts: Literal["replace", "refuse"] = "replace"  # where the user says something else about the same keys
    take_over: bool = False  # whether to set aside what would void the policy; else that is refused
    guarded: tuple[str, ...] = ()  # folders that no root may hold: the home, $CODEX_HOME
    platform: str = "linux"
    more: dict[Path, Value] = {}  # other keys that belong into the same block


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing was done, every byte is as it was: why, and what to do about it."""

    what: str
    why: str = ""
    next_step: str = ""


class Refused(InputError):
    """`apply` declines. The file is as it was."""


def asked(wanted: PolicyRequest) -> dict[Path, Value]:
    """Key path → value, in the order in which they are written."""
    values: dict[Path, Value] = {MODE: wanted.sandbox} if wanted.sandbox else {}
    if wanted.approval:
        values[APPROVAL] = wanted.approval
    if wanted.sandbox == "workspace-write":
        if wanted.network is not None:
            values[NETWORK] = wanted.network
        values[ROOTS] = outermost(wanted.roots)
    return {**values, **wanted.more}


def owned(wanted: PolicyRequest) -> frozenset[Path]:
    """Every key that may stand in the block of this owner."""
    return frozenset((*OWNED, *wanted.more))


def impossible(wanted: PolicyRequest) -> Refusal | None:
    """Why nobody could keep this promise, whatever the file says."""
    if not _OWNER.fullmatch(wanted.owner):
        return Refusal(what=f"{wanted.owner!r} is no name for a block", next_step="letters, digits, `.`, `_`, `-`")
    if wanted.approval and wanted.approval not in _APPROVALS:
        return Refusal(what=f"approval {wanted.approval!r} is not known", next_step=f"one of {', '.join(_APPROVALS)}")
    return _contradiction(wanted) or next(filter(None, (_root(root, wanted.guarded) for root in wanted.roots)), None)


def _contradiction(wanted: PolicyRequest) -> Refusal | None:
    if wanted.sandbox not in ("", "read-only", "workspace-write", "danger-full-access"):
        return Refusal(what=f"sandbox {wanted.sandbox!r} is not known")
    if wanted.sandbox != "workspace-write" and wanted.roots:
        return Refusal(what=f"{wanted.sandbox} has no writable roots", next_step="ask for workspace-write")
    if wanted.sandbox == "read-only" and wanted.network:
        return Refusal(what="read-only has no network", next_step="ask for workspace-write")
    if wanted.platform not in ("linux", "wsl", "darwin"):
        return Refusal(what=f"what Codex enforces on {wanted.platform!r} was never measured")
    if wanted.platform == "darwin" and wanted.network and wanted.sandbox == "workspace-write":
        return Refusal(
            what="the network cannot be given on macOS",
            why="Codex's Seatbelt profile ignores network_access: https://github.com/openai/codex/issues/10390",
            next_step="ask for no network, or, where something else confines Codex, for danger-full-access",
        )
    return None


def _root(root: str, guarded: tuple[str, ...]) -> Refusal | None:
    """A root is an absolute folder that can be written down, and no folder that holds everything."""
    if not root.startswith("/") or "\0" in root:
        return Refusal(what=f"the root {root!r} is not an absolute path", why="Codex would take it from its own folder")
    try:
        root.encode()
    except UnicodeEncodeError:
        return Refusal(what=f"the root {root!r} is not UTF-8", why="no TOML file can say it")
    plain = "/" + os.path.normpath(root).lstrip("/")
    held = next((folder for folder in ("/", *guarded) if _holds(plain, folder)), None)
    if held is None:
        return None
    return Refusal(
        what=f"the root {root!r} is too much: it holds {held}",
        why="whoever may write there may change what starts Codex, and its policy",
        next_step="grant the one folder that the work needs",
    )


def _holds(outer: str, folder: str) -> bool:
    held = "/" + os.path.normpath(folder).lstrip("/")
    return outer == held or held.startswith(outer.rstrip("/") + "/")


def as_toml(value: Value) -> str:
    """On one line, every character escaped that has to be."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return f'"{"".join(_escaped(char) for char in value)}"'
    return f"[{', '.join(as_toml(item) for item in value)}]"


def as_key(path: Path) -> str:
    """Dotted, each word in quotes where it needs them."""
    return ".".join(word if _BARE.fullmatch(word) else as_toml(word) for word in path)


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return f"\\u{ord(char):04X}" if ord(char) < 0x20 or ord(char) == 0x7F else char


def outermost(roots: Iterable[str]) -> tuple[str, ...]:
    """Without what lies in another one: it says nothing more, and from 0.131 on Codex runs no command at all where a
    root that is not there lies in another."""
    kept = tuple(dict.fromkeys(roots))
    return tuple(root for root in kept if not any(_lies_in(root, other) for other in kept))


def _lies_in(root: str, other: str) -> bool:
    one, folder = os.path.normpath(root), os.path.normpath(other)
    return one != folder and one.startswith(f"{folder.rstrip('/')}/")
