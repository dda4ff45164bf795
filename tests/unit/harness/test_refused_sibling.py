"""`sqlite.sibling-database-refused` judges the sibling alone: the granted database has a promise of its own."""

import pytest

from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.harness.trial_runner import run_promise
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.act import Act, ActResult, PathState
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import ROOTS
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.registry import data_folder
from tests.unit.diagnosis.builders import observation

PROMISE, FUNCTION = next(
    pair for pair in promises(data_folder("scenarios")) if pair[0].id == "sqlite.sibling-database-refused"
)
REFUSED = ActResult(act="", ok=False, errno="SQLITE_READONLY", detail="attempt to write a readonly database")


def rows(text: str) -> PathState:
    return PathState(path="#rows", kind="file", size=len(text), sha256=text, text=text)


def side(*, works: bool, failing: tuple[str, ...] = ()) -> Observation:
    """All acts of the promise on one side; those in `failing` are refused there."""

    def did(name: str) -> bool:
        return works and name not in failing

    acts: dict[str, Act] = dict(PROMISE.acts)
    return observation(
        rows={f"{PROMISE.id}/{name}": ActResult(act=name, ok=True) if did(name) else REFUSED for name in acts},
        before={f"{PROMISE.id}/{name}|{look}": rows("laid") for name, act in acts.items() for look in act.looks},
        after={
            f"{PROMISE.id}/{name}|{look}": rows("inserted" if did(name) else "laid")
            for name, act in acts.items()
            for look in act.looks
        },
    )


def judged(inside: Observation, outside: Observation) -> tuple[str, str]:
    key = Key(cell="here", door="sandbox", policy=ROOTS, promise=PROMISE.id)
    trial = RealTrial(key, PROMISE, seen=(inside,), control=(outside,), started=SandboxState(state="on", why="it was"))
    found = run_promise(trial, FUNCTION)
    return found.verdict.value, found.direction


def test_it_holds_where_the_sandbox_refuses_the_granted_database_too() -> None:
    assert judged(side(works=False), side(works=True)) == ("conforms", "")


def test_it_is_a_leak_where_the_sibling_is_written() -> None:
    assert judged(side(works=True), side(works=True)) == ("violates", "leak")


@pytest.mark.parametrize("failing", [("sibling",), tuple(PROMISE.acts)])
def test_it_is_broken_where_the_control_cannot_write_the_sibling(failing: tuple[str, ...]) -> None:
    assert judged(side(works=False), side(works=True, failing=failing))[0] == "broken"
