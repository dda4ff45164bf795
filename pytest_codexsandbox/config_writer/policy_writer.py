"""Policy writer: writes a policy into a file, as a Python call and as a generator."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
import tomli

from pytest_codexsandbox.config_writer.atomic_write import refused, rewrite, where
from pytest_codexsandbox.config_writer.conflicts import project_obstacle
from pytest_codexsandbox.config_writer.edit_plan import PlannedEdit, plan
from pytest_codexsandbox.config_writer.request import PolicyRequest, Refusal, Refused, impossible
from pytest_codexsandbox.model.generator import Mode, Request


class AppliedPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The result: the policy is in the file."""

    path: str  # the file itself, behind all links
    changed: bool  # False: it was there already, and nothing was written
    replaced: tuple[str, ...] = ()  # keys for which the user had set another value
    set_aside: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def apply(
    config_path: str | os.PathLike[str],
    *,
    roots: Iterable[str | os.PathLike[str]] = (),
    network: bool | None = False,
    sandbox: Mode = "workspace-write",
    approval: str | None = None,
    owner: str = "codexsandbox",
    workspace: str | os.PathLike[str] | None = None,
    home: str | os.PathLike[str] | None = None,
    conflicts: Literal["replace", "refuse"] = "replace",
    take_over: bool = False,
    platform: str = sys.platform,
    patience: float = 10.0,
) -> AppliedPolicy:
    """Writes a policy into Codex's config.toml and leaves everything else in the file unchanged.

    Raises Refused, and changes no byte, if the policy would not be in force afterwards, or if the change would lose
    something. `workspace`: its own `.codex/config.toml` is checked too. `home`: no root may contain it.
    """
    path = where(config_path)
    given = tuple(os.fspath(root) for root in roots)
    guarded = _guarded(config_path, home or Path.home())
    wanted = PolicyRequest(
        sandbox=sandbox,
        roots=given,
        network=network,
        approval=approval or "",
        owner=owner,
        guarded=guarded,
        conflicts=conflicts,
        take_over=take_over,
        platform=platform,
    )
    _beforehand(wanted, path)
    done: list[PlannedEdit] = []
    warnings: list[str] = []

    def change(content: bytes | None) -> bytes | None:
        planned = plan(content, wanted)
        if isinstance(planned, Refusal):
            raise refused(planned, path)
        warnings[:] = of_project(planned.content, workspace, path)
        done[:] = [planned]
        return planned.content if planned.changed else None

    changed = rewrite(path, change, patience=patience)
    return AppliedPolicy(
        path=str(path),
        changed=changed,
        replaced=done[0].replaced,
        set_aside=done[0].set_aside,
        warnings=tuple(warnings),
    )


def generate(request: Request | Mapping[str, Any]) -> dict[str, Any]:
    """Does the same as a generator: takes a request of the harness and returns a result."""
    parsed = request_of(request)
    refusal = _cannot_start(parsed)
    if refusal:
        return {"refused": True, "reason": refusal}
    try:
        done = apply(
            parsed.config,
            roots=parsed.roots,
            network=parsed.network,
            approval=parsed.approval,
            workspace=parsed.workspace,
            home=parsed.home,
            platform=parsed.platform,
            owner=parsed.params.get("owner", "codexsandbox"),
            sandbox=parsed.params.get("sandbox", "workspace-write"),  # type: ignore[arg-type]  # `plan` looks at it
            take_over=parsed.params.get("take_over") == "yes",
        )
    except Refused as problem:
        return {"refused": True, "reason": str(problem)}
    return {"files": [parsed.config] if done.changed else [], "warnings": list(done.warnings)}


def request_of(given: Request | Mapping[str, Any]) -> Request:
    return given if isinstance(given, Request) else msgspec.convert(dict(given), Request)


def _cannot_start(parsed: Request) -> str:
    """Returns why Codex cannot start a sandbox on this machine; "" if it can. Such a policy is refused unless the
    request asks for danger-full-access."""
    if parsed.params.get("sandbox") == "danger-full-access":
        return ""
    needed = ("userns", "uid_map", "seccomp", *(() if parsed.network else ("netns",)))
    missing = [name for name in needed if not parsed.capabilities.get(name, True)]
    return f"Codex cannot start a sandbox here: this machine lacks {', '.join(missing)}" if missing else ""


def _guarded(config: str | os.PathLike[str], home: str | os.PathLike[str]) -> tuple[str, ...]:
    folders = (Path(home).absolute(), Path(config).expanduser().absolute().parent)
    return tuple(dict.fromkeys(str(folder) for given in folders for folder in (given, Path(os.path.realpath(given)))))


def _beforehand(wanted: PolicyRequest, path: Path) -> None:
    """Raises Refused before a folder is created or locked. A root that links to the home counts as the home."""
    refusal = impossible(wanted)
    if refusal is None:
        behind = tuple(os.path.realpath(root) for root in wanted.roots)
        refusal = impossible(msgspec.structs.replace(wanted, roots=behind))
    if refusal:
        raise refused(refusal, path)


def of_project(content: bytes, workspace: str | os.PathLike[str] | None, path: Path) -> list[str]:
    """Returns warnings. Raises Refused if a project that the user trusts sets the same keys."""
    user = tomli.loads(content.decode().removeprefix("\ufeff"))
    warnings = []
    for folder, project in _projects(workspace, path):
        said, now = project_obstacle(user, project, folder)
        if said and now:
            why = "the user trusts this project, and a project's own file comes after the user's"
            raise refused(Refusal(what=said, why=why, next_step="remove it there"), path)
        if said:
            warnings.append(f"{said}: in force as soon as the user trusts the project")
    return warnings


def _projects(workspace: str | os.PathLike[str] | None, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the settings of the workspace's own file, and of those in the folders above it."""
    if workspace is None:
        return
    folder = Path(os.path.realpath(workspace))
    for here in (folder, *folder.parents):
        file = here / ".codex" / "config.toml"
        if os.path.realpath(file) == str(path):
            continue
        with contextlib.suppress(OSError, UnicodeDecodeError, tomli.TOMLDecodeError):  # Codex does not read it either
            if file.is_file():
                yield str(here), tomli.loads(file.read_bytes().decode().removeprefix("\ufeff"))
