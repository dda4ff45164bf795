"""Which bubblewrap the control takes, and what it tells it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.doors.controls import BareBwrapDoor
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.policy import NETWORK, NO_TMP, POLICIES, READ_ONLY, ROOTS
from tests.fakes.scripted import FakeSubject, ScriptedEnvironment, world


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    path.chmod(0o755)
    return path


def words(binary: Path, policy: str, *, search_path: str = "") -> tuple[str, ...]:
    door = BareBwrapDoor(search_path=search_path)
    return door.command(FakeSubject(binary=str(binary)), POLICIES[policy], world(), ("true",), Call()).argv


@pytest.mark.parametrize("layout", ["bin/codex", "codex/codex"])
def test_the_bundled_one_lies_beside_the_binary_in_every_layout(tmp_path: Path, layout: str) -> None:
    binary, bundled = program(tmp_path / layout), program(tmp_path / "codex-resources" / "bwrap")
    assert words(binary, READ_ONLY)[0] == str(bundled)


def test_the_one_on_the_path_comes_first_as_codex_has_it(tmp_path: Path) -> None:
    binary = program(tmp_path / "bin/codex")
    program(tmp_path / "codex-resources/bwrap")
    system = program(tmp_path / "usr/bwrap")
    assert words(binary, READ_ONLY, search_path=f"/nowhere:{system.parent}")[0] == str(system)


def test_without_any_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no bubblewrap"):
        words(program(tmp_path / "bin/codex"), READ_ONLY)


class Elsewhere(ScriptedEnvironment):
    """An environment whose files are not this machine's: it has these programs."""

    def __init__(self, on_path: str, *programs: str) -> None:
        super().__init__(self._answered)
        self.on_path, self.programs = on_path, programs

    def facts(self) -> Mapping[str, Any]:
        return {"bwrap": {"path": self.on_path} if self.on_path else {}}

    def _answered(self, command: Command) -> CommandResult:
        there = command.argv[0] in self.programs
        return CommandResult(ended="exit" if there else "not-started", error="" if there else "no such file")


def taken(environment: Elsewhere, binary: str) -> tuple[str, str]:
    (seen,) = BareBwrapDoor().observe(environment, FakeSubject(binary=binary), POLICIES[READ_ONLY], {}, Call())
    return (seen.argv[0] if seen.argv else "", seen.error)


def test_in_an_environment_it_is_the_one_that_a_program_finds_there() -> None:
    found = Elsewhere("/elsewhere/bin/bwrap", "/elsewhere/bin/bwrap", "/brought/codex-resources/bwrap")
    assert taken(found, "/brought/bin/codex") == ("/elsewhere/bin/bwrap", "")


@pytest.mark.parametrize("bundled", ["/brought/codex-resources/bwrap", "/brought/bin/codex-resources/bwrap"])
def test_in_an_environment_without_any_it_is_the_one_that_was_brought(bundled: str) -> None:
    assert taken(Elsewhere("", bundled), "/brought/bin/codex") == (bundled, "")


def test_in_an_environment_without_any_at_all_nothing_is_started() -> None:
    started, error = taken(Elsewhere(""), "/brought/bin/codex")
    assert started == "" and "no bubblewrap" in error


def test_the_flags_follow_the_policy(tmp_path: Path) -> None:
    binary = program(tmp_path / "bin/codex")
    program(tmp_path / "codex-resources/bwrap")
    assert "--unshare-net" in words(binary, READ_ONLY) and "--bind-try" not in words(binary, READ_ONLY)
    assert "--unshare-net" not in words(binary, NETWORK)
    bound = [
        second
        for first, second in zip(*[words(binary, ROOTS)[at:] for at in (0, 1)], strict=False)
        if first == "--bind-try"
    ]
    assert bound == ["/run folder/w1/workspace", "/run folder/w1/root0", "/tmp", "/run folder/t"]
    assert "/tmp" not in words(binary, NO_TMP) and "/run folder/t" not in words(binary, NO_TMP)
