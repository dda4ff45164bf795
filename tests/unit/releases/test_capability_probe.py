"""What is read out of a binary's words, and what is said of one that has none."""

import os
import re
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import CodexSandboxError, InputError
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.releases.binary_cache import digest_of, probed
from pytest_codexsandbox.releases.capability_probe import has_bwrap, probe
from tests.unit.releases.builders import Machine, said


@pytest.fixture
def binary(tmp_path: Path) -> str:
    path = tmp_path / "vendor/bin/codex"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\necho codex-cli 0.163.0")
    return str(path)


def test_a_modern_codex_is_read(binary: str, cache: Path) -> None:
    found = probe(binary, run=Machine(), home=cache)
    assert (found.version, found.sandbox, found.workspace_write) == ("0.163.0", "sandbox", "config")
    assert (found.full_access, found.default_permissions) == (True, True)
    assert found.permission_profile_flag == "--permission-profile"
    assert (found.app_server, found.exec_server, found.mcp_server, found.doctor) == (True, True, False, True)
    assert not found.bundled_bwrap
    assert found.shell_snapshot


@pytest.mark.parametrize(
    "features",
    [
        "",
        "shell_snapshot_v2  under development  false\n",
        "  shell_snapshot  on\n",
        "shell_snapshot    removed            true\n",
    ],
)
def test_a_feature_that_is_not_listed_by_its_name_or_was_removed_is_none(
    binary: str, cache: Path, features: str
) -> None:
    run = Machine()
    run.features = features
    assert not probe(binary, run=run, home=cache).shell_snapshot


def test_it_is_asked_in_a_world_built_from_nothing_that_is_gone_afterwards(binary: str, cache: Path) -> None:
    run = Machine()
    probe(binary, run=run, home=cache)
    for command in run.commands:
        assert set(command.env) == {"HOME", "CODEX_HOME", "TMPDIR", "PATH", "LANG", "TERM"}
        assert Path(command.env["HOME"]).parent == cache / "homes"
        assert command.env["CODEX_HOME"] == command.env["HOME"] == command.cwd
        assert command.timeout > 0
    assert list((cache / "homes").iterdir()) == []


def test_no_command_is_asked_for_help_that_could_start_a_sandbox(binary: str, cache: Path) -> None:
    run = Machine()
    probe(binary, run=run, home=cache)
    assert ("sandbox", "linux", "--help") not in {command.argv[1:] for command in run.commands}


@pytest.mark.parametrize(
    ("done", "why"),
    [
        (CommandResult(ended="timeout", error="too long", seconds=6.1), "did not end within 6 s"),
        (CommandResult(ended="signal", signal=11), "died by signal 11"),
        (CommandResult(ended="not-started", error="Exec format error"), "Exec format error"),
        (said("hello", code=3), "ended with 3"),
        (said(b"\xff\xfe\0garbage"), "garbage"),
        (said(""), "printed ''"),
        (said("codex-cli 0.163.0\nand more"), "and more"),
    ],
    ids=["hangs", "dies by signal", "does not start", "fails", "garbage", "silent", "says more"],
)
def test_a_program_that_is_no_codex_is_one_clear_error(binary: str, cache: Path, done: CommandResult, why: str) -> None:
    with pytest.raises(InputError, match=re.escape(binary)) as caught:
        probe(binary, run=lambda command: done, home=cache)
    assert why in caught.value.why
    assert caught.value.where == binary
    assert list((cache / "homes").iterdir()) == []


def test_a_program_that_hangs_only_later_is_named_with_the_question(binary: str, cache: Path) -> None:
    def run(command: Command) -> CommandResult:
        return Machine()(command) if command.argv[1:] == ("--version",) else CommandResult(ended="timeout")

    with pytest.raises(InputError) as caught:
        probe(binary, run=run, home=cache)
    assert "codex sandbox --help" in caught.value.why


def test_a_codex_without_a_sandbox_command_has_none(binary: str, cache: Path) -> None:
    def run(command: Command) -> CommandResult:
        return said("codex-cli 0.1.0" if command.argv[1] == "--version" else "Usage: codex [OPTIONS] [PROMPT]\n")

    found = probe(binary, run=run, home=cache)
    assert (found.sandbox, found.workspace_write, found.full_access) == ("none", "full-auto", False)


@pytest.mark.parametrize("place", ["vendor/codex-resources/bwrap", "vendor/bin/codex-resources/bwrap"])
def test_a_bubblewrap_is_looked_for_where_codex_looks(tmp_path: Path, binary: str, place: str) -> None:
    assert not has_bwrap(binary)
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_bytes(b"")
    assert has_bwrap(binary)


def test_a_binary_is_asked_once_and_its_place_looked_at_each_time(tmp_path: Path, binary: str, cache: Path) -> None:
    run = Machine()
    first = probed(binary, digest_of(binary, cache), cache, run)
    count = len(run.commands)
    (tmp_path / "vendor/codex-resources").mkdir()
    (tmp_path / "vendor/codex-resources/bwrap").write_bytes(b"")
    second = probed(binary, digest_of(binary, cache), cache, run)
    assert len(run.commands) == count
    assert (first.bundled_bwrap, second.bundled_bwrap) == (False, True)


def test_a_digest_is_remembered_until_the_file_is_written(binary: str, cache: Path) -> None:
    first = digest_of(binary, cache)
    assert digest_of(binary, cache) == first
    stat = Path(binary).stat()
    Path(binary).write_bytes(Path(binary).read_bytes()[::-1])
    os.utime(binary, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # as somebody would who wants to hide it
    assert digest_of(binary, cache) != first


@pytest.mark.parametrize("folder", ["digests", "probes"])
def test_a_spoilt_note_is_written_anew(binary: str, cache: Path, folder: str) -> None:
    run = Machine()
    expected = probed(binary, digest_of(binary, cache), cache, run)
    for note in (cache / folder).iterdir():
        note.write_bytes(b"\xff{")
    assert probed(binary, digest_of(binary, cache), cache, run) == expected


def test_a_cache_that_cannot_be_written_is_one_clear_error(binary: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CodexSandboxError, match=re.escape(str(tmp_path / "file"))) as caught:
        probe(binary, run=Machine(), home=tmp_path / "file")
    assert "CODEXSANDBOX_CACHE" in caught.value.next_step
