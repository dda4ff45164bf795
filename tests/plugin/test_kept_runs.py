"""`--codex-keep-runs N`: older runs are removed after a run, and never the last one."""

import shutil

import pytest

from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
SHORT = "--codex-only=process.exit-code-kept"


def test_older_runs_are_removed_and_the_screen_says_so(matrix: Matrix) -> None:
    first = matrix.run(SHORT)
    assert first.code == 0, first.out
    old = first.reports[0].parent
    reports = matrix.root / "reports"
    for year in ("2024", "2025"):
        copy = reports / f"{year}-01-01T00-00-00"
        shutil.copytree(old, copy)
        (copy / "journal.ndjson").write_text(
            (copy / "journal.ndjson").read_text().replace(f'"id":"{old.name}"', f'"id":"{copy.name}"', 1)
        )
    (reports / "notes").mkdir()
    again = matrix.run(SHORT, "--codex-keep-runs=2", f"--codex-report-dir={reports}")
    assert again.code == 0, again.out
    assert "removed 1 older run (" in again.out
    left = sorted(path.name for path in reports.iterdir())
    assert len(left) == 3 and left[0] == "2025-01-01T00-00-00" and left[-1] == "notes", left
    ini = f"[pytest]\ncodex_keep_runs = 1\ncodex_report_dir = {reports}\n"
    last = matrix.run(SHORT, "-n1", files={"pytest.ini": ini}, plugins=("xdist",))
    assert last.code == 0, last.out
    assert "removed 2 older runs (" in last.out
    (run, notes) = sorted(reports.iterdir())
    assert notes.name == "notes" and run.name > left[1] and (run / "journal.ndjson").exists()


def test_every_run_stays_where_nothing_is_said(matrix: Matrix) -> None:
    reports = matrix.root / "reports"
    for _ in range(2):
        run = matrix.run(SHORT, f"--codex-report-dir={reports}")
        assert run.code == 0 and "older run" not in run.out, run.out
    assert len(list(reports.glob("2*"))) == 2
