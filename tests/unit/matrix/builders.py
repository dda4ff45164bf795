"""Cells, promises and records as these tests need them."""

from typing import Any

from pytest_codexsandbox.matrix.plan import make
from pytest_codexsandbox.matrix.select import Selection
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.door_traits import DoorTraits
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Diagnosis, Evidence, Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import doors

POLICIES = ("read-only", "workspace-write")


def traits(*names: str) -> tuple[DoorTraits, ...]:
    """Returns what these doors declare."""
    return tuple(doors()[name] for name in names)


def environment(**changed: Any) -> EnvironmentSpec:
    words: dict[str, Any] = {"id": "debian-12~host~local", "backend": "local", "distro": "debian-12", "user": "root"}
    return EnvironmentSpec(**(words | changed))


def cell(label: str = "0.163.0", **changed: Any) -> Cell:
    return Cell(environment=environment(**changed), subject=SubjectSpec(label=label, release=label))


def promise(id: str = "filesystem.outside-refused", **changed: Any) -> Promise:
    words: dict[str, Any] = {
        "id": id,
        "kind": "boundary",
        "severity": "high",
        "needs": "sandbox",
        "source": "its documentation",
        "policies": POLICIES,
    }
    return Promise(**(words | changed))


def plan(*promises: Promise, cells: tuple[Cell, ...] = (), only: tuple[str, ...] = ()) -> Plan:
    asked = promises or (promise("start.is-on"), promise())
    return make(
        "local", cells or (cell(),), asked, doors=traits("sandbox"), selection=Selection(only=only), platform="linux"
    )


def record(key: Key, verdict: Verdict = Verdict.CONFORMS, *, cause: str = "", **changed: Any) -> Record:
    words: dict[str, Any] = {"diagnosis": Diagnosis(fingerprint=cause, cause=cause)} if cause else {}
    if verdict is Verdict.VIOLATES:
        words["direction"] = "leak"
    elif verdict is Verdict.CONFORMS:
        words["evidence"] = (
            Evidence(
                claim="c", act="a", nonce="n", call="c", control="it works", control_held=True, saw="s", held=True
            ),
        )
    return Record(key=key, verdict=verdict, **(words | changed))


def records(plan: Plan, verdict: Verdict = Verdict.CONFORMS, **changed: Any) -> dict[Key, Record]:
    return {key: record(key, verdict, **changed) for key in plan.keys}
