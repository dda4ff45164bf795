"""PyPI: asks the user's own pip where the wheel of a release is: its indexes, mirrors, proxies and find-links apply."""

import json
import os
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
from pytest_codexsandbox.system import pip
from pytest_codexsandbox.system.download import Hash, NotReached

PATIENCE: Final = 90.0


def find(release: str, platform: Platform, *, run: Run) -> Artefact:
    """Returns address and hash of the wheel. Raises Unavailable when no index has it, NotReached when no index
    answered."""
    with TemporaryDirectory(prefix="codexsandbox-pip-", ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "log"
        done = run(_question(release, platform, log))
        if done.ended == "timeout":
            raise NotReached(
                f"pip did not answer within {PATIENCE:.0f} s", why=last_line(done.stderr), next_step=by_hand()
            )
        if done.code != 0 or done.ended != "exit":
            raise refusal(wheel_version(release), done.stderr or done.error.encode(), pip.beginning(log))
    return _artefact(release, done.stdout)


def _question(release: str, platform: Platform, log: Path) -> Command:
    dry = ("--dry-run", "--no-deps", "--ignore-installed", "--timeout", "20", "--target", f"{os.devnull}/none")
    options = ("--report", "-", "--log", str(log), *(word for tag in platform.wheels for word in ("--platform", tag)))
    wanted, why = f"{PACKAGE}=={wheel_version(release)}", "pip, asked for a wheel's address"
    return pip.command("install", *dry, *options, wanted, cwd=Path.cwd(), patience=PATIENCE, why=why)


def _artefact(release: str, report: bytes) -> Artefact:
    try:
        info: dict[str, Any] = json.loads(report)["install"][0]["download_info"]
        url, archive = str(info["url"]), info.get("archive_info") or {}
    except (ValueError, LookupError, TypeError) as problem:
        raise Unavailable(
            "pip's report cannot be parsed", why=repr(problem), next_step="pip install -U pip"
        ) from problem
    digest = (archive.get("hashes") or {}).get("sha256") or str(archive.get("hash", "")).removeprefix("sha256=")
    expected = Hash(algorithm="sha256", digest=digest) if digest else Hash()
    return Artefact(release=release, source="pypi", form="wheel", url=url, expected=expected)
