"""Calls of `codex`: the stub asks the real Codex which calls start work, and hands over all others."""

from pathlib import Path

import pytest

from pytest_codexsandbox.guest.subcommands import asked, listed, positionals, starts_work, why_refused

SESSION = ("exec", "-s", "workspace-write", "do it")


@pytest.mark.parametrize(
    ("argv", "work"),
    [
        ((), True),
        (("do it",), True),
        (("-c", "mcp", "do it"), True),
        (("--yolo",), True),
        (SESSION, True),
        (("e", "do it"), True),
        (("app-server",), True),
        (("app-server", "generate-ts", "--out", "x"), False),
        (("mcp", "add", "x"), False),
        (("-c", "a=1", "features", "enable", "x"), False),
        (("mcp", "list"), False),
        (("--version",), False),
        (("-V",), False),
        (("exec", "--help"), False),
        (("exec", "--", "--help"), True),
        (("login", "status"), False),
        (("login",), False),
        (("completion", "bash"), False),
        (("help",), False),
        (("sandbox", "--", "curl", "-V"), True),
        (("sandbox", "curl", "-V"), True),
        (("sandbox", "--help"), False),
        (("debug", "landlock", "--", "true"), True),
        (("debug", "models"), False),
        (("--", "mcp"), True),
        (("mcp", "add", "x", "--", "npx", "-h"), False),
    ],
)
def test_a_call_that_starts_work_differs_from_a_question(argv: tuple[str, ...], work: bool) -> None:
    assert starts_work(argv) is work


def test_options_and_their_values_are_no_subcommand() -> None:
    assert positionals(("-c", "a=b", "--enable", "x", "--oss", "mcp", "add", "--", "y")) == ["mcp", "add"]


def codex(folder: Path, text: str) -> str:
    path = folder / "codex"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_the_codex_that_is_called_says_what_is_a_subcommand(tmp_path: Path) -> None:
    """`mcp` of this one is a prompt, `renew` a subcommand that no list knows, `x` another name of `exec`."""
    one = asked(
        codex(
            tmp_path,
            """case $1 in
renew) echo 'Renews it'; echo; echo 'Usage: codex renew [OPTIONS]';;
x) echo 'Usage: codex exec [OPTIONS] [PROMPT]';;
*) echo 'Usage: codex [OPTIONS] [PROMPT]';;
esac""",
        )
    )
    assert [one(word) for word in ("renew", "x", "mcp", "do it")] == ["renew", "exec", "", ""]
    assert [starts_work((word,), one) for word in ("renew", "x", "mcp", "help")] == [False, True, True, False]


@pytest.mark.parametrize("text", ["echo hello", "exit 1", "kill -9 $$"])
def test_one_that_cannot_be_asked_is_taken_by_the_list(tmp_path: Path, text: str) -> None:
    one = asked(codex(tmp_path, text))
    assert [one(word) for word in ("mcp", "exec", "do it", "a\0b")] == ["mcp", "exec", "", ""]
    assert asked(str(tmp_path / "gone"))("mcp") == listed("mcp") == "mcp"


def test_the_question_leaves_nothing_in_the_home_of_codex(tmp_path: Path) -> None:
    one = asked(codex(tmp_path, 'mkdir "$CODEX_HOME/tmp" 2>/dev/null; echo "Usage: codex $1 [OPTIONS]"'))
    assert one("mcp") == "mcp"
    assert not (tmp_path / "tmp").exists()


@pytest.mark.parametrize(
    ("argv", "refused"),
    [
        (("update",), True),
        (("update", "--help"), False),
        (("login",), True),
        (("-c", "a=b", "login"), True),
        (("login", "status"), False),
        (("login", "--with-api-key"), False),
        (("mcp", "add", "login"), False),
        ((), False),
    ],
)
def test_calls_that_wait_for_a_person_or_change_the_program_are_refused(argv: tuple[str, ...], refused: bool) -> None:
    assert (why_refused(argv) is not None) is refused
