"""NousResearch/hermes-agent#26203: a worker under Codex whose last step is a row in its board's database.

pytest --codex-matrix=incident-hermes docs/explanation/incidents/board_worker.py
"""

import sys

import pytest

from pytest_codexsandbox.model.act import Given

WORKER = """
import sqlite3, sys
print("the work is done")
with sqlite3.connect(sys.argv[1]) as board:
    board.execute("INSERT INTO t VALUES ('closed')")
"""
OWN, OTHER = "@ROOT0@/kanban.db", "@SIBLING@/kanban.db"


def close(codex_sandbox, board):
    return codex_sandbox.run(
        sys.executable,
        "-c",
        WORKER,
        board,
        given=[Given(kind="sqlite-wal", path=board)],
        looks=[f"{board}#rows"],
    )


@pytest.mark.codex(policies=("workspace-write-roots",))
def test_a_worker_closes_its_task(codex_sandbox):
    seen = close(codex_sandbox, OWN)
    assert "closed" in codex_sandbox.look(seen, f"{OWN}#rows").text, seen.stderr.strip().rpartition("\n")[2]
    assert seen.code == 0


@pytest.mark.codex(policies=("workspace-write-roots",))
def test_a_worker_reaches_no_other_board(codex_sandbox):
    seen = close(codex_sandbox, OTHER)
    assert "closed" not in codex_sandbox.look(seen, f"{OTHER}#rows").text
    assert seen.stdout == "the work is done\n"
    assert seen.stderr.endswith("unable to open database file\n"), seen.stderr
