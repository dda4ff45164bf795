"""Claim parser: turns the answers of an app-server into a Claim. Pure.

A claim has the same words for every release, and placeholders for paths.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_codexsandbox.model.generator import Claim, Mode
from pytest_codexsandbox.model.world import World

MODES: Final[dict[str, Mode]] = {
    "readOnly": "read-only",
    "workspaceWrite": "workspace-write",
    "dangerFullAccess": "danger-full-access",
    "externalSandbox": "danger-full-access",
}
MEMORIES: Final = "@CODEX_HOME@/memories"
SAID: Final = ("sandbox", "approvalPolicy", "activePermissionProfile", "permissionProfile", "runtimeWorkspaceRoots")
PLACES: Final = ("WORKSPACE", "OUTSIDE", "ROOT0", "SIBLING", "CODEX_HOME", "HOME", "TMPDIR", "WORLD", "TMP", "SHM")
_WARNINGS: Final = ("configWarning", "deprecationNotice", "warning")
_OF_THE_MACHINE: Final = "Codex could not find bubblewrap on PATH"


def claim_of(
    read: Mapping[str, Any],
    started: Mapping[str, Any],
    notices: Sequence[Mapping[str, Any]],
    world: World,
    *,
    fresh: bool,
) -> Claim:
    """Returns the claim. `read`: the table of config/read; `started`: the answer to thread/start."""
    sandbox = started.get("sandbox") or {}
    mode = MODES.get(str(sandbox.get("type")), "")
    no_slash_tmp, no_tmpdir = bool(sandbox.get("excludeSlashTmp")), bool(sandbox.get("excludeTmpdirEnvVar"))
    named = [shown(world, str(root)) for root in sandbox.get("writableRoots") or ()]
    known = {"@WORKSPACE@", MEMORIES, *(() if no_slash_tmp else ("@TMP@",)), *(() if no_tmpdir else ("@TMPDIR@",))}
    profile = started.get("activePermissionProfile")
    raw = {key: started[key] for key in SAID if key in started}
    return Claim(
        loads=True,
        sandbox=mode,
        network=_network(mode, sandbox),
        roots=tuple(root for root in dict.fromkeys(named) if root not in known),
        own=tuple(root for root in dict.fromkeys(named) if root == MEMORIES),
        exclude_slash_tmp=no_slash_tmp,
        exclude_tmpdir=no_tmpdir,
        approval=_approval(started.get("approvalPolicy")),
        profile=str(profile.get("id", "")) if isinstance(profile, Mapping) else str(profile or ""),
        warnings=tuple(with_placeholders(world, text) for text in _warnings(notices)),
        config=dict(read),
        raw=raw,
        fresh=fresh,
    )


def shown(world: World, path: str) -> str:
    """Returns the path with the longest matching placeholder of the world; a path elsewhere is unchanged."""
    for name in sorted(PLACES, key=lambda name: len(world.values.get(name, "")), reverse=True):
        place = world.values.get(name, "")
        if place and (path == place or path.startswith(place.rstrip("/") + "/")):
            return f"@{name}@{path[len(place.rstrip('/')) :]}"
    return path


def with_placeholders(world: World, text: str) -> str:
    """Returns Codex's words, with placeholders for the world's folders."""
    for name in sorted(PLACES[:-2], key=lambda name: len(world.values.get(name, "")), reverse=True):
        text = text.replace(world.values[name], f"@{name}@") if world.values.get(name) else text
    return text


def _network(mode: Mode, sandbox: Mapping[str, Any]) -> bool | None:
    if mode == "danger-full-access":
        return True
    access = sandbox.get("networkAccess")
    return access if isinstance(access, bool) else None


def _approval(policy: Any) -> str:
    """Returns the approval policy as a word; for a table, its name."""
    return policy if isinstance(policy, str) else ", ".join(map(str, policy)) if isinstance(policy, Mapping) else ""


def _warnings(notices: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for notice in notices:
        params = notice.get("params")
        if notice.get("method") in _WARNINGS and isinstance(params, Mapping):
            text = " ".join(str(params[key]) for key in ("summary", "message", "details") if params.get(key))
            if not text.startswith(_OF_THE_MACHINE):
                yield text
