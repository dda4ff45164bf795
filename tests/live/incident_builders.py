"""Runs a matrix that is shipped for an incident, as a user does, and sorts what came of it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.journal.store import read
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.resolve import resolve
from pytest_codexsandbox.system.progress import Progress
from tests import needs
from tests.fakes.machine import run_folder
from tests.lint.tracked import ROOT

LIMIT: Final = 300.0
TESTS: Final = ROOT / "docs" / "explanation" / "incidents"


class Asked(NamedTuple):
    generator: str  # "" for the cell without one
    promise: str  # of a user's own test: its name
    case: str = ""
    policy: str = ""  # of a promise about generators: ""
    release: str = ""


class Happened(NamedTuple):
    code: int
    out: str
    records: dict[Asked, Record]

    def verdicts(self, **wanted: str) -> dict[Asked, str]:
        """Of what has these words: `generator="molecule-77"`."""
        return {
            asked: record.verdict.value
            for asked, record in self.records.items()
            if all(getattr(asked, name) == word for name, word in wanted.items())
        }

    def fingerprint(self, asked: Asked) -> str:
        diagnosis = self.records[asked].diagnosis
        return diagnosis.fingerprint if diagnosis else ""

    def said(self, asked: Asked) -> str:
        """All that its evidence says was seen."""
        return "\n".join(row.saw for row in self.records[asked].evidence)


def run(*words: str, test: str = "") -> Happened:
    """`test`: one of those that lie beside the page about incidents."""
    with run_folder() as folder:
        if test:
            shutil.copy(TESTS / test, folder / test)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words, *([test] if test else [])]
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "CODEXSANDBOX_CACHE": str(cache_folder())},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
            check=False,
        )
        out = done.stdout.decode(errors="replace")
        journals = sorted(folder.glob(".codexsandbox/*/journal.ndjson"))
        assert len(journals) == 1, out
        return Happened(done.returncode, out, _records(journals[0]))


def _records(path: Path) -> dict[Asked, Record]:
    journal = read(path)
    axes: dict[str, Mapping[str, str]] = {cell.id: cell.axes for cell in journal.plan.cells}
    titles = {row.id: row.title for row in journal.plan.promises}
    return {
        Asked(
            generator=axes[key.cell].get("generator", ""),
            case=key.case,
            release=axes[key.cell]["codex"],
            promise=titles[key.promise] if key.promise.startswith("user.") else key.promise,
            policy="" if key.policy == "as-asked" else key.policy,
        ): record
        for key, record in journal.states().items()
    }


def have(release: str) -> None:
    """Brings a release of Codex. Skips the test, with the line that helps, where no registry can be asked."""
    try:
        resolve(SubjectSpec(label=release, release=release), cache=cache_folder(), progress=Progress())
    except CodexSandboxError as problem:
        needs.skip_unreachable(f"Codex {release}", problem)
        raise
