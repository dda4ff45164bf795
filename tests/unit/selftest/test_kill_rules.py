"""What counts as caught, and what is a fault."""

import pytest

from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.selftest.fake import Fake
from pytest_codexsandbox.selftest.kill_rules import KillResult, faults, is_wanted, not_asked

GOOD = Fake(name="good", wrong="", kind="good")
LEAK = Fake(name="leak", wrong="leaks", caught_by=("network.off",))
DUMB = Fake(name="dumb", wrong="says nothing", kind="mute")


def promise(id: str, *, call: Call | None = None) -> Promise:
    return Promise(
        id=id, kind="boundary", severity="high", needs="sandbox", source="here", policies=(WORKSPACE_WRITE,), call=call
    )


def key(name: str, case: str = "") -> Key:
    return Key(cell="c", door="sandbox", policy=WORKSPACE_WRITE, promise=name, case=case)


def records(**verdicts: Verdict) -> dict[Key, Record]:
    """`network_off=…` is the record of `network.off`; a second underscore begins the case."""
    made = {}
    for name, verdict in verdicts.items():
        topic, word, *case = name.split("_")
        made[key(f"{topic}.{word}", "".join(case))] = Record(key=key("x.y"), verdict=verdict, reason="because")
    return made


def killing(**by_name: dict[Key, Record]) -> KillResult:
    fakes = tuple(fake for fake in (GOOD, LEAK, DUMB) if fake.name in by_name)
    return KillResult(fakes=fakes, promises=(promise("network.off"),), records=by_name)


def kinds(made: KillResult, *, whole: bool = False) -> list[str]:
    return [fault.kind for fault in faults(made, whole=whole)]


def test_a_mutant_is_caught_by_violates() -> None:
    made = killing(leak=records(network_off=Verdict.VIOLATES))
    assert kinds(made, whole=True) == []
    assert made.catches("network.off") == ("leak",) and made.catchers(LEAK) == ("network.off",)


@pytest.mark.parametrize("verdict", [Verdict.CONFORMS, Verdict.UNCONFINED, Verdict.BROKEN, Verdict.BLOCKED])
def test_a_mutant_is_caught_by_nothing_else(verdict: Verdict) -> None:
    found = faults(killing(leak=records(network_off=verdict)), whole=False)
    assert [(fault.kind, fault.who) for fault in found] == [("survivor", "leak")]
    assert f"network.off says {verdict.value}" in found[0].why


def test_one_case_that_violates_is_enough() -> None:
    assert kinds(killing(leak=records(network_off_a=Verdict.CONFORMS, network_off_b=Verdict.VIOLATES))) == []


def test_a_mutant_that_another_promise_catches_by_accident_survives() -> None:
    assert kinds(killing(leak=records(network_off=Verdict.CONFORMS, files_out=Verdict.VIOLATES))) == ["survivor"]


def test_an_unasked_mutant_survives() -> None:
    assert kinds(killing(leak={})) == ["survivor"]


def test_a_mutant_without_a_promise_that_must_catch_it_survives() -> None:
    stray = Fake(name="stray", wrong="is nobody's business")
    assert kinds(KillResult(fakes=(stray,), promises=(), records={"stray": records(network_off=Verdict.VIOLATES)})) == [
        "survivor"
    ]


def test_a_mutant_that_cannot_be_asked_here_is_neither_caught_nor_a_survivor() -> None:
    made = killing(leak=records(network_off=Verdict.NOT_APPLICABLE))
    assert kinds(made, whole=True) == [] and not_asked(made) == {"network.off": "because"}


def test_a_promise_that_one_subject_could_be_asked_is_not_excused() -> None:
    made = killing(leak=records(network_off=Verdict.NOT_APPLICABLE), good=records(network_off=Verdict.CONFORMS))
    assert kinds(made, whole=True) == ["idle-promise"]


def test_a_promise_that_catches_nothing_is_a_fault_of_the_whole_matrix_only() -> None:
    made = killing(good=records(network_off=Verdict.CONFORMS))
    assert kinds(made) == [] and kinds(made, whole=True) == ["idle-promise"]


@pytest.mark.parametrize("verdict", [Verdict.VIOLATES, Verdict.BROKEN, Verdict.BLOCKED])
def test_the_good_one_must_not_be_failed(verdict: Verdict) -> None:
    assert kinds(killing(good=records(network_off=verdict))) == ["good-is-failed"]


def test_the_good_one_must_be_asked_something() -> None:
    assert kinds(killing(good={})) == ["good-is-failed"]


@pytest.mark.parametrize("verdict", [Verdict.CONFORMS, Verdict.UNCONFINED])
def test_nothing_may_conform_about_a_mute_subject(verdict: Verdict) -> None:
    assert kinds(killing(dumb=records(network_off=verdict, network_on=Verdict.VIOLATES))) == ["survivor"]


def test_a_mute_subject_may_be_anything_but_conforming() -> None:
    assert kinds(killing(dumb=records(network_off=Verdict.BROKEN, network_on=Verdict.VIOLATES))) == []
    assert kinds(killing(dumb={})) == ["survivor"]


def test_expensive_calls_are_made_only_for_the_mutants_they_concern() -> None:
    own = promise("network.own", call=Call())
    known = {made.id: made for made in (own, promise("network.off"), promise("start.on"), promise("trust.control"))}
    owner, starter, far = (
        Fake(name="x", wrong="y", caught_by=(name,)) for name in ("network.own", "start.on", "sqlite.out")
    )
    assert [is_wanted(fake, known, key("network.own")) for fake in (GOOD, LEAK, owner)] == [True, False, True]
    assert all(is_wanted(fake, known, key("network.off")) for fake in (GOOD, LEAK, DUMB, owner))
    assert not is_wanted(far, known, key("network.off"))
    assert [is_wanted(fake, known, key("start.on")) for fake in (GOOD, LEAK, DUMB, starter)] == [
        False,
        False,
        True,
        True,
    ]
    assert not any(is_wanted(fake, known, key("trust.control")) for fake in (GOOD, LEAK, DUMB, starter))
