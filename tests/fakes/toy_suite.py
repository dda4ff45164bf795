"""Toy suite: promises about Codex's version, as a third party writes them, with a fixture, door and policy of its own.

It imports nothing of the tests: `install` copies it into a folder of its own, beside the metadata of a package.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import NotApplicable
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence, Record
from pytest_codexsandbox.model.suite_traits import SuiteTraits
from pytest_codexsandbox.suite_protocols import Side, Suite, SuiteRun, SuiteRunner, SuiteScope, SuiteTrial

DOOR: Final = "version"
POLICY: Final = "as-printed"
_SHORT: Final = "short"


class VersionTrial(SuiteTrial):
    """Runs `codex --version`, in this environment and by its short name."""

    def __init__(self, key: Key, promise: Promise, run: SuiteRun) -> None:
        super().__init__(key, promise)
        self._run = run

    def prints(self, word: str) -> None:
        """Codex prints `word`. Control: another program of the environment prints a line too."""
        flag = "-V" if self.case == _SHORT else "--version"
        cell = self._run.cell(self.key)
        control = self._call("echo", "control", control=True)
        seen = self._call(self._run.subject(cell).binary, flag)
        self.seen += (seen,)
        self.rows.append(
            Evidence(
                claim=f"`codex {flag}` prints {word!r}",
                act="",
                nonce=seen.id,
                call=seen.id,
                control=control.stdout.strip(),
                control_held=control.stdout == "control\n",
                saw=seen.stdout.strip(),
                held=word in seen.stdout,
                reason="" if word in seen.stdout else "another-version",
                direction="" if word in seen.stdout else "wrong-claim",
            )
        )

    def _call(self, *argv: str, control: bool = False) -> Observation:
        command = Command(argv=argv, cwd="/", env={"PATH": "/usr/bin:/bin"}, why="the version")
        return self._run.call(self.key, command, control=control)


class VersionRunner(SuiteRunner[VersionTrial]):
    def __init__(self, run: SuiteRun) -> None:
        self._run = run

    def open_trial(self, key: Key) -> VersionTrial:
        promise = self._run.promise(key)
        if promise.id == "version.is-signed":
            raise NotApplicable("no release signs its version")
        return VersionTrial(key, promise, self._run)

    def repro(self, trial: VersionTrial, record: Record) -> str:
        return f"#!/bin/sh\n# {record.key}\nexec {' '.join(trial.seen[0].argv)}\n"


class VersionSuite(Suite[VersionTrial]):
    traits = SuiteTraits(
        name="version",
        title="what Codex says of itself",
        policies=(POLICY,),
        cases_alone=True,
        names_door=False,
        names_faults=True,
        consequences=("version.is-long",),
    )
    fixture = "version_trial"
    doors = (DOOR,)

    def folder(self) -> Path:
        return Path(__file__).parent / "version_scenarios"

    def sides(self, scope: SuiteScope, cell: Cell) -> Sequence[Side]:
        return ((DOOR, POLICY),)

    def cases(self, scope: SuiteScope, promise: Promise, cell: Cell) -> Sequence[str]:
        return ("long", _SHORT) if promise.id == "version.is-printed" else ("",)

    def ruled_out(self, scope: SuiteScope, key: Key, promise: Promise, cell: Cell) -> str:
        return "nobody reads it aloud" if promise.id == "version.is-heard" else ""

    def open(self, run: SuiteRun) -> VersionRunner:
        return VersionRunner(run)
