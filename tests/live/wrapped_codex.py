"""Wrapped Codex: the records of promises about the installed Codex behind a wrapper, which is a script of a test."""

import sys
from collections.abc import Callable

from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.harness.trial_runner import run_promises
from pytest_codexsandbox.harness.worker_resources import WorkerOptions
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.releases.resolve import resolve
from tests.fakes.machine import installed_codex, run_folder


def records_behind(wrapping: str, chosen: Callable[[Promise], bool], **words: str) -> dict[Key, Record]:
    """Returns the records of the chosen promises; those that share a call are asked first. The script is given a path
    `mark`, where nothing is, and a folder `copy`."""
    with run_folder() as folder:
        wrapper, mark, copy = folder / "wrapper", folder / "mark", folder / "copy"
        copy.mkdir()
        codex = installed_codex(folder / "cache").binary
        wrapper.write_text(wrapping.format(python=sys.executable, codex=codex, mark=str(mark), copy=str(copy), **words))
        wrapper.chmod(0o755)
        spec = SubjectSpec(label="wrapped", path=str(wrapper), as_version="0.163.0", source="path")
        pairs = [pair for pair in promises(data_folder("scenarios")) if chosen(pair[0])]
        return run_promises(
            sorted(pairs, key=lambda pair: pair[0].call is not None),
            (WORKSPACE_WRITE,),
            resolve(spec, cache=folder / "cache"),
            environment=this_machine(),
            door="sandbox",
            options=WorkerOptions(folder=folder / "worlds", cache=folder / "cache"),
        )
