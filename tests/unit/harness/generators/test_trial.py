"""What generators' own standing promise says: that nothing confined them, where they were asked so, is a verdict."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.diagnosis.judge import judge_trial
from pytest_codexsandbox.guest import escape_attempts
from pytest_codexsandbox.harness.generators import factory
from pytest_codexsandbox.harness.generators.case_cache import CheckOutcome
from pytest_codexsandbox.harness.generators.trial import UNCONFINED, RealGeneratorTrial
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.command import CommandResult
from pytest_codexsandbox.model.generator import Finding
from pytest_codexsandbox.model.generator_suite import AS_ASKED
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.verdict import Verdict

KNOWN = Finding(claim="a known one is caught", saw="it is", held=True, control="it is", control_held=True)
MISSED = msgspec.structs.replace(KNOWN, held=False, control_held=False, saw="it was not")
CELL = Cell(
    environment=EnvironmentSpec(id="here", backend="local", distro="d"), subject=SubjectSpec(label="c", generator="g")
)
TRUST = Promise(
    id="trust.confinement-and-known-generators",
    kind="generator",
    severity="critical",
    needs="nothing",
    source="",
    policies=(AS_ASKED,),
    suite="generator",
    over="once",
)


def standing(*found: Finding, unconfined: bool) -> Any:
    key = Key(cell=CELL.id, door="generator", policy=AS_ASKED, promise=TRUST.id)
    told = CheckOutcome(findings=found, by="known", unconfined=unconfined)
    cache: Any = SimpleNamespace(standing=lambda cell: told)
    writing = RealGeneratorTrial(key, TRUST, cell=CELL, cases=cache)
    writing.standing_evidence()
    return judge_trial(writing, outcome="passed", message="")


def test_known_generators_alone_make_no_green_where_nothing_confines() -> None:
    assert standing(KNOWN, unconfined=False).verdict is Verdict.CONFORMS
    free = standing(KNOWN, unconfined=True)
    assert free.verdict is Verdict.UNCONFINED
    assert free.reason.endswith(UNCONFINED)


@pytest.mark.parametrize("unconfined", [True, False])
def test_a_missing_confinement_excuses_no_misjudgement(unconfined: bool) -> None:
    assert standing(KNOWN, MISSED, unconfined=unconfined).verdict is Verdict.BROKEN
    assert standing(unconfined=unconfined).verdict is Verdict.BROKEN


def container(said: bytes, *, ended: Any = "exit") -> Any:
    return SimpleNamespace(
        guest=("/python", "/guest"), run=lambda command: CommandResult(ended=ended, exit=0, stdout=said)
    )


def test_a_container_that_shares_separated_resources_does_not_confine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(escape_attempts, "spaces", lambda: {"mnt": "mnt:[1]", "pid": "pid:[2]", "net": "net:[3]"})

    def held(said: bytes, **words: str) -> list[tuple[bool, bool]]:
        return [(one.held, one.control_held) for one in factory._apart(container(said, **words))]

    assert held(b"mnt:[7] pid:[8] net:[9]\n") == [(True, True)] * 3
    assert held(b"mnt:[7] pid:[8] net:[3]\n") == [(True, True), (True, True), (False, True)]
    assert held(b"") == held(b"mnt:[7] pid:[8] net:[9]\n", ended="timeout") == [(False, False)] * 3
    (leak,) = (one for one in factory._apart(container(b"mnt:[1] pid:[8] net:[9]")) if not one.held)
    assert leak.direction == "leak"
