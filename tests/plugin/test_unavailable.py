"""A release that cannot be had: one block that says why, nothing half-written, and nobody asked twice."""

import re
from pathlib import Path

import pytest

from tests.plugin.conftest import Matrix
from tests.unit.releases.builders import Registry, leftovers, registry

pytestmark = pytest.mark.live


SLOW = "--codex-timeout-scale=20"  # registries are asked on a machine with other work


def asking(server: Registry) -> dict[str, str]:
    return {"PIP_INDEX_URL": server.address, "PIP_CONFIG_FILE": "/dev/null", "npm_config_registry": server.address}


def questions(server: Registry) -> int:
    return len([path for path, _ in server.asked if "openai-codex-cli-bin" in path])


def test_registries_without_it_are_asked_once_and_the_others_are_measured(matrix: Matrix) -> None:
    with registry() as server:
        words = ("--codex-release=9.9.9,0.163.0", "--codex-only=process.exit-code-kept", SLOW)
        run = matrix.run(*words, env=asking(server))
    assert run.code == 11, run.out
    shown = " ".join(run.out.split())
    assert shown.count("openai-codex-cli-bin 9.9.9") == 2  # as soon as it is known, and in the summary
    assert re.search(r"exit 11: [a-z ]+: codex 9\.9\.9", shown)
    assert questions(server) == 1
    verdicts = {(key.cell.rpartition("~")[2], record.verdict.value) for key, record in run.journal.states().items()}
    assert verdicts == {("codex-0.163.0", "conforms")}
    (gone,) = [one for one in run.journal.plan.not_planned if one.required]
    assert (gone.what, gone.kind) == ("codex 9.9.9", "unavailable")
    assert leftovers(matrix.cache) == []


@pytest.mark.parametrize("words", [(), ("-n2",)])
def test_without_any_release_it_is_one_error_before_anything_starts(matrix: Matrix, words: tuple[str, ...]) -> None:
    with registry() as server:
        run = matrix.run("--codex-release=9.9.9", SLOW, *words, env=asking(server), plugins=("xdist.plugin",))
    assert run.code == 4, run.out
    assert run.out.count("ERROR: ") == 1
    assert "Codex 9.9.9 " in run.out
    assert "openai-codex-cli-bin 9.9.9" in run.out
    assert questions(server) == 1
    assert run.reports == []


@pytest.mark.parametrize("words", [(), ("-n2",)])
def test_a_known_release_that_no_network_brings_ends_the_run_before_its_first_test(
    matrix: Matrix, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """No registry is asked about it while the run is planned: its download is the first that fails."""
    with registry() as server:
        closed = asking(server)
    env = closed | {"CODEXSANDBOX_CACHE": str(tmp_path / "cold")}
    run = matrix.run("--codex-release=0.136.0", *words, env=env, plugins=("xdist.plugin",))
    assert run.code == 4, run.out
    assert run.out.count("ERROR: ") == 1
    assert "Codex 0.136.0 " in run.out
    assert not re.search(r"\d (passed|failed|error)", run.out), run.out
    assert not any((tmp_path / "cold" / "runs").iterdir())
