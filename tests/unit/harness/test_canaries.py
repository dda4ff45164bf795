"""A canary whose environment dies under it is asked again, not for ever, and no attempt is forgotten."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.harness import canaries
from pytest_codexsandbox.harness.canaries import ATTEMPTS, Canaries
from pytest_codexsandbox.harness.observation_cache import ObservationCache
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.matrix.builders import cell, promise

CELL, DOOR = cell("0.163.0"), "sandbox"
GOOD, CAUGHT, LOST = Verdict.CONFORMS, Verdict.VIOLATES, Verdict.BROKEN
Attempt = tuple[Verdict, bool]
"""A verdict, and whether the environment was lost meanwhile."""


class World:
    """A cache whose environment ends as the test says, and rehearsals whose verdicts are given."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, **attempts: list[Attempt]) -> None:
        self.count, self.asked = 0, list[str]()
        self._attempts = {name.replace("_", "-"): iter(found) for name, found in attempts.items()}
        patch.setattr(canaries, "run_promises", self._rehearse)
        start, other = promise("start.is-on"), promise("filesystem.x")
        cache = SimpleNamespace(
            resources=SimpleNamespace(options=SimpleNamespace(folder=folder)),
            pool=SimpleNamespace(generation=lambda spec: self.count),
            batteries=defaultdict(lambda: SimpleNamespace(promises=(start, other))),
            observations=self._seen,
        )
        self.canaries = Canaries(cast("ObservationCache", cache), ((start, print), (other, print)))

    def _seen(self, *_: Any) -> tuple[Observation, ...]:
        return (cast("Observation", SimpleNamespace(nonce="n", id="call")),)

    def _rehearse(self, pairs: Any, policies: Any, subject: Any, **_: Any) -> dict[Key, Record]:
        name = subject.spec.label
        self.asked.append(name)
        script: Iterator[Attempt] = self._attempts[name]
        verdict, lost = next(script)
        self.count += lost
        key = Key(cell="c", door=DOOR, policy="read-only", promise=pairs[0][0].id)
        return {key: Record(key=key, verdict=verdict, reason="its container died" if lost else "as it is")}

    def saw(self) -> dict[str, tuple[bool, str]]:
        rows = self.canaries.evidence(CELL, DOOR, "workspace-write")
        return {row.act: (row.held and row.control_held, row.saw) for row in rows}


FINE: list[Attempt] = [(GOOD, False)]


def test_one_that_dies_with_its_environment_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, monkeypatch, allow_all=[(LOST, True), (CAUGHT, False)], good=FINE)
    held, saw = world.saw()["allow-all"]
    assert held
    assert saw.endswith("; attempt 1: its container died")
    held, saw = world.saw()["good"]
    assert held and "attempt" not in saw
    assert world.asked == ["allow-all", "allow-all", "good"]
    world.canaries.need(CELL, DOOR)


def test_it_is_not_asked_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, monkeypatch, allow_all=[(CAUGHT, False)], good=[(LOST, True)] * 99)
    held, saw = world.saw()["good"]
    assert not held
    assert [f"attempt {number}: its container died" in saw for number in (1, 2)] == [True, True]
    assert world.asked.count("good") == ATTEMPTS == 3
    with pytest.raises(HarnessError, match="misjudged"):
        world.canaries.need(CELL, DOOR)


@pytest.mark.parametrize("first", [(LOST, False), (GOOD, True), (GOOD, False)])
def test_a_misjudged_canary_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: Attempt) -> None:
    """Broken without a loss, and uncaught with or without one."""
    world = World(tmp_path, monkeypatch, allow_all=[first, (CAUGHT, False)], good=FINE)
    assert world.saw()["allow-all"][0] is False
    assert world.asked.count("allow-all") == 1


def test_verdicts_of_an_attempt_before_it_was_lost_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, monkeypatch, allow_all=[(CAUGHT, False)], good=FINE)
    rehearsals = iter([{"a": CAUGHT, "b": LOST}, {"a": GOOD, "b": GOOD}])

    def rehearse(*_: Any, **__: Any) -> dict[Key, Record]:
        world.count += 1
        keys = {name: Key(cell="c", door=DOOR, policy="read-only", promise=name) for name in "ab"}
        return {keys[name]: Record(key=keys[name], verdict=one) for name, one in next(rehearsals).items()}

    monkeypatch.setattr(canaries, "run_promises", rehearse)
    subject = cast("Any", SimpleNamespace(spec=SimpleNamespace(label="good")))
    assert "a: violates" in str(world.canaries._passed(subject, CELL, DOOR, "workspace-write"))
