"""Granted policy: what a configuration grants, read as the newest Codex reads it: mode, writable roots, network.

Only the files are read here. `effective_policy` compares what the real Codex says about them.
The latest layer with a mode or `default_permissions` decides. Within one layer, the permissions decide.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.cli_overrides import Words, given, merged, words
from pytest_codexsandbox.generators.checks.codex_toml import read
from pytest_codexsandbox.model.generator import ExpectedPolicy, Files, GeneratorRun, Mode

_BUILT_IN: Final[Mapping[str, Mode]] = {
    ":read-only": "read-only",
    ":workspace": "workspace-write",
    ":danger-full-access": "danger-full-access",
    ":danger-no-sandbox": "danger-full-access",
}
_MODES: Final[tuple[Mode, ...]] = ("read-only", "workspace-write", "danger-full-access")
_FOLDERS: Final = {":root": "/", ":workspace_roots": ".", ":project_roots": "."}  # folders in a profile
_DEPTH: Final = 8  # longest chain of profiles that extend each other
SPEAKS: Final = ("sandbox_mode", "sandbox_workspace_write", "default_permissions", "permissions", "profile")


class Grants(msgspec.Struct, frozen=True, kw_only=True):
    mode: Mode = "read-only"
    roots: tuple[str, ...] = ()  # as written in the file
    network: bool = False
    by: str = ""  # the key that decides; "": Codex's own default
    layer: str = ""  # the layer that contains it


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    data: dict[str, Any]


def layers(files: Files, run: GeneratorRun | None, world: Mapping[str, str]) -> tuple[Layer, ...]:
    """Returns the layers in order: the user's file, a trusted project's, a chosen profile's, the arguments. Later ones
    win."""
    user = read(case_view.config(files, dict(world)).content).data
    found = [Layer(name="file", data=user)]
    project = files.get("@WORKSPACE@/.codex/config.toml")
    if project is not None and _trusted(user, world):
        found.append(Layer(name="project", data=read(project.content).data))
    asked = words(given(run)) if run is not None else Words()
    if asked.profile:
        found.append(Layer(name="profile", data=chosen(files, asked)))
    if run is not None:
        found.append(Layer(name="arguments", data=_with_folders(asked, found)))
    return tuple(found)


def chosen(files: Files, asked: Words) -> dict[str, Any]:
    """Returns the content of the profile file that the arguments name."""
    profile = files.get(f"@CODEX_HOME@/{asked.profile}.config.toml") if asked.profile else None
    return {} if profile is None else read(profile.content).data


def _with_folders(asked: Words, below: Sequence[Layer]) -> dict[str, Any]:
    if not asked.folders:
        return asked.layer
    under: dict[str, Any] = {}
    for one in (*below, Layer(name="arguments", data=asked.layer)):
        under = merged(under, one.data)
    roots = [*_strings(_at(under, "sandbox_workspace_write", "writable_roots")), *asked.folders]
    return merged(asked.layer, {"sandbox_workspace_write": {"writable_roots": roots}})


def _trusted(user: Mapping[str, Any], world: Mapping[str, str]) -> bool:
    return bool(_at(user, "projects", world.get("WORKSPACE", ""), "trust_level") == "trusted")


def granted(found: Sequence[Layer], world: Mapping[str, str]) -> Grants:
    whole: dict[str, Any] = {}
    for layer in found:
        whole = merged(whole, layer.data)
    for layer in reversed(found):
        if "default_permissions" in layer.data:
            return _permitted(str(layer.data["default_permissions"]), whole, layer.name)
        if "sandbox_mode" in layer.data:
            return _by_mode(layer.data["sandbox_mode"], whole, layer.name)
    mode: Mode = "workspace-write" if _trusted(whole, world) else "read-only"
    return msgspec.structs.replace(_by_mode(mode, whole, ""), by="")


def as_kept(expect: ExpectedPolicy, before: Sequence[Layer], world: Mapping[str, str]) -> ExpectedPolicy:
    """Returns the request. For parts that the generator leaves alone, it takes what the user's files grant in that
    mode."""
    own = granted(before, world)
    mode = own.mode if "sandbox" in expect.kept else expect.sandbox
    there = own if own.mode == mode else granted((*before, Layer(name="", data={"sandbox_mode": mode})), world)
    waits = "sandbox" in expect.kept and mode != "workspace-write"  # then roots and network have no effect
    return msgspec.structs.replace(
        expect,
        sandbox=mode,
        roots=there.roots if waits or "roots" in expect.kept else expect.roots,
        network=there.network if waits or "network" in expect.kept else expect.network,
    )


def said(found: Sequence[Layer]) -> Grants:
    """Returns the roots and the network that the user has granted by any key, in force or not."""
    whole: dict[str, Any] = {}
    for layer in found:
        whole = merged(whole, layer.data)
    table, profiles = whole.get("sandbox_workspace_write"), whole.get("permissions")
    permitted = [_permitted(name, whole, "") for name in (profiles if isinstance(profiles, dict) else ())]
    now = granted(found, {})
    return Grants(
        roots=(*_strings(_at(table, "writable_roots")), *(root for one in permitted for root in one.roots)),
        network=now.network or _at(table, "network_access") is True or any(one.network for one in permitted),
    )


def _by_mode(mode: Any, whole: Mapping[str, Any], layer: str) -> Grants:
    known: Mode = mode if mode in _MODES else ""
    if known != "workspace-write":
        return Grants(mode=known, network=known == "danger-full-access", by="sandbox_mode", layer=layer)
    table = whole.get("sandbox_workspace_write")
    return Grants(
        mode=known,
        roots=_strings(_at(table, "writable_roots")),
        network=_at(table, "network_access") is True,
        by="sandbox_mode",
        layer=layer,
    )


def _permitted(name: str, whole: Mapping[str, Any], layer: str) -> Grants:
    roots: tuple[str, ...] = ()
    network: bool | None = None
    for _ in range(_DEPTH):
        if name.startswith(":"):
            mode = _BUILT_IN.get(name, "")
            free = mode == "danger-full-access"
            return Grants(mode=mode, roots=roots, network=free or bool(network), by="default_permissions", layer=layer)
        profile = _at(whole, "permissions", name)
        roots += tuple(_writable(_at(profile, "filesystem")))
        said = _at(profile, "network", "enabled")
        network = said if network is None and isinstance(said, bool) else network
        name = str(_at(profile, "extends") or ":read-only")
    return Grants(mode="", roots=roots, network=bool(network), by="default_permissions", layer=layer)


def _writable(paths: Any) -> Iterator[str]:
    """Yields the writable folders. A value is an access, or a table of the paths below (`.` is the folder itself).
    Other names that begin with a colon mean places for temporary files, or nothing."""
    for path, how in paths.items() if isinstance(paths, Mapping) else ():
        top = _FOLDERS.get(path, "" if path.startswith(":") else path)
        for below, access in how.items() if isinstance(how, Mapping) else ((".", how),):
            if top and access == "write":
                yield top if below == "." else posixpath.join(top, below)


def _at(data: Any, *keys: str) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def place(root: str, world: Mapping[str, str]) -> str:
    """Returns the folder that Codex makes of a root. A relative one starts at the workspace, `~` is the home."""
    home, workspace = world.get("HOME", "/"), world.get("WORKSPACE", "/")
    expanded = home + root[1:] if root == "~" or root.startswith("~/") else root
    return posixpath.normpath(posixpath.join(workspace, expanded)) if expanded else workspace
