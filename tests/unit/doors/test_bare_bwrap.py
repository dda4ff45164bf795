"""Which bubblewrap the control takes, and what it tells it."""

from pathlib import Path

import pytest

from pytest_codexsandbox.doors.controls import BareBwrapDoor
from pytest_codexsandbox.errors import NotHad
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.policy import NETWORK, NO_TMP, POLICIES, READ_ONLY, ROOTS
from tests.fakes.scripted import FakeSubject, world


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
    with pytest.raises(NotHad, match="no bubblewrap"):
        words(program(tmp_path / "bin/codex"), READ_ONLY)


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
