"""`--codex-bin`: what the words mean, and one clear error for each thing that is no Codex for this machine."""

import os
import struct
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.releases.user_binaries import candidate, examine
from tests.unit.releases.builders import TRIPLE, X86

ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, 62) + bytes(44)
ARM = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, 183) + bytes(44)


def program(path: Path, content: bytes = ELF, mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("text", "label", "path", "version"),
    [
        ("./codex", "candidate", "codex", ""),
        ("mine=./codex", "mine", "codex", ""),
        ("mine=./codex@0.170.0", "mine", "codex", "0.170.0"),
        ("./codex@0.170.0-alpha.2", "candidate", "codex", "0.170.0-alpha.2"),
        ("./a=b/codex", "candidate", "a=b/codex", ""),
        ("./v@2/codex", "candidate", "v@2/codex", ""),
        ("./v@2/codex@0.170.0", "candidate", "v@2/codex", "0.170.0"),
    ],
)
def test_label_path_and_place_are_distinguished(tmp_path: Path, text: str, label: str, path: str, version: str) -> None:
    found = candidate(text, base=tmp_path)
    assert (found.label, found.path, found.as_version) == (label, str(tmp_path / path), version)
    assert found.source == "path"


def test_a_file_that_is_really_called_so_wins_over_the_grammar(tmp_path: Path) -> None:
    for name in ("mine=codex", "codex@0.1.0"):
        real = program(tmp_path / name)
        found = candidate(name, base=tmp_path)
        assert (found.label, found.path, found.as_version) == ("candidate", real, "")


@pytest.mark.parametrize(
    ("text", "words"),
    [("My Label=./codex", "label"), ("./codex@next", "release"), ("mine=", "no path"), ("", "no path")],
)
def test_words_that_mean_nothing_are_refused_with_the_form(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        candidate(text, base=tmp_path)


def test_a_program_for_this_machine_is_taken_links_followed(tmp_path: Path) -> None:
    real = program(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    assert examine(real, X86) == real
    assert examine(str(tmp_path / "link"), X86) == real
    assert examine(program(tmp_path / "script", b"#!/bin/sh\n"), X86) == str(tmp_path / "script")


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (ARM, 0o755, "built for aarch64, this machine is x86_64"),
        (ELF, 0o644, "not executable"),
        (b"\xcf\xfa\xed\xfe" + bytes(60), 0o755, "macOS"),
        (b"MZ" + bytes(60), 0o755, "Windows"),
        (b"hello", 0o755, "neither an ELF program nor a script"),
        (b"", 0o755, "neither an ELF program nor a script"),
    ],
    ids=["other machine", "not executable", "macOS", "Windows", "text", "empty"],
)
def test_a_binary_that_cannot_run_here_is_refused_with_the_reason(
    tmp_path: Path, content: bytes, mode: int, why: str
) -> None:
    with pytest.raises(InputError) as caught:
        examine(program(tmp_path / "codex", content, mode), X86)
    assert why in caught.value.why
    assert caught.value.where == str(tmp_path / "codex")


@pytest.mark.parametrize("name", ["none", "folder", "loop", "pipe"])
def test_a_path_that_leads_to_no_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a Codex"):
        examine(str(tmp_path / name), X86)


@pytest.mark.parametrize(
    "place",
    [
        f"codex/vendor/{TRIPLE}/bin/codex",
        f"codex/vendor/{TRIPLE}/codex/codex",
        f"codex/node_modules/@openai/codex-linux-x64/vendor/{TRIPLE}/bin/codex",
        f"codex-linux-x64/vendor/{TRIPLE}/bin/codex",
        f"codex/bin/codex-{TRIPLE}",
    ],
)
def test_behind_npms_launcher_the_program_itself_is_found(tmp_path: Path, place: str) -> None:
    launcher = program(tmp_path / "codex/bin/codex.js", b"#!/usr/bin/env node\n")
    (tmp_path / "codex-link").symlink_to(launcher)
    real = program(tmp_path / place)
    assert examine(str(tmp_path / "codex-link"), X86) == real


def test_npms_launcher_without_a_program_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        examine(program(tmp_path / "codex/bin/codex.js", b"#!/usr/bin/env node\n"), X86)
    assert "npm's launcher" in caught.value.why
