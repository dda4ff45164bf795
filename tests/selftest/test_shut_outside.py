"""Where the kernel's settings cannot be changed without a sandbox, no sandbox is praised for it, and none is blamed."""

import os
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_codexsandbox.commands.scratch_dir import workbench
from pytest_codexsandbox.commands.selftest import rehearsals, select
from pytest_codexsandbox.environments.agent_environment import AgentEnvironment
from pytest_codexsandbox.matrix import scenario_index
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.selftest import named

ID = "process.kernel-settings-out-of-reach"


@pytest.mark.parametrize("name", ["good", "opens-kernel-settings"])
def test_it_is_not_applicable_there(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    facts = AgentEnvironment.facts

    def shut(self: AgentEnvironment) -> Mapping[str, Any]:
        return {**facts(self), "kernel_settings": "EROFS"}

    monkeypatch.setattr(AgentEnvironment, "facts", shut)
    pairs = select(ID, scenario_index.promises(data_folder("scenarios")))
    with workbench("shut-outside") as folder, rehearsals(pairs, folder) as records_of:
        records = tuple(records_of(named([name])[0], "sandbox").values())
    assert {record.verdict for record in records} == {Verdict.NOT_APPLICABLE}
    assert all(("(EROFS)" if os.getuid() == 0 else "root") in record.reason for record in records)
