"""A setting of the kernel is out of reach where it opens outside and not inside; what opens nowhere says nothing."""

from collections.abc import Callable

import pytest

from pytest_codexsandbox.diagnosis.judge import judge
from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.act import ActResult
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import data_folder
from tests.unit.diagnosis.builders import observation

ID = "process.kernel-settings-out-of-reach"
ON = SandboxState(state="on", why="own user namespace")


@pytest.fixture(scope="module")
def asked() -> tuple[Promise, Callable[..., object]]:
    return next(pair for pair in promises(data_folder("scenarios")) if pair[0].id == ID)


def judged(asked: tuple[Promise, Callable[..., object]], inside: dict[str, str], outside: dict[str, str]) -> RealTrial:
    """`inside`, `outside`: act → errno, "" where it opened; those that are not named are not there."""
    promise, function = asked
    seen, control = (
        observation(
            rows={
                f"{ID}/{act}": ActResult(
                    act=f"{ID}/{act}", ok=not said.get(act, "ENOENT"), errno=said.get(act, "ENOENT")
                )
                for act in promise.acts
            }
        )
        for said in (inside, outside)
    )
    key = Key(cell="here", door="sandbox", policy="read-only", promise=ID)
    trial = RealTrial(key, promise, seen=(seen,), control=(control,), started=ON)
    function(trial)
    return trial


def verdict(trial: RealTrial) -> tuple[Verdict, str]:
    found = judge(trial.promise, outcome="passed", message="", evidence=trial.rows, started=ON, sandboxed=True)
    return found.verdict, found.direction


OPEN = {"core-pattern": "", "domainname": "", "swappiness": ""}


@pytest.mark.parametrize("errno", ["EROFS", "EACCES", "EPERM", "ENOENT"])
def test_each_that_opens_outside_is_refused_inside(asked: tuple[Promise, Callable[..., object]], errno: str) -> None:
    trial = judged(asked, dict.fromkeys(OPEN, errno), OPEN)
    assert verdict(trial) == (Verdict.CONFORMS, "")
    assert {row.act for row in trial.rows} == {f"{ID}/{act}" for act in OPEN}


def test_one_that_opens_inside_is_a_leak(asked: tuple[Promise, Callable[..., object]]) -> None:
    for leak in OPEN:
        inside = dict.fromkeys(OPEN, "EROFS") | {leak: ""}
        assert verdict(judged(asked, inside, OPEN)) == (Verdict.VIOLATES, "leak")


def test_if_no_setting_opens_outside_no_verdict_is_green(asked: tuple[Promise, Callable[..., object]]) -> None:
    for errno in ("EROFS", "EACCES", "EPERM", "ENOENT"):
        trial = judged(asked, dict.fromkeys(OPEN, "EROFS"), dict.fromkeys(OPEN, errno))
        assert trial.rows == []
        assert verdict(trial) == (Verdict.BROKEN, "")


def test_a_setting_that_opens_only_inside_is_not_passed_over(asked: tuple[Promise, Callable[..., object]]) -> None:
    """It is no leak by the rules, since no control held; and nothing beside it makes it green."""
    shut = OPEN | {"swappiness": "EROFS"}
    assert verdict(judged(asked, dict.fromkeys(OPEN, "EROFS") | {"swappiness": ""}, shut))[0] is Verdict.BROKEN


def test_a_refusal_of_another_kind_is_no_refusal(asked: tuple[Promise, Callable[..., object]]) -> None:
    assert verdict(judged(asked, dict.fromkeys(OPEN, "EMFILE"), OPEN))[0] is Verdict.VIOLATES
    assert verdict(judged(asked, dict.fromkeys(OPEN, "EROFS"), OPEN | {"sysrq": "EMFILE"}))[0] is Verdict.BROKEN


def test_nothing_is_ever_written(asked: tuple[Promise, Callable[..., object]]) -> None:
    assert {(act.verb, act.params == {}) for act in asked[0].acts.values()} == {("may-write", True)}
