"""npm: installs a package with its dependencies by the user's own npm, so its registry, proxy and login apply.

No script of any package runs. The hashes of the lock file decide if one is shipped, else those of the registry. The
cache and the logs of npm go to the staging folder, not to the user's.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion

from pytest_codexsandbox.errors import CodexSandboxError, InputError, Unavailable
from pytest_codexsandbox.generators.third_party.package import Package
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.releases.artefact import Run, last_line
from pytest_codexsandbox.releases.disk_space import full_disk
from pytest_codexsandbox.system import environ
from pytest_codexsandbox.system.download import NotReached, NotThere, wrong_bytes

PATIENCE: Final = 600.0
_NETWORK: Final = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ERR_SOCKET_TIMEOUT", "E5")
_LOGIN: Final = ("E401", "E403", "ENEEDAUTH")


def bring(package: Package, place: Path, aside: Path, *, lock: Path | None, run: Run) -> None:
    """Installs into `place`; npm's own files go to `aside`."""
    npm = _program("npm")
    wanted = {"private": True, "name": "brought", "version": "0.0.0", "dependencies": {package.name: package.version}}
    (place / "package.json").write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
    if lock is not None:
        shutil.copyfile(lock, place / "package-lock.json")
    done = run(_command(npm, "ci" if lock else "install", place, aside))
    if done.ended != "exit" or done.code != 0:
        raise _refused(package, done, place)


def commands(package: Package, folder: Path) -> dict[str, tuple[str, ...]]:
    """Returns program name → command that starts it."""
    home = folder / "node_modules" / package.name
    info = json.loads((home / "package.json").read_text(encoding="utf-8"))
    found = info.get("bin") or {}
    if isinstance(found, str):
        found = {package.name.rpartition("/")[2]: found}
    return {name: (node(), str(home / path)) for name, path in sorted(found.items())}


def node() -> str:
    return _program("node")


def check_node(versions: str, *, who: str, run: Run) -> None:
    """Raises Unavailable if the tool does not run with the Node.js of this machine."""
    try:
        wanted = SpecifierSet(versions)
    except InvalidSpecifier as problem:
        raise InputError(
            f"node = {versions!r} is not a range of versions", where=f"generator {who}", next_step='node = ">=20"'
        ) from problem
    asked = Command(
        argv=(node(), "--version"), cwd="/", env=environ.copied(), timeout=30.0, why="node, asked for its version"
    )
    info = run(asked).stdout.decode(errors="replace").strip().removeprefix("v")
    try:
        fits = wanted.contains(info, prereleases=True)
    except InvalidVersion:
        fits = False
    if not fits:
        raise Unavailable(
            f"{who} needs Node.js {versions}",
            why=f"{asked.argv[0]} is {info or 'unknown'}",
            next_step="put a newer one first on PATH",
        )


def _program(name: str) -> str:
    found = shutil.which(name)
    if not found:
        raise Unavailable(f"{name} cannot be found on PATH", next_step="install Node.js with its npm")
    return found


def _command(npm: str, verb: str, place: Path, aside: Path) -> Command:
    return Command(
        argv=(
            npm,
            verb,
            "--ignore-scripts",
            "--no-bin-links",
            "--omit=dev",
            "--no-audit",
            "--no-fund",
            "--json",
            "--install-strategy=hoisted",
            "--fetch-retries=1",
            "--fetch-timeout=30000",
            "--loglevel=error",
        ),
        cwd=str(place),
        env={**environ.copied(), **_kept_aside(aside)},
        timeout=PATIENCE,
        why="npm, installing a tool",
    )


def _kept_aside(aside: Path) -> Mapping[str, str]:
    return {
        "npm_config_cache": str(aside / "npm"),
        "npm_config_logs_max": "0",
        "npm_config_update_notifier": "false",
        "npm_config_global": "false",
        "npm_config_prefix": str(aside / "prefix"),
        "TMPDIR": str(aside),
        "NODE_COMPILE_CACHE": "",
    }


def _refused(package: Package, done: CommandResult, place: Path) -> CodexSandboxError:
    what = f"{package} cannot be installed from npm"
    if done.ended == "timeout":
        return NotReached(what, why=f"npm did not finish within {PATIENCE:.0f} s", next_step="try again")
    info = _told(done.stdout)
    code, summary = str(info.get("code") or ""), str(info.get("summary") or "")
    why = last_line((summary.splitlines() or [""])[0].encode()) or last_line(done.stderr) or done.error
    if code in ("E404", "ETARGET"):
        return NotThere(
            f"npm has no {package}, or one of its dependencies is missing", why=why, next_step=_see(package)
        )
    if code == "EINTEGRITY":
        return wrong_bytes("npm", why, instead="install from another registry")
    if code == "ENOSPC":
        return full_disk(place, f"it filled up while {package} was installed")
    if code in _LOGIN:
        return Unavailable(what, why=f"the registry requires a login: {why}", next_step="npm login")
    if code.startswith(_NETWORK):
        return NotReached(what, why=why, next_step=f"try again; by hand: {_see(package)}")
    return Unavailable(what, why=f"{code}: {why}" if code else why, next_step=_see(package))


def _told(stdout: bytes) -> dict[str, Any]:
    try:
        error = json.loads(stdout or b"{}").get("error")
    except (ValueError, AttributeError):
        return {}
    return error if isinstance(error, dict) else {}


def _see(package: Package) -> str:
    return f"npm view {package.name}@{package.version}"
