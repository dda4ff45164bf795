"""Ask the user's own pip where the wheel of a release is: its indexes, mirrors, proxies and find-links apply."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.releases.artefact import Artefact, Run, last_line
from pytest_codexsandbox.releases.installed_package import PACKAGE
from pytest_codexsandbox.releases.pip_errors import by_hand, refusal
from pytest_codexsandbox.releases.platform_tag import Platform
from pytest_codexsandbox.releases.version_names import wheel_version
from pytest_codexsandbox.system import environ
from pytest_codexsandbox.system.download import Hash, NotReached

PATIENCE: Final = 90.0


def find(release: str, platform: Platform, *, run: Run, pip: Callable[[], tuple[str, ...]] | None = None) -> Artefact:
    """Where the wheel is and what it hashes to. Unavailable when no index has it, NotReached when no index answered."""
    program = (pip or command)()
    if not program:
        raise Unavailable("PyPI cannot be queried: pip is not installed", next_step="python -m ensurepip")
    with TemporaryDirectory(prefix="codexsandbox-pip-", ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "log"
        done = run(_question(program, release, platform, log))
        if done.ended == "timeout":
            raise NotReached(
                f"pip did not answer within {PATIENCE:.0f} s", why=last_line(done.stderr), next_step=by_hand()
            )
        if done.code != 0 or done.ended != "exit":
            raise refusal(wheel_version(release), done.stderr or done.error.encode(), _beginning(log))
    return _artefact(release, done.stdout)


def command() -> tuple[str, ...]:
    """pip of this Python, else the first on PATH; () when there is none."""
    from importlib.util import find_spec

    if find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    found = shutil.which("pip3") or shutil.which("pip")
    return (found,) if found else ()


def _question(program: tuple[str, ...], release: str, platform: Platform, log: Path) -> Command:
    tags = tuple(word for tag in platform.wheels for word in ("--platform", tag))
    return Command(
        argv=(
            *program,
            "install",
            "--dry-run",
            "--no-deps",
            "--ignore-installed",
            "--quiet",
            "--no-input",
            "--disable-pip-version-check",
            "--retries",
            "1",
            "--timeout",
            "20",
            "--report",
            "-",
            "--only-binary",
            ":all:",
            "--log",
            str(log),
            *tags,
            "--target",
            f"{os.devnull}/none",
            f"{PACKAGE}=={wheel_version(release)}",
        ),
        cwd=str(Path.cwd()),
        env={**environ.copied(), "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_NO_COLOR": "1"},
        timeout=PATIENCE,
        why="pip, asked where a wheel is",
    )


def _beginning(log: Path) -> bytes:
    """Of what pip writes down beside what it says: which index it could not read, and why."""
    try:
        with log.open("rb") as file:
            return file.read(1 << 20)
    except OSError:
        return b""


def _artefact(release: str, report: bytes) -> Artefact:
    try:
        info: dict[str, Any] = json.loads(report)["install"][0]["download_info"]
        url, archive = str(info["url"]), info.get("archive_info") or {}
    except (ValueError, LookupError, TypeError) as problem:
        raise Unavailable(
            "pip's report is not understood", why=repr(problem), next_step="pip install -U pip"
        ) from problem
    digest = (archive.get("hashes") or {}).get("sha256") or str(archive.get("hash", "")).removeprefix("sha256=")
    expected = Hash(algorithm="sha256", digest=digest) if digest else Hash()
    return Artefact(release=release, source="pypi", form="wheel", url=url, expected=expected)
