"""`codexsandbox plan`, a dry run and the run itself have one plan: the same keys in the same order, one digest."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.releases.installed_package import find
from tests.plugin.conftest import Matrix
from tests.plugin.test_feasibility import BOTH

pytestmark = pytest.mark.live
XDIST = ("xdist.plugin",)
SHORT = "--codex-only=process.*,sqlite.*"
LOCAL = """
environments = ["local"]
releases = ["installed"]
policies = ["workspace-write"]
"""
PRINTER = """
from pytest_codexsandbox.matrix.plan import digest
from pytest_codexsandbox.pytest_plugin.run import get_run


def pytest_collection_finish(session):
    print("digest of the dry run:", digest(get_run(session.config).plan))
"""
ANOTHER = """
import msgspec


def pytest_codexsandbox_cells(config, cells):
    print("a plugin that talks")
    other = msgspec.structs.replace(cells[0].subject, label="b")
    cells.insert(0, msgspec.structs.replace(cells[0], subject=other))
"""


def planned(matrix: Matrix, folder: Path, *words: str, env: dict[str, str]) -> dict[str, Any]:
    done = matrix.codexsandbox("plan", *words, "--json", folder=folder, env=env)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("preset", "words", "workers", "files", "env", "cells"),
    [
        ("local", (SHORT,), (), {}, {}, 1),
        ("local", (SHORT,), ("-n2",), {}, {}, 1),
        ("local", ("--codex-only=start.*,filesystem.workspace-read-only",), (), {}, {}, 1),
        ("local", ("--codex-only=generator.parses", "--codex-generator=good"), (), {}, {}, 1),
        ("local", ("--codex-only=generator.parses", "--codex-generator=good"), ("-n2",), {}, {}, 1),
        ("local", (SHORT,), (), {"conftest.py": ANOTHER}, {}, 2),
        ("local", (SHORT,), ("-n2",), {"theirs.py": ANOTHER}, {"PYTEST_PLUGINS": "theirs"}, 2),
        ("both.toml", (SHORT,), (), {"both.toml": BOTH}, {"DOCKER_HOST": "unix:///nonexistent.sock"}, 1),
        ("local", (), ("-n2",), {"pytest.ini": "[pytest]\ncodex_only = process.*,sqlite.*\n"}, {}, 1),
        ("local", (), (), {}, {"PYTEST_ADDOPTS": SHORT}, 1),
    ],
    ids=[
        "local",
        "workers",
        "named-start",
        "generator",
        "generator-workers",
        "conftest",
        "plugin",
        "no-engine",
        "ini",
        "variable",
    ],
)
def test_one_plan(
    matrix: Matrix,
    preset: str,
    words: tuple[str, ...],
    workers: tuple[str, ...],
    files: dict[str, str],
    env: dict[str, str],
    cells: int,
) -> None:
    assert len(agreed(matrix, preset, words, workers, files, env)) == cells


def test_one_plan_where_workers_share_a_budget(matrix: Matrix) -> None:
    """Two cells take about 40 s: 30 s of two workers hold both."""
    codex = find()
    assert codex is not None
    words = (SHORT, "--codex-budget=30s", *(f"--codex-bin={name}={codex.binary}" for name in ("one", "two")))
    files = {"mine.toml": LOCAL}
    assert len(agreed(matrix, "mine.toml", words, ("-n2",), files, {})) == 2
    assert len(planned(matrix, matrix.prepare(files), "mine.toml", *words, env={})["cells"]) == 1


def agreed(
    matrix: Matrix,
    preset: str,
    words: tuple[str, ...],
    workers: tuple[str, ...],
    files: dict[str, str],
    env: dict[str, str],
) -> list[str]:
    """Returns the cells of the one plan."""
    files, env = files | {"printer.py": PRINTER}, env | {"PYTHONPATH": "."}
    asked = (f"--codex-matrix={preset}", *words, *workers)
    run = matrix.run(*asked, files=files, env=env, plugins=XDIST, matrix=False)
    dry = matrix.run(*asked, "--collect-only", files=files, env=env, plugins=(*XDIST, "printer"), matrix=False)
    shown = planned(matrix, dry.folder, preset, *words, *workers, env=env)
    told = run.journal.plan
    assert [(key.cell, key.door, key.policy, key.promise, key.case) for key in told.keys] == [
        (key["cell"], key["door"], key["policy"], key["promise"], key["case"]) for key in shown["keys"]
    ]
    assert shown["digest"] == told.digest
    assert told.digest in dry.out
    assert [one["id"] for one in shown["cells"]] == [one.id for one in told.cells]
    return [one.id for one in told.cells]
