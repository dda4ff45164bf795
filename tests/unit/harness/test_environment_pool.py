"""Environments that do not start: when the rest is not tried any more."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.errors import CodexSandboxError, ConfigMismatch, EnvironmentLost, HarnessError, Unavailable
from pytest_codexsandbox.harness import environment_pool
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.journal_lines import EnvironmentLine, Line
from tests.fakes.scripted import ScriptedEnvironment
from tests.unit.harness.builders import pool


class Heard(EventSink):
    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self.said, self.reported = said, list[str]()

    def say(self, text: str) -> None:
        self.said.append(text)

    def emit(self, line: Line) -> None:
        assert isinstance(line, EnvironmentLine)
        self.reported.append(line.id)


class Faulty:
    def __init__(self, fault: CodexSandboxError) -> None:
        self.fault, self.tried = fault, 0

    @contextmanager
    def open(self, spec: EnvironmentSpec, folder: Path, **_: Any) -> Iterator[ScriptedEnvironment]:
        self.tried += 1
        raise self.fault
        yield  # a context manager is a generator


def tried(fault: CodexSandboxError, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
    backend = Faulty(fault)
    monkeypatch.setattr(environment_pool, "load_plugin", lambda group, name: lambda: backend)
    made = pool(EventSink())
    words = []
    for number in range(5):
        with pytest.raises(CodexSandboxError) as caught:
            made.get(EnvironmentSpec(id=f"e{number}", backend="faulty", distro="none"))
        words.append(caught.value.what)
    return backend.tried, words


def test_after_three_in_a_row_the_others_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    count, words = tried(HarnessError("the engine is gone"), monkeypatch)
    assert count == 3
    assert words[:3] == ["the engine is gone"] * 3 and all("not tried" in word for word in words[3:])


def test_an_unavailable_environment_is_no_sign_of_a_broken_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    count, words = tried(Unavailable("there is no C compiler"), monkeypatch)
    assert (count, words) == (5, ["there is no C compiler"] * 5)


def test_a_running_environment_with_a_mismatch_is_no_sign_of_a_broken_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count, words = tried(ConfigMismatch("the profile did not take effect"), monkeypatch)
    assert (count, words) == (5, ["the profile did not take effect"] * 5)


class Stubborn:
    """Its environments do not end as they should: the engine is gone."""

    @contextmanager
    def open(self, spec: EnvironmentSpec, folder: Path, **_: Any) -> Iterator[ScriptedEnvironment]:
        yield ScriptedEnvironment(lambda command: None)  # type: ignore[arg-type, return-value]
        raise HarnessError("the container engine did not remove the container", why="it hangs")

    def audit(self) -> tuple[str, ...]:
        return ("container codexsandbox-1",)


def test_an_end_that_fails_is_said_and_what_it_left_is_the_audits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment_pool, "load_plugin", lambda group, name: Stubborn)
    said: list[str] = []
    made = pool(Heard(said))
    specs = [EnvironmentSpec(id=f"e{number}", backend="stubborn", distro="none") for number in range(3)]
    first, *_ = [made.get(spec) for spec in specs]
    made.lose(specs[0], "it died")
    assert made.get(specs[0]) is not first
    made.end(specs[1].id)
    made.close()
    assert [line.split()[0] for line in said] == ["e0", "e1", "e0", "e2"]
    assert "the container engine did not remove the container: it hangs" in said[0]
    assert made.leaks() == ("container codexsandbox-1",)


class Dying:
    """Its first environments, `times` of them, end while nothing runs in them."""

    def __init__(self, times: int) -> None:
        self.times, self.opened = times, 0

    @contextmanager
    def open(self, spec: EnvironmentSpec, folder: Path, **_: Any) -> Iterator[ScriptedEnvironment]:
        self.opened += 1
        yield Watched(dead=self.opened <= self.times)


class Watched(ScriptedEnvironment):
    def __init__(self, *, dead: bool) -> None:
        super().__init__(lambda command: None)  # type: ignore[arg-type, return-value]
        self.dead = dead

    def state(self) -> dict[str, Any]:
        if self.dead:
            raise EnvironmentLost("the agent has ended", why="kill 9")
        return {}


@pytest.mark.parametrize(("times", "opened"), [(0, 1), (1, 2), (9, 2)])
def test_one_that_was_started_ahead_and_has_ended_since_is_started_anew(
    monkeypatch: pytest.MonkeyPatch, times: int, opened: int
) -> None:
    """The second one is not ahead: its end is met by a call, and counts there."""
    backend = Dying(times)
    monkeypatch.setattr(environment_pool, "load_plugin", lambda group, name: lambda: backend)
    said: list[str] = []
    events = Heard(said)
    made = pool(events)
    spec = EnvironmentSpec(id="e", backend="dying", distro="none")
    made.prefetch(spec)
    found = made.get(spec)
    assert backend.opened == opened and events.reported == ["e"]
    assert made.generation(spec) == opened - 1
    assert ["(kill 9)" in line for line in said] == [True] * (opened - 1)
    assert made.get(spec) is found
