"""An act that the machine refuses without a sandbox adds no row, and the control of another row names it."""

from collections.abc import Callable

import pytest

from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.act import ActResult
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.registry import data_folder
from tests.unit.diagnosis.builders import observation

SHIPPED = {promise.id: (promise, function) for promise, function in promises(data_folder("scenarios"))}
WORKED = ""
CASES = [
    ("process.remount-refused", "mount", "user", "EPERM"),
    ("process.hardware-settings-out-of-reach", "power", "irq", "EROFS"),
    ("process.kernel-settings-out-of-reach", "core-pattern", "sysrq", "EACCES"),
    ("network.tcp-server-works", "ipv6", "ipv4", "EADDRNOTAVAIL"),
]


def judged(id: str, inside: dict[str, str], outside: dict[str, str]) -> RealTrial:
    """Returns the trial of a promise. `inside`, `outside`: act → errno."""
    promise: Promise
    function: Callable[..., object]
    promise, function = SHIPPED[id]
    seen, control = (
        observation(
            rows={
                f"{id}/{act}": ActResult(
                    act=f"{id}/{act}", ok=errno == WORKED, errno=errno, value="" if errno else "text"
                )
                for act, errno in said.items()
            }
        )
        for said in (inside, outside)
    )
    key = Key(cell="here", door="sandbox", policy=promise.policies[0], promise=id)
    trial = RealTrial(key, promise, seen=(seen,), control=(control,), started=SandboxState(state="on", why="it was"))
    function(trial)
    return trial


@pytest.mark.parametrize(("id", "left", "other", "errno"), CASES)
def test_an_act_that_is_refused_outside_is_named(id: str, left: str, other: str, errno: str) -> None:
    acts = SHIPPED[id][0].acts
    works = "network." in id
    inside = dict.fromkeys(acts, WORKED if works else "EPERM") | {left: errno}
    trial = judged(id, inside, dict.fromkeys(acts, errno) | {other: WORKED})
    assert [row.act for row in trial.rows] == [f"{id}/{other}"]
    assert trial.rows[0].held and trial.rows[0].control_held
    assert f"; left out: {left}" in trial.rows[0].control and errno in trial.rows[0].control


@pytest.mark.parametrize(("id", "left", "other", "errno"), CASES)
def test_an_act_that_works_inside_only_has_a_row(id: str, left: str, other: str, errno: str) -> None:
    acts = SHIPPED[id][0].acts
    trial = judged(id, dict.fromkeys(acts, "EPERM") | {left: WORKED}, dict.fromkeys(acts, errno) | {other: WORKED})
    assert f"{id}/{left}" in [row.act for row in trial.rows]
