"""Batteries: which acts share a call, under each policy and in the control."""

import msgspec

from pytest_codexsandbox.harness.batteries import SHARED, batteries_of
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.promise import Promise
from tests.unit.matrix.builders import cell, promise

CELL = cell("0.163.0")
READ, WRITE, FULL = "read-only", "workspace-write", "danger-full-access"


def with_act(name: str, call: Call | None = None) -> Promise:
    acts = {"write": Act(verb="write", path=f"@OUTSIDE@/{name}")}
    return msgspec.structs.replace(promise(f"filesystem.{name}"), acts=acts, call=call)


FIRST, SECOND, ALONE = with_act("first"), with_act("second"), with_act("alone", Call(timeout=3))


def key(policy: str, one: Promise) -> Key:
    return Key(cell=CELL.id, door="sandbox", policy=policy, promise=one.id)


def plan(*keys: Key, ruled_out: Key | None = None) -> Plan:
    not_applicable = {str(ruled_out): "a reason"} if ruled_out else {}
    promises = (FIRST, SECOND, ALONE)
    return Plan(preset="test", cells=(CELL,), promises=promises, keys=keys, not_applicable=not_applicable)


def test_a_policy_has_the_acts_of_its_own_keys_and_the_control_those_of_all() -> None:
    ruled_out = key(READ, SECOND)
    made = batteries_of(plan(key(READ, FIRST), ruled_out, key(WRITE, SECOND), ruled_out=ruled_out), 1.0)
    assert made[READ, SHARED].promises == (FIRST,)
    assert list(made[READ, SHARED].acts) == [FIRST.act_id("write")]
    assert made[WRITE, SHARED].promises == (SECOND,)
    assert made["", SHARED].promises == (FIRST, SECOND)


def test_a_promise_with_its_own_call_is_a_battery_of_its_own() -> None:
    made = batteries_of(plan(key(READ, FIRST), key(READ, ALONE)), 2.0)
    assert ALONE.group != SHARED
    assert made[READ, ALONE.group].promises == (ALONE,) and made[READ, ALONE.group].call.timeout == 6
    assert made["", ALONE.group].acts == made[READ, ALONE.group].acts
    assert (WRITE, ALONE.group) not in made


def test_the_time_limit_of_a_shared_battery_grows_with_its_acts_and_the_scale() -> None:
    made = batteries_of(plan(key(READ, FIRST), key(WRITE, FIRST), key(WRITE, SECOND)), 2.0)
    assert made[READ, SHARED].call.timeout == 2 * (20 + 0.5)
    assert made[WRITE, SHARED].call.timeout == 2 * (20 + 1)


def test_every_policy_has_a_battery_that_shows_whether_a_sandbox_is_on() -> None:
    made = batteries_of(plan(key(READ, ALONE)), 1.0)
    assert all(made[policy, SHARED].acts == {} for policy in POLICIES)
