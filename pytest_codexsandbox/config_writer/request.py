"""Policy request: the policy to write, and what is refused without looking at any file."""

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
"""All keys that this writer may write."""
VOIDING: Final = ("default_permissions", "profile")
"""Root keys of the user's that make `sandbox_mode` ineffective."""

_APPROVALS: Final = ("untrusted", "on-request", "never")
_OWNER: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]*[A-Za-z0-9])?")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class PolicyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A policy, and how to write it into a file with the user's own settings."""

    sandbox: Mode = "workspace-write"  # "": the sandbox mode is not set
    roots: tuple[str, ...] = ()  # writable besides the workspace
    network: bool | None = False  # None: as the user has it
    approval: str = ""
    owner: str = "codexsandbox"  # the owner of the block
    conflicts: Literal["replace", "refuse"] = "replace"  # what to do if the user set the same keys to other values
    take_over: bool = False  # whether to set aside what would void the policy; if not, it is refused
    guarded: tuple[str, ...] = ()  # folders that no root may contain: the home, $CODEX_HOME
    platform: str = "linux"
    more: dict[Path, Value] = {}  # other keys for the same block


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A refusal: says why nothing was changed, and what the user can do. Every byte is as before."""

    what: str
    why: str = ""
    next_step: str = ""


class Refused(InputError):
    """Raised by `apply` for a refusal. The file is unchanged."""


def asked(wanted: PolicyRequest) -> dict[Path, Value]:
    """Returns key path → value, in the order of writing."""
    values: dict[Path, Value] = {MODE: wanted.sandbox} if wanted.sandbox else {}
    if wanted.approval:
        values[APPROVAL] = wanted.approval
    if wanted.sandbox == "workspace-write":
        if wanted.network is not None:
            values[NETWORK] = wanted.network
        values[ROOTS] = outermost(wanted.roots)
    return {**values, **wanted.more}


def owned(wanted: PolicyRequest) -> frozenset[Path]:
    """Returns every key that this owner's block may contain."""
    return frozenset((*OWNED, *wanted.more))


def impossible(wanted: PolicyRequest) -> Refusal | None:
    """Returns why this request cannot be met for any file; None if it can."""
    if not _OWNER.fullmatch(wanted.owner):
        return Refusal(
            what=f"{wanted.owner!r} is not a valid name of a block", next_step="letters, digits, `.`, `_`, `-`"
        )
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
        return Refusal(what=f"the sandbox of Codex on {wanted.platform!r} was never measured")
    if wanted.platform == "darwin" and wanted.network and wanted.sandbox == "workspace-write":
        return Refusal(
            what="the network cannot be granted on macOS",
            why="Codex's Seatbelt profile ignores network_access: https://github.com/openai/codex/issues/10390",
            next_step="ask for no network, or, where something else confines Codex, for danger-full-access",
        )
    return None


def _root(root: str, guarded: tuple[str, ...]) -> Refusal | None:
    """Refuses a root that is not absolute, that TOML cannot express, or that contains the home or the whole machine."""
    if not root.startswith("/") or "\0" in root:
        return Refusal(
            what=f"the root {root!r} is not an absolute path", why="Codex would resolve it from its own folder"
        )
    try:
        root.encode()
    except UnicodeEncodeError:
        return Refusal(what=f"the root {root!r} is not UTF-8", why="a TOML file cannot contain it")
    plain = "/" + os.path.normpath(root).lstrip("/")
    held = next((folder for folder in ("/", *guarded) if _holds(plain, folder)), None)
    if held is None:
        return None
    return Refusal(
        what=f"the root {root!r} is too wide: it contains {held}",
        why="a program that can write there can change Codex's start and its policy",
        next_step="grant the one folder that the work needs",
    )


def _holds(outer: str, folder: str) -> bool:
    held = "/" + os.path.normpath(folder).lstrip("/")
    return outer == held or held.startswith(outer.rstrip("/") + "/")


def as_toml(value: Value) -> str:
    """Returns the value in TOML on one line, with all needed escapes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return f'"{"".join(_escaped(char) for char in value)}"'
    return f"[{', '.join(as_toml(item) for item in value)}]"


def as_key(path: Path) -> str:
    """Returns a dotted key, each word quoted if necessary."""
    return ".".join(word if _BARE.fullmatch(word) else as_toml(word) for word in path)


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return f"\\u{ord(char):04X}" if ord(char) < 0x20 or ord(char) == 0x7F else char


def outermost(roots: Iterable[str]) -> tuple[str, ...]:
    """Drops roots inside other roots, because they grant nothing more. From 0.131 on, Codex runs no command at all if a
    missing root is inside another one."""
    kept = tuple(dict.fromkeys(roots))
    return tuple(root for root in kept if not any(_lies_in(root, other) for other in kept))


def _lies_in(root: str, other: str) -> bool:
    one, folder = os.path.normpath(root), os.path.normpath(other)
    return one != folder and one.startswith(f"{folder.rstrip('/')}/")
