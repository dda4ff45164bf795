"""npm: finds where npm has a release, through the user's own npm, else through the configured registry.

Since 0.99 the Linux programs are in `@openai/codex@V-linux-x64`; before, one package held all platforms.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.releases.artefact import Artefact, Run, last_line
from pytest_codexsandbox.releases.npmrc import Registry
from pytest_codexsandbox.releases.platform_tag import Platform
from pytest_codexsandbox.system import environ
from pytest_codexsandbox.system.download import Hash, NotReached, NotThere, read_json

PACKAGE: Final = "@openai/codex"
PATIENCE: Final = 90.0
NO_WAY: Final = "install npm, set npm_config_registry, or use --codex-bin"


def find(
    release: str,
    platform: Platform,
    *,
    run: Run,
    npm: Callable[[], str] | None = None,
    registry: Callable[[], Registry | None] | None = None,
) -> Artefact:
    """Returns address and hash of the archive. Raises Unavailable if there is none, NotReached without an answer."""
    program = (npm or command)()
    configured = (registry or Registry.configured)()
    versions = (f"{release}-{platform.npm}", release)
    if program:
        dist = _asked(program, versions, run) or _asked_anew(program, versions, run)
    elif configured is not None:
        dist = _read(configured, versions)
    else:
        raise Unavailable(
            f"Codex {release} is published on npm, but neither npm nor its registry can be queried here",
            next_step=NO_WAY,
        )
    if not dist:
        raise NotThere(f"npm has no Codex {release} for {platform.npm}", next_step="npm view @openai/codex versions")
    return _artefact(release, dist, configured)


def command() -> str:
    return shutil.which("npm") or ""


def _asked(program: str, versions: tuple[str, ...], run: Run, **changed: str) -> dict[str, Any]:
    for version in versions:
        done = run(_question(program, version, changed))
        if done.ended == "timeout":
            raise NotReached(f"npm did not answer within {PATIENCE:.0f} s", why=last_line(done.stderr))
        found = _understood(done)
        if found:
            return found
    return {}


def _asked_anew(program: str, versions: tuple[str, ...], run: Run) -> dict[str, Any]:
    """Asks npm with an empty cache. npm answers from its cache when the registry does not answer, so an absence is
    checked afresh."""
    with TemporaryDirectory(prefix="codexsandbox-npm-", ignore_cleanup_errors=True) as kept:
        return _asked(program, versions, run, npm_config_cache=kept)


def _question(program: str, version: str, changed: Mapping[str, str]) -> Command:
    return Command(
        argv=(program, "view", "--json", "--fetch-retries=0", "--fetch-timeout=30000", f"{PACKAGE}@{version}", "dist"),
        cwd=str(Path.cwd()),
        env={**environ.copied(), "npm_config_update_notifier": "false", **changed},
        timeout=PATIENCE,
        why="npm, asked for a package's address",
    )


def _understood(done: CommandResult) -> dict[str, Any]:
    """Returns `dist` of the package; {} when npm says that there is none. Raises an error for everything else."""
    try:
        answer = json.loads(done.stdout or b"{}")
    except ValueError:
        answer = {"error": {"code": "?", "summary": last_line(done.stdout)}}
    answer = answer[0] if isinstance(answer, list) and answer else answer
    if not isinstance(answer, dict):
        return {}
    if done.ended == "exit" and done.code == 0 and "error" not in answer:
        return answer
    problem = answer.get("error") or {}
    if " - GET http" in str(problem.get("summary")) and problem.get("code") == "E404":
        raise Unavailable(
            f"npm's registry has no {PACKAGE} at all",
            why=last_line(str(problem["summary"]).encode()),
            next_step="see: npm config get registry",
        )
    if problem.get("code") in ("E404", "ETARGET"):
        return {}
    why = str(problem.get("summary") or last_line(done.stderr) or done.error)
    if problem.get("code") in ("E401", "E403", "ENEEDAUTH"):
        raise Unavailable("the npm registry requires a login", why=why, next_step="npm login")
    raise NotReached("npm could not be queried", why=last_line(why.encode()), next_step="try: npm view @openai/codex")


def _read(registry: Registry, versions: tuple[str, ...]) -> dict[str, Any]:
    """Reads the registry's own list without npm, in the short form that npm itself asks for."""
    headers = {"Accept": "application/vnd.npm.install-v1+json, application/json;q=0.8", **registry.login()}
    url = f"{registry.url}/{quote(PACKAGE, safe='@')}"
    try:
        answer = read_json(url, headers=headers)
    except NotThere as problem:
        raise Unavailable(f"npm's registry has no {PACKAGE} at all", where=problem.where, why=problem.why) from problem
    known = answer.get("versions") if isinstance(answer, dict) else None
    known = known if isinstance(known, dict) else {}
    for version in versions:
        dist = (known[version] or {}).get("dist") if version in known else None
        if isinstance(dist, dict):
            return dist
    return {}


def _artefact(release: str, dist: dict[str, Any], registry: Registry | None) -> Artefact:
    url, expected = str(dist.get("tarball", "")), Hash.of_integrity(str(dist.get("integrity") or ""))
    if not expected.algorithm and dist.get("shasum"):
        expected = Hash(algorithm="sha1", digest=str(dist["shasum"]))
    if not url or not expected.algorithm:
        raise Unavailable(
            f"npm reports no address or no hash for Codex {release}",
            why=f"it reported {', '.join(sorted(dist)) or 'nothing'}",
        )
    headers = registry.login(url) if registry else {}
    return Artefact(release=release, source="npm", form="tgz", url=url, expected=expected, headers=headers)
