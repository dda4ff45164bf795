"""Commands that really start a sandbox."""

import json
from pathlib import Path

import pytest

from benchmarks.replay_floor import replayed
from pytest_codexsandbox.cli import main
from pytest_codexsandbox.commands.scratch_dir import workbench
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness.batteries import SHARED
from pytest_codexsandbox.harness.codex_resolver import CodexResolver
from pytest_codexsandbox.harness.event_sink import JournalEvents
from pytest_codexsandbox.harness.observation_cache import open_observations
from pytest_codexsandbox.harness.request_parts import RequestParts
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.harness.worker_resources import WorkerOptions
from pytest_codexsandbox.journal.store import JournalWriter
from pytest_codexsandbox.matrix.plan import digest, make
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.journal_lines import CallLine, CellRow, PlanLine, RunLine
from pytest_codexsandbox.model.policy import NETWORK, READ_ONLY
from pytest_codexsandbox.registry import cache_folder, data_folder, doors


def test_the_doctor_starts_a_sandbox_under_two_policies_and_says_what_it_saw(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["doctor", "--offline", "--json"])
    shown = json.loads(capsys.readouterr().out)
    started = {one["what"].split(", ")[1]: one for one in shown["findings"] if one["what"].startswith("sandbox, ")}
    assert set(started) == {"read-only", "workspace-write"}
    assert code == (0 if all(one["answer"] == "yes" for one in started.values()) else 1)
    assert all(one["why"] and (one["answer"] == "yes" or one["fix"]) for one in started.values())


def test_the_doctor_names_what_is_wrong_with_a_binary_that_is_no_codex(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    assert main(["doctor", "--offline", "--codex-bin", str(program), "--json"]) == 1
    findings = {one["what"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["Codex"]["answer"] == "no"
    assert findings["Codex"]["why"]


def test_recorded_calls_run_again_in_fresh_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What HTTP reaches in the second run is the second world's server: ports in the plan were changed too."""
    calls = recorded(tmp_path)
    floor = replayed(tmp_path, 2)
    # `recorded` writes no end. Where /tmp is shared, a line about whom it waited for may come before.
    assert [line for line in capsys.readouterr().err.splitlines() if ": INCOMPLETE" in line]
    assert (floor.calls, floor.codex_calls) == (len(calls), sum(not call.control for call in calls))
    assert len(floor.rounds) == 2
    assert floor.median >= floor.codex_median > 0


def recorded(folder: Path) -> list[CallLine]:
    """A journal of two batteries and their control."""
    (subject,) = RequestParts(RunRequest(releases=("installed",))).subjects
    cell = Cell(environment=this_machine(), subject=subject)
    chosen = [promise for promise, _ in promises(data_folder("scenarios")) if promise.topic == "network"]
    plan = make("local", (cell,), chosen, doors=(doors()["sandbox"],), policies=(READ_ONLY, NETWORK))
    journal = JournalWriter.open(folder, RunLine(id="r", started="2026-11-18T09:41:00Z"))
    row = CellRow(id=cell.id, environment=cell.environment.id, subject=cell.subject.label, axes=cell.axes)
    journal.write(PlanLine(digest=digest(plan), cells=(row,), promises=(), keys=plan.keys))
    events = JournalEvents()
    with workbench("test") as worlds:
        options = WorkerOptions(folder=worlds, cache=cache_folder())
        resolver = CodexResolver(cache_folder())
        with open_observations(plan, options, resolver=resolver, events=events) as cache:
            for policy in (READ_ONLY, NETWORK):
                cache.observations(cell, "sandbox", policy, SHARED)
            cache.control(cell, SHARED)
    lines = [line for line in events.pending.lines if isinstance(line, CallLine)]
    for line in lines:
        journal.write(line)
    journal.close()
    return lines


def test_a_journal_without_calls_has_no_floor(tmp_path: Path) -> None:
    journal = JournalWriter.open(tmp_path, RunLine(id="r", started="2026-11-18T09:41:00Z"))
    journal.write(PlanLine(digest="d", cells=(), promises=(), keys=()))
    journal.close()
    with pytest.raises(InputError, match="nothing to replay"):
        replayed(tmp_path, 1)
