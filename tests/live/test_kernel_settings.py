"""What is said of the kernel's settings in the real Codex is what a person's own shell finds there."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_codexsandbox.doors.sandbox_cli import SandboxDoor
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.guest.confinement import settings
from pytest_codexsandbox.harness.trial_runner import run_promises
from pytest_codexsandbox.harness.worker_resources import WorkerOptions
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.policy import POLICIES, READ_ONLY
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.releases.resolve import resolve
from pytest_codexsandbox.system import process
from tests.fakes.machine import installed_codex, local_environment

ID = "process.kernel-settings-out-of-reach"
SETTING = "/proc/sys/kernel/core_pattern"
TYPED = ("sh", "-c", ': >> "$1"', "sh", SETTING)
APART = ("unshare", "--mount", "sh", "-c")
SHUT = "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && "
OPEN_OUTSIDE = settings([SETTING]) == "writable"


def _may_mount(home: Path) -> bool:
    if not shutil.which("unshare"):
        return False
    env = {"PATH": os.environ["PATH"]}
    ended = process.run(Command(argv=(*APART, f"{SHUT} :"), cwd=str(home), env=env, timeout=120))
    return ended.ended == "exit" and ended.code == 0


def _opens(codex: Subject) -> bool:
    """By a shell in the sandbox. In the harness's environment: calls of Codex that share /tmp disturb each other."""
    with local_environment() as machine:
        (seen,) = SandboxDoor().observe(machine, codex, POLICIES[READ_ONLY], {}, Call(argv=TYPED, timeout=120))
    assert seen.ended == "exit", seen
    assert (seen.code == 0) is not ("core_pattern" in seen.stderr), seen  # the shell names what it cannot open
    return seen.code == 0


def _records(codex: Subject, folder: Path) -> Sequence[Record]:
    pairs = [pair for pair in promises(data_folder("scenarios")) if pair[0].id in (ID, "start.sandbox-is-on")]
    options = WorkerOptions(folder=folder / "worlds", cache=folder / "cache")
    found = run_promises(pairs, (READ_ONLY,), codex, environment=this_machine(), options=options, door="sandbox")
    start = [record for key, record in found.items() if key.promise != ID]
    assert [record.verdict for record in start] == [Verdict.CONFORMS], start
    return [record for key, record in found.items() if key.promise == ID]


def test_a_shell_in_the_sandbox_finds_the_same(folder: Path) -> None:
    """The same open by another program than the probe."""
    codex = installed_codex(folder / "cache")
    opened = _opens(codex)
    (record,) = _records(codex, folder)
    if not OPEN_OUTSIDE:
        assert not opened
        assert record.verdict is Verdict.NOT_APPLICABLE, record
    else:
        expected = (Verdict.VIOLATES, "leak") if opened else (Verdict.CONFORMS, "")
        assert (record.verdict, record.direction) == expected, record


@pytest.mark.skipif(not OPEN_OUTSIDE, reason="nobody may change a setting of this kernel, so there is nothing to shut")
def test_settings_closed_for_codex_alone_conform(folder: Path) -> None:
    """The real Codex and the kernel's own refusal, beside a control that can open them: this promise can be green."""
    if not _may_mount(folder):
        pytest.skip("who runs these tests may not mount anything")
    codex, wrapper = installed_codex(folder / "cache").binary, folder / "wrapper"
    wrapper.write_text(f'#!/bin/sh\nexec {" ".join(APART)} \'{SHUT} exec "$@"\' sh {codex} "$@"\n')
    wrapper.chmod(0o755)
    spec = SubjectSpec(label="shut", path=str(wrapper), as_version="0.163.0", source="path")
    (record,) = _records(resolve(spec, cache=folder / "cache"), folder)
    assert (record.verdict, record.direction) == (Verdict.CONFORMS, ""), record
    assert "core-pattern" in " ".join(row.act for row in record.evidence)
    assert all("EROFS" in row.saw for row in record.evidence), record.evidence
