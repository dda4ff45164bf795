"""An environment that becomes another one while it is measured."""

import re
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.guest import facts
from pytest_codexsandbox.harness.environment_pool import MachineGuard
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.observation import Link, Observation
from tests.unit.diagnosis.builders import observation, reading

HERE = this_machine()
ONE: dict[str, Any] = {"sysctls": {"user.max_user_namespaces": "9"}, "bwrap_of_calls": {"path": "/b", "sha256": "1"}}
OTHER = {**ONE, "bwrap_of_calls": {}}


class Place:
    spec = HERE

    def __init__(self, first: dict[str, Any]) -> None:
        self.first = self.now = first

    def facts(self) -> dict[str, Any]:
        return self.first

    def state(self) -> dict[str, Any]:
        return self.now


class Blind:
    """An environment of a backend that cannot look again."""

    spec = HERE

    def facts(self) -> dict[str, Any]:
        return ONE

    def state(self) -> dict[str, Any]:
        return {}


def test_one_that_stays_as_it_was_is_never_at_fault() -> None:
    steady, place = MachineGuard(), Place(ONE)
    steady.opened(place)  # type: ignore[arg-type]
    for _ in range(3):
        steady.look(place)  # type: ignore[arg-type]
    steady.look(Blind())  # type: ignore[arg-type]
    assert steady.news(HERE.id) == {}


def test_after_a_change_nothing_is_measured_there_any_more() -> None:
    steady, place = MachineGuard(), Place(ONE)
    steady.opened(place)  # type: ignore[arg-type]
    place.now = OTHER
    with pytest.raises(HarnessError, match="this machine changed") as caught:
        steady.look(place)  # type: ignore[arg-type]
    assert re.fullmatch(r"bwrap [a-z]+ /b 1, [a-z ]+ none", caught.value.why)
    assert caught.value.where == HERE.id
    place.now = ONE  # put back: what was measured meanwhile is not known
    with pytest.raises(HarnessError):
        steady.look(place)  # type: ignore[arg-type]
    with pytest.raises(HarnessError):
        steady.need(HERE.id)
    told = steady.news(HERE.id)
    assert (told["bwrap_of_calls"], told["changed"]) == ({}, [caught.value.why])
    assert steady.news(HERE.id) == {}, "told once"


def test_one_that_is_started_anew_must_be_what_the_first_was() -> None:
    steady = MachineGuard()
    steady.opened(Place(ONE))  # type: ignore[arg-type]
    steady.opened(Place(OTHER))  # type: ignore[arg-type]
    with pytest.raises(HarnessError):
        steady.need(HERE.id)


def test_a_look_again_has_the_words_of_the_first_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Both say the same about one machine, and not about another bubblewrap."""
    from pytest_codexsandbox.model.machine import differences

    path = tmp_path / "bwrap"
    path.write_text("#!/bin/sh\necho bubblewrap 0.0.1\n")
    path.chmod(0o755)
    monkeypatch.setattr(facts, "_PATH", str(tmp_path))
    first = facts.facts("")
    assert differences(first, facts.state()) == ()
    path.write_text("#!/bin/sh\necho bubblewrap 0.0.2\n")
    assert "bwrap was" in differences(first, facts.state())[0]
    path.unlink()
    assert "and is none" in differences(first, facts.state())[0]
    monkeypatch.setattr(facts, "sysctls", lambda: {"user.max_user_namespaces": "0"})
    assert any("user.max_user_namespaces was" in one for one in differences(first, facts.state()))


def by(exe: str, digest: str) -> Observation:
    chain = (Link(pid=1, exe="/opt/codex", name="codex"), Link(pid=2, exe=exe, name="bwrap", sha256=digest))
    return observation(readings=(reading(chain=chain),))


def test_sandboxes_of_one_codex_are_set_up_by_one_program() -> None:
    steady, codex = MachineGuard(), SubjectSpec(label="0.163.0")
    system, own = by("/usr/bin/bwrap", "a" * 64), by("/c/codex-resources/bwrap", "b" * 64)
    steady.set_up("here", codex, "sandbox", [system, observation(readings=()), system])
    steady.set_up("here", SubjectSpec(label="0.40.0"), "sandbox", [own])
    steady.set_up("here", codex, "exec", [own])
    steady.set_up("there", codex, "sandbox", [own])
    steady.set_up("here", msgspec.structs.replace(codex, generator="g"), "sandbox", [own])
    with pytest.raises(HarnessError) as caught:
        steady.set_up("here", codex, "sandbox", [own])
    first, _, now = caught.value.why.partition(" and now by ")
    assert re.search(r"Codex 0\.163\.0 [a-z ]+ sandbox\b", first) and "bwrap /usr/bin/bwrap (sha256 aaaaaaa" in first
    assert now.startswith("Codex' own bwrap")
    assert steady.news("here")["changed"] == [caught.value.why]
    steady.need("there")
