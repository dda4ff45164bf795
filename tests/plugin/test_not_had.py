"""A release that cannot be had: one block that says why, nothing half-written, and nobody asked twice."""

import pytest

from tests.plugin.conftest import Matrix
from tests.unit.releases.makers import leftovers, registry

pytestmark = pytest.mark.live


def test_registries_without_it_are_asked_once_and_its_cell_alone_is_broken(matrix: Matrix) -> None:
    with registry() as server:
        env = {"PIP_INDEX_URL": server.address, "PIP_CONFIG_FILE": "/dev/null", "npm_config_registry": server.address}
        words = ("--codex-release=9.9.9,0.163.0", "--codex-only=process.exit-code-kept")
        run = matrix.run(*words, env=env)
    assert run.code == 11, run.out
    assert " ".join(run.out.split()).count("Codex 9.9.9 cannot be had; why PyPI has no openai-codex-cli-bin 9.9.9") == 1
    assert len([path for path, _ in server.asked if "openai-codex-cli-bin" in path]) == 1
    verdicts = {(key.cell.rpartition("~")[2], record.verdict.value) for key, record in run.journal.states().items()}
    assert verdicts == {("codex-9.9.9", "broken"), ("codex-0.163.0", "conforms")}
    assert leftovers(matrix.cache) == []
