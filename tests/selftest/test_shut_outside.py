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
from pytest_codexsandbox.selftest.kill_rules import KillResult, faults, unasked

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


@pytest.mark.parametrize("offered", [True, False])
def test_a_subject_whose_flaw_shows_nowhere_here_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, *, offered: bool
) -> None:
    """A kernel may let no process type into a terminal. The promise then proves nothing about the subject."""
    facts = AgentEnvironment.facts
    word = "typing"

    def without(self: AgentEnvironment) -> Mapping[str, Any]:
        found = facts(self)
        return {**found, "offers": [*({*found["offers"]} - {word}), *([word] if offered else [])]}

    monkeypatch.setattr(AgentEnvironment, "facts", without)
    pairs = select("process.terminal-out-of-reach", scenario_index.promises(data_folder("scenarios")))
    (other, fake) = named(["keeps-terminal", "types-into-terminal"])
    with workbench("no-typing") as folder, rehearsals(pairs, folder) as records_of:
        records = {one.name: records_of(one, "sandbox") for one in named([fake.name, other.name])}
    made = KillResult(fakes=(fake, other), promises=tuple(promise for promise, _ in pairs), records=records)
    assert faults(made, whole=False) == ()
    assert [*unasked(made)] == ([] if offered else [fake.name])
    assert made.caught(other, pairs[0][0].id)
    assert made.caught(fake, pairs[0][0].id) is offered
