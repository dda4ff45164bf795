"""A promise that lets Codex run no command: only where it names the reason, and runs the same command without it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.journal.record_checks import RecordChecks
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.promise import REFUSABLE
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.fakes.machine import installed_codex
from tests.plugin.conftest import Matrix

PROMISE = "protected.git-folder-behind-a-link"
WRAPPER = """#!/bin/sh
case " $* " in *" -- "*) {refuses}; esac
exec {codex} "$@"
"""
REFUSES = {
    "unnamed": "[ -L .git ] && { echo 'Error: it cannot start' >&2; exit 1; }",
    "without the link too": '[ -d real-git ] && { echo "Error: $PWD/.git is a link" >&2; exit 1; }',
    "always": "{ echo 'bwrap: No permissions to create new namespace' >&2; exit 1; }",
    "and is not confined": '[ -L .git ] && while [ "$1" != -- ]; do shift; done && shift && exec "$@"',
}


@pytest.fixture
def matrix(tmp_path: Path) -> Iterator[Matrix]:
    home = tmp_path / "home"
    home.mkdir()
    cache = Path(tempfile.mkdtemp(prefix="codexsandbox-refused-", dir="/var/tmp"))
    try:
        yield Matrix(root=tmp_path, home=home, cache=cache)
    finally:
        shutil.rmtree(cache, ignore_errors=True)


def measured(matrix: Matrix, *words: str) -> ReadJournal:
    return matrix.run("--codex-only", PROMISE, *words).journal


def said(journal: ReadJournal) -> dict[str, tuple[Verdict, str]]:
    return {key.promise: (record.verdict, record.direction) for key, record in journal.states().items()}


def test_a_codex_that_refuses_because_of_the_link_conforms(matrix: Matrix) -> None:
    journal = measured(matrix)
    assert said(journal)[PROMISE] == (Verdict.CONFORMS, "")
    (record,) = (record for key, record in journal.states().items() if key.promise == PROMISE)
    plain, refused = (one.observation for one in journal.calls if one.id in record.calls and not one.control)
    assert plain.ready and plain.finished and not refused.ready
    assert [*faults(journal, record, needs=REFUSABLE)] == []
    assert len([*faults(journal, record, needs="sandbox")]) == 1  # a call that ran nothing shows no sandbox


def faults(journal: ReadJournal, record: Record, *, needs: str) -> Iterator[str]:
    """Yields the contradictions of the record with a plan in which each promise needs this."""
    rows = tuple(msgspec.structs.replace(row, needs=needs) for row in journal.plan.promises)
    plan = msgspec.structs.replace(journal.plan, promises=rows)
    return RecordChecks(msgspec.structs.replace(journal, plan=plan)).faults(record)


@pytest.mark.parametrize(
    ("kind", "verdict", "direction"),
    [
        ("unnamed", Verdict.VIOLATES, "denied"),
        ("without the link too", Verdict.BROKEN, ""),
        ("always", Verdict.BLOCKED, ""),
        ("and is not confined", Verdict.VIOLATES, "leak"),
    ],
)
def test_another_reason_is_no_reason(
    matrix: Matrix, tmp_path: Path, kind: str, verdict: Verdict, direction: str
) -> None:
    codex = installed_codex(matrix.cache).binary
    wrapper = tmp_path / "codex"
    wrapper.write_text(WRAPPER.format(refuses=REFUSES[kind], codex=codex))
    wrapper.chmod(0o755)
    found = said(measured(matrix, "--codex-bin", f"wrapped={wrapper}@0.163.0"))
    assert found[PROMISE] == (verdict, direction)
