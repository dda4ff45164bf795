"""Cells that are picked, trimmed to a time, or cannot be had: the same in every process, and said."""

import re
import signal
import socket
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.journal.store import read
from pytest_codexsandbox.model.journal_lines import EndLine, Spent
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.releases.installed_package import find
from tests import needs
from tests.plugin.conftest import LIMIT, Done, Matrix

pytestmark = pytest.mark.live
XDIST = ("xdist.plugin",)
SHORT = "--codex-only=process.exit-code-kept"
PICKED = """
releases = ["0.136.0", "0.155.0", "0.169.0"]
policies = ["workspace-write"]
[containers]
distros = ["debian-bookworm", "debian-trixie", "debian-sid"]
bwraps = ["distro", "none"]
users = ["root", "u1000", "u1000-nopasswd"]
pairs = 2
"""
# Gives an engine an hour: whoever is interrupted waits for it, however slow the machine is.
PATIENT = """
from pytest_codexsandbox.environments.container.provision import availability_queries
availability_queries.LIMIT = availability_queries.NEAR = 3600.0
availability_queries.silent_engines.__kwdefaults__["limit"] = 3600.0
"""
# An engine that goes away between the plan and the run: the cells are planned.
GOES_AWAY = """
from pytest_codexsandbox.environments.container import planned_availability
planned_availability.silent_engines = lambda hosts: {}
"""
NOWHERE = """
environments = ["local"]
releases = ["installed"]
policies = ["workspace-write"]
[containers]
distros = ["nowhere"]
"""


def newest(run: Done) -> ReadJournal:
    return read(run.reports[-1])


def earlier(run: str, *, slow: str) -> dict[str, str]:
    """A run of before, in which `slow` took an hour for each call."""
    spent = tuple(
        Spent(cell=f"x~codex-{label}", environment="x", subject=label, calls=1, seconds=3600 if label == slow else 0.01)
        for label in ("before", "after")
    )
    end = EndLine(finished="", exit=0, reasons=(), counts={}, cells=spent)
    return {f".codexsandbox/{run}/journal.ndjson": msgspec.json.encode(end).decode() + "\n"}


@pytest.mark.parametrize("words", [(), ("-n2",)])
def test_a_budget_leaves_out_the_cells_that_took_long_before(matrix: Matrix, words: tuple[str, ...]) -> None:
    found = find()
    assert found is not None
    run = matrix.run(
        SHORT,
        f"--codex-bin=before={found.binary}",
        f"--codex-bin=after={found.binary}",
        "--codex-budget=5m",
        *words,
        files=earlier("2020-01-01T00-00-00", slow="before"),
        plugins=XDIST,
    )
    assert run.code == 0, run.out
    journal = newest(run)
    assert {cell.subject for cell in journal.plan.cells} == {"after"}
    gone = [one for one in journal.plan.not_planned if one.kind == "budget"]
    assert [one.what.rpartition("~")[2] for one in gone] == ["codex-before"]
    assert re.search(r"not planned, .*--codex-budget 5m: ", run.out)
    assert journal.end is not None
    (spent,) = journal.end.cells
    calls = [call for call in journal.calls if not call.control]
    assert (spent.subject, spent.calls) == ("after", len(calls))
    assert spent.seconds > 0


def test_a_budget_without_room_is_an_error_and_not_an_empty_run(matrix: Matrix) -> None:
    run = matrix.run(SHORT, "--codex-budget=1s", files=earlier("2020-01-01T00-00-00", slow="after"))
    assert run.code == 4, run.out
    assert "--codex-budget" in run.out and "single cell" in run.out


@needs.npm()  # PICKED names releases that npm alone has
def test_cells_are_collected_without_an_engine_and_alike_everywhere(matrix: Matrix) -> None:
    nobody = {"DOCKER_HOST": "unix:///nonexistent.sock"}
    files = {"mine.toml": PICKED, "goes_away.py": GOES_AWAY}
    shown = matrix.run("--codex-matrix=mine.toml", "--collect-only", "-q", SHORT, files=files, env=nobody, matrix=False)
    assert shown.code == 0, shown.out
    assert not shown.reports
    cells = set(re.findall(r"\[(debian-\S+?~codex-[\d.]+)-sandbox", shown.out))
    assert 9 <= len(cells) < 3 * 2 * 3 * 3 / 2
    alone, two = (
        matrix.run(
            "--codex-matrix=mine.toml",
            SHORT,
            *words,
            files=files,
            env=nobody,
            matrix=False,
            plugins=(*XDIST, "goes_away"),
        )
        for words in ((), ("-n2",))
    )
    for run in (alone, two):
        assert run.code in (10, 11), run.out
        assert {cell.id for cell in run.journal.plan.cells} == cells
        assert "values: 0 of " in run.out  # planned, and nothing was measured
    assert alone.journal.plan == two.journal.plan


def test_an_interrupt_while_a_plan_waits_for_an_engine_ends_the_wait(matrix: Matrix, tmp_path: Path) -> None:
    """pytest ends its collection all the same: it asks nobody a second time."""
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(tmp_path / "s"))
        engine.listen()
        engine.settimeout(LIMIT)
        env = {"DOCKER_HOST": f"unix://{tmp_path / 's'}"}
        files = {"mine.toml": PICKED, "patient.py": PATIENT}
        started = matrix.start("--codex-matrix=mine.toml", SHORT, files=files, plugins=("patient",), env=env)
        asking, _ = engine.accept()
        started.send(signal.SIGINT)
        run = started.end()
        asking.close()
        assert run.code == 2, run.out
        assert not run.reports
        engine.settimeout(0)
        with pytest.raises(BlockingIOError):
            engine.accept()


@needs.engine()
@pytest.mark.parametrize(("words", "code"), [((), 0), (("--codex-strict",), 1)])
def test_an_unavailable_cell_is_named_and_is_no_success(matrix: Matrix, words: tuple[str, ...], code: int) -> None:
    files = {"mine.toml": NOWHERE, "distros/nowhere.toml": 'family = "debian"\n'}
    run = matrix.run("--codex-matrix=mine.toml", SHORT, *words, files=files, matrix=False)
    assert run.code == code, run.out
    shown = " ".join(run.out.split())
    assert ": nowhere: " in shown
    assert [(one.what, one.kind) for one in run.journal.plan.not_planned if one.kind] == [("nowhere", "unavailable")]
    assert not any("nowhere" in cell.id for cell in run.journal.plan.cells)
    if words:
        assert re.search(r"strict: [a-z ]+: nowhere", shown)


@needs.engine()
def test_without_any_available_cell_the_run_is_an_error_with_the_reason(matrix: Matrix) -> None:
    text = NOWHERE.replace('environments = ["local"]', "")
    files = {"mine.toml": text, "distros/nowhere.toml": 'family = "debian"\n'}
    run = matrix.run("--codex-matrix=mine.toml", files=files, matrix=False)
    assert run.code == 4, run.out
    assert run.out.count("ERROR: ") == 1
    assert "nowhere: " in run.out


def test_a_path_of_ones_own_and_containers_go_together(matrix: Matrix, tmp_path: Path) -> None:
    """A user's test is collected for each cell that was picked."""
    mine = "def test_mine(codex_sandbox):\n    assert codex_sandbox.run('true').code == 0\n"
    files = {"mine.toml": PICKED, "test_mine.py": mine}
    nobody = {"DOCKER_HOST": "unix:///nonexistent.sock"}
    words = ("--codex-matrix=mine.toml", "--collect-only", "-q", "test_mine.py")
    shown = matrix.run(*words, files=files, env=nobody, matrix=False)
    assert shown.code == 0, shown.out
    assert len(re.findall(r"test_mine\[debian-", shown.out)) >= 9
