"""Benchmarks: the journal that `benchmarks.report` measures with is one that a run could have written."""

import json
from pathlib import Path

import pytest

from benchmarks import report
from pytest_codexsandbox import cli


def test_the_report_benchmark_measures_a_complete_and_consistent_journal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = report.write(tmp_path, cells=2, promises=60)
    target = tmp_path / "report.json"
    code = cli.main(["report", str(journal), "--format", "json", "-o", str(target)])
    assert (code, capsys.readouterr().err) == (0, "")
    assert {"conforms": 118, "violates": 2}.items() <= json.loads(target.read_text(encoding="utf-8"))["counts"].items()
