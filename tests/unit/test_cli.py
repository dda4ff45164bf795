"""The command line teaches, answers wrong words with what exists, and shows no traceback for an error of the user."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from pytest_codexsandbox import __version__, cli, commands
from pytest_codexsandbox.commands.run import pytest_words
from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, InputError


def a_command(monkeypatch: pytest.MonkeyPatch, run: object) -> None:
    """Stand a command of these tests in the place of `plan`."""
    module = SimpleNamespace(EXAMPLES=("codexsandbox plan",), add=lambda parser: None, run=run, __doc__="Test.")
    monkeypatch.setattr(cli, "load", lambda name: module)


def raising(error: BaseException) -> object:
    def run(options: object) -> NoReturn:
        raise error

    return run


def test_help_lists_every_command_and_lines_to_paste(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(f"    {name} " in shown or f"    {name}\n" in shown for name in commands.NAMES)
    assert "pytest --codex-matrix" in shown


def test_nothing_asked_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert "examples:" in capsys.readouterr().out


@pytest.mark.parametrize("name", commands.NAMES)
def test_every_command_explains_itself_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"usage: codexsandbox {name}" in shown
    assert "examples:" in shown
    assert cli.load(name).EXAMPLES
    first = cli.first_line(name)
    assert first and first in shown.replace("%", "%%")


def test_help_imports_no_command_and_no_door() -> None:
    code = (
        "import sys; from pytest_codexsandbox import cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: print('then', *sorted(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    loaded = [name.removeprefix("pytest_codexsandbox.") for name in out.partition("\nthen ")[2].split()]
    assert "cli" in loaded
    assert not [name for name in loaded if name.startswith(("commands.", "doors", "harness", "generators"))]


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"codexsandbox {__version__}\n"


def test_an_unknown_command_is_answered_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["docter"]) == 4
    shown = capsys.readouterr().err
    assert "'doctor'?" in shown
    assert "Traceback" not in shown


def test_help_before_a_command_is_that_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help", "run"])
    assert ended.value.code == 0
    assert "usage: codexsandbox run" in capsys.readouterr().out


def test_an_option_before_the_command_is_refused_and_not_dropped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_command(monkeypatch, lambda options: 0)
    with pytest.raises(SystemExit) as ended:
        cli.main(["--json", "plan"])
    assert ended.value.code == 4
    said = capsys.readouterr().err
    assert "--json" in said and "codexsandbox plan" in said


def test_an_unknown_option_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["plan", "--surprise"])
    assert ended.value.code == 4
    assert "--surprise" in capsys.readouterr().err


def test_options_are_not_guessed_from_their_beginning() -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["plan", "--codex-rel", "0.163.0"])
    assert ended.value.code == 4


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--codex-bin="),
        ("plan", "--codex-release", ""),
        ("plan", "--codex-generator="),
        ("doctor", "--codex-bin="),
        ("capabilities", "--codex-bin="),
        ("generator", "--codex-bin="),
        ("generator", "--codex-release= "),
    ],
)
def test_an_option_that_is_given_nothing_is_none_that_is_left_out(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--codex-bin "$BUILD"` without such a variable: the installed Codex is not what was asked about."""
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 4
    assert "empty value" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [InputError, HarnessError, CodexSandboxError])
def test_an_error_of_the_product_is_printed_without_a_traceback(
    kind: type[CodexSandboxError], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_command(monkeypatch, raising(kind("what", where="where", why="because", next_step="do this")))
    assert cli.main(["plan"]) == 4
    assert capsys.readouterr().err.splitlines() == [
        "codexsandbox: what",
        "  where  where",
        "  why    because",
        "  next   do this",
    ]


def test_a_fault_of_the_product_says_that_it_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_command(monkeypatch, raising(RuntimeError("a bug")))
    assert cli.main(["plan"]) == 3
    shown = capsys.readouterr().err
    assert "RuntimeError: a bug" in shown
    assert "please report" in shown.splitlines()[-1]


PRINTS = "from pytest_codexsandbox.cli import main; import sys; sys.exit(main([{!r}]))"


@pytest.mark.parametrize("word", ["schema", "--version"])
def test_output_that_is_not_read_to_its_end_is_no_success(word: str) -> None:
    """`codexsandbox selftest | grep -q good`: what it would have said afterwards is not known."""
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-c", PRINTS.format(word)]
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("word", ["schema", "--version"])
def test_a_full_disk_under_the_output_is_no_fault_of_the_product(word: str) -> None:
    words = [sys.executable, "-c", PRINTS.format(word)]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 4
    # Which of them it was the kernel does not say.
    assert done.stderr.startswith(b"codexsandbox: ") and done.stderr.endswith(b": No space left on device\n")
    assert done.stderr.count(b"\n") == 1


def test_another_broken_pipe_is_a_fault_of_the_product(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    a_command(monkeypatch, raising(BrokenPipeError(32, "Broken pipe")))
    assert cli.main(["plan"]) == 3
    assert "please report" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("fault", "code"), [(OSError(28, "No space left on device"), 4), (BrokenPipeError(32, "Broken pipe"), 3)]
)
def test_a_fault_is_reported_even_without_a_usable_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fault: OSError, code: int
) -> None:
    """`codexsandbox plan >&-`: Python has no stdout then."""
    a_command(monkeypatch, raising(fault))
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main(["plan"]) == code
    assert "codexsandbox" in capsys.readouterr().err


def test_an_interruption_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    a_command(monkeypatch, raising(KeyboardInterrupt()))
    assert cli.main(["plan"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_commands_exit_code_is_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    a_command(monkeypatch, lambda options: 7)
    assert cli.main(["plan"]) == 7


@pytest.mark.parametrize(
    ("preset", "rest", "words"),
    [
        ("", (), ("--codex-matrix",)),
        ("releases", ("-n", "2"), ("--codex-matrix=releases", "-n", "2")),
        ("", ("--codex-matrix=my.toml", "-x"), ("--codex-matrix=my.toml", "-x")),
        ("", ("tests", "-k", "not slow"), ("--codex-matrix", "tests", "-k", "not slow")),
    ],
)
def test_run_becomes_pytest(preset: str, rest: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert pytest_words(preset, rest) == words


def test_run_passes_on_what_it_does_not_know_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr("os.execv", lambda program, argv: started.extend(argv))
    cli.load("run").run(_parsed("--preset", "local", "-p", "no:randomly", "-k", "a and b", "--codex-strict"))
    words = ["--codex-matrix=local", "-p", "no:randomly", "-k", "a and b", "--codex-strict"]
    assert started[1:] == ["-P", "-m", "pytest", *words]


@pytest.mark.parametrize("rest", [("releases",), ("-q", "tests", "local"), ("tests", "./my.toml")])
def test_run_says_how_a_preset_is_given(rest: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="path to tests") as caught:
        pytest_words("", rest)
    assert caught.value.next_step == f"codexsandbox run --preset {rest[-1]}"


def test_run_leaves_values_of_options_and_folders_that_exist_to_pytest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "releases").mkdir()
    monkeypatch.chdir(tmp_path)
    for rest in (("-k", "local"), ("-c", "pytest.toml"), ("releases",)):
        assert pytest_words("", rest) == ("--codex-matrix", *rest)


def test_run_refuses_two_presets() -> None:
    with pytest.raises(InputError, match="contradict"):
        pytest_words("local", ("--codex-matrix=releases",))


def _parsed(*words: str) -> object:
    module = cli.load("run")
    options, rest = cli.command_parser("run", module).parse_known_args(words)
    options.rest = rest
    return options
