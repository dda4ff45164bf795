"""Words of `codex exec` that stand for no setting: what the real Codex makes of them is seen, and not guessed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.cli import main

DOES = "effective.does-what-was-asked"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[object]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")

    def told(words: str, *more: str) -> str:
        path = tmp_path / "launch.sh"
        path.write_text(f"#!/bin/sh\n{words}\n")
        path.chmod(0o755)
        main(["generator", "try", "-v", "--case", "01-none", *more, "--", "launch:./launch.sh"])
        return capsys.readouterr().out

    yield told


@pytest.mark.parametrize(
    ("words", "intent", "seen"),
    [
        ('codex exec -s workspace-write --add-dir "$HOME" hi', "plain", f"F {DOES} leak (more-than-asked)"),
        ("codex -a never exec -s workspace-write --add-dir . hi", "plain", f"P {DOES}: "),
        ("codex exec --full-auto hi", "plain", f"F {DOES} denied (cli-full-auto-gone)"),
        ('cd "$HOME"; codex exec -s workspace-write hi', "plain", f"F {DOES} leak (started-elsewhere)"),
        ("codex exec -s workspace-write -C / hi", "plain", f"F {DOES} leak (started-elsewhere)"),
    ],
)
def test_codex_applies_the_arguments_of_a_start(asked: object, words: str, intent: str, seen: str) -> None:
    assert callable(asked)
    assert seen in asked(words, "--wish", intent)


@pytest.mark.parametrize("scheme", ["", "cmd:", "launch:"])
def test_a_command_that_is_itself_a_start_of_codex_is_judged_by_its_words(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    words = (
        "codex",
        "exec",
        "-c",
        "sandbox_mode=workspace-write",
        "-c",
        "sandbox_workspace_write.network_access=true",
        "-c",
        "sandbox_workspace_write.writable_roots=@ROOTS_JSON@",
        "hi",
    )
    asks = ["generator", "try", "--case", "01-none", "--wish", "roots,network", "--", f"{scheme}{words[0]}", *words[1:]]
    code = main(asks)
    shown = capsys.readouterr().out
    assert code == 0, shown
    assert "codex     says: workspace-write, network on, roots @ROOT0@" in shown
    assert "ran codex exec -c sandbox_mode=workspace-write" in shown
    assert "changed nothing" in shown, "Codex itself was not started"
