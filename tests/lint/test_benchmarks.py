"""Benchmarks: the journal that `benchmarks.report` measures with is one that a run could have written."""

import json
from pathlib import Path

import pytest

from benchmarks import report
from pytest_codexsandbox import cli
from pytest_codexsandbox.harness import replay


def test_the_report_benchmark_measures_a_complete_and_consistent_journal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = report.write(tmp_path, copies=2)
    journal = replay.read(path)
    assert (journal.run.schema, journal.contradicted, journal.not_rejudged) == (2, (), ())
    target = tmp_path / "report.json"
    code = cli.main(["report", str(path), "--format", "json", "-o", str(target)])
    assert (code, capsys.readouterr().err) == (0, "")
    counts = json.loads(target.read_text(encoding="utf-8"))["counts"]
    assert sum(counts.values()) == len(journal.records) == 120
    assert {"conforms": 30, "violates": 10}.items() <= counts.items()
