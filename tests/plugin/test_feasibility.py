"""A matrix of containers on a machine whose engine does not answer: one error, early, and nothing was downloaded."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.harness.feasibility import CONTAINERS
from tests.plugin.conftest import Done, Matrix

pytestmark = pytest.mark.live
XDIST = ("xdist.plugin",)
# Root without its capabilities is refused as an ordinary user is.
ORDINARY = """
import ctypes
header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
assert ctypes.CDLL(None, use_errno=True).capset(header, none) == 0
"""
BOTH = """
environments = ["local"]
releases = ["installed"]
policies = ["workspace-write"]
[containers]
distros = ["debian-bookworm"]
"""


@contextlib.contextmanager
def listening(folder: Path, *, mode: int) -> Iterator[str]:
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(folder / "s"))
        engine.listen()
        (folder / "s").chmod(mode)
        yield f"unix://{folder / 's'}"


def is_one_error(run: Done, cold: Path, why: str) -> None:
    assert run.code == 4, run.out
    assert run.out.count("ERROR: ") == 1
    assert "unix:///" in run.out
    assert why in run.out
    assert "DOCKER_HOST=" in run.out, "what to type next"
    assert run.reports == []
    assert not cold.exists() or not any(path.is_file() for path in cold.rglob("*")), "nothing was downloaded or asked"


@pytest.mark.parametrize("words", [(), ("-n2",)])
def test_without_an_engine_nothing_is_downloaded(matrix: Matrix, tmp_path: Path, words: tuple[str, ...]) -> None:
    env = {"DOCKER_HOST": "unix:///nonexistent.sock", "CODEXSANDBOX_CACHE": str(tmp_path / "cold")}
    run = matrix.run("--codex-matrix=pull-request", *words, env=env, plugins=XDIST, matrix=False)
    is_one_error(run, tmp_path / "cold", "No such file or directory")


@pytest.mark.parametrize("words", [(), ("-n2",)])
def test_without_rights_on_the_engine_nothing_is_downloaded(
    matrix: Matrix, tmp_path: Path, words: tuple[str, ...]
) -> None:
    with listening(tmp_path, mode=0) as host:
        env = {"DOCKER_HOST": host, "CODEXSANDBOX_CACHE": str(tmp_path / "cold")}
        run = matrix.run(
            "--codex-matrix=pull-request",
            *words,
            env=env,
            plugins=("ordinary", *XDIST),
            matrix=False,
            files={"ordinary.py": ORDINARY},
        )
    is_one_error(run, tmp_path / "cold", "Permission denied")


def test_an_engine_that_is_deaf_is_not_waited_for(matrix: Matrix, tmp_path: Path) -> None:
    with listening(tmp_path, mode=0o600) as host:
        env = {"DOCKER_HOST": host, "CODEXSANDBOX_CACHE": str(tmp_path / "cold")}
        run = matrix.run("--codex-matrix=pull-request", env=env, matrix=False)
    is_one_error(run, tmp_path / "cold", host)


def test_the_plan_ends_with_the_same_error(matrix: Matrix, tmp_path: Path) -> None:
    env = {"DOCKER_HOST": "unix:///nonexistent.sock", "CODEXSANDBOX_CACHE": str(tmp_path / "cold")}
    done = matrix.codexsandbox("plan", "pull-request", folder=tmp_path, env=env)
    assert done.returncode == 4, done.stdout
    assert done.stdout == ""
    assert done.stderr.startswith("codexsandbox: ")


@pytest.mark.parametrize("words", [(), ("-n2",)])
def test_measurable_cells_are_measured_and_the_run_is_no_success(matrix: Matrix, words: tuple[str, ...]) -> None:
    run = matrix.run(
        "--codex-matrix=both.toml",
        "--codex-only=process.exit-code-kept",
        *words,
        files={"both.toml": BOTH},
        env={"DOCKER_HOST": "unix:///nonexistent.sock"},
        plugins=XDIST,
        matrix=False,
    )
    assert run.code == 11, run.out
    early, sep, closing = run.out.partition("legend")
    assert sep
    for part in (early, closing):  # as soon as it is known, and in the summary
        assert " ".join(part.split()).count("container engine") == 1
    assert f"not measured: {CONTAINERS}" in run.out
    assert {record.verdict.value for record in run.journal.states().values()} == {"conforms"}
    (gone,) = [one for one in run.journal.plan.not_planned if one.required]
    assert (gone.what, gone.kind) == (CONTAINERS, "unavailable")
