"""`codexsandbox generator try` with a real Codex."""

import sys
from pathlib import Path

import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.diagnosis.match import fingerprints


@pytest.fixture(autouse=True)
def _a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def tried(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["generator", "try", *words])
    return code, capsys.readouterr().out


def test_the_exemplary_one_passes_on_a_file_that_breaks_others(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = tried(capsys, "--case", "02-ends-in-tui", "--", "good")
    assert code == 0, shown
    assert "confined by bubblewrap" in shown
    assert "codex     says: workspace-write, network on, roots @ROOT0@" in shown
    assert "\nF " not in shown
    assert "+ sandbox_mode = " in shown


def test_a_bad_generator_gets_the_cause(capsys: pytest.CaptureFixture[str]) -> None:
    append = "import sys; open(sys.argv[1], 'a').write('\\nsandbox_mode = \"workspace-write\"\\n')"
    code, shown = tried(
        capsys, "--case", "02-ends-in-tui", "--wish", "plain", "--", sys.executable, "-c", append, "@CONFIG@"
    )
    assert code == 1
    assert "F generator.config-loads" in shown or "F effective.says-what-was-asked" in shown
    assert "F generator.does-not-grow wrong-claim (grew)" in shown
    (grew,) = [one for one in fingerprints() if one.id == "generator-grew"]
    assert f"because   {grew.cause[:40]}" in shown
    assert '             + sandbox_mode = "workspace-write"' in shown


@pytest.mark.parametrize(
    ("text", "mode", "what", "next_step"),
    [
        (None, 0, "there is no program ./tool.sh", "give the path of a file that can be executed"),
        ("#!/bin/sh\n", 0o644, "./tool.sh cannot be executed", "chmod +x"),
        ("#!/no/such/interpreter\n", 0o755, "./tool.sh cannot be executed", "name another one behind #!"),
        ("#!/usr/bin/env codexsandbox-nothing\n", 0o755, "./tool.sh cannot be executed", "behind #!"),
        ("exit 0\n", 0o755, "./tool.sh cannot be executed", "begin it with #!/bin/sh"),
    ],
)
def test_one_that_cannot_be_started_is_one_error_and_nothing_is_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str | None,
    mode: int,
    what: str,
    next_step: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "tool.sh").write_text(text)
        (tmp_path / "tool.sh").chmod(mode)
    assert main(["generator", "try", "--", "./tool.sh", "@CONFIG@"]) == 4
    shown, error = capsys.readouterr()
    assert shown == ""
    assert what in error
    assert [error.count(f"\n  {word} ") for word in ("where", "why", "next")] == [1, 1, 1]
    assert next_step in error


def test_the_command_that_new_prints_works_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["generator", "new", "cx-mine"]) == 0
    line = next(one for one in capsys.readouterr().out.splitlines() if one.startswith("next"))
    program, *words = line.split()[1:]
    assert (program, words[-1]) == ("codexsandbox", "cx-mine")
    code = main([*words[:2], "--case", "01-empty", *words[2:]])
    shown = capsys.readouterr().out
    assert (code, shown.startswith("cx-mine · Codex ")) == (0, True), shown


def test_a_root_that_is_not_there_below_another_is_named_as_what_keeps_codex_from_starting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whoever writes the roots as they were asked for: the folder of the call is no news to anybody."""
    write = (
        "import sys; open(sys.argv[1], 'w').write('sandbox_mode = \"workspace-write\"\\n'"
        "'[sandbox_workspace_write]\\nwritable_roots = ' + sys.argv[2] + '\\n')"
    )
    code, shown = tried(
        capsys, "--case", "70-roots-nested", "--", sys.executable, "-c", write, "@CONFIG@", "@ROOTS_JSON@"
    )
    assert code == 1
    assert "F effective.does-what-was-asked denied (writable-root-missing-in-another)" in shown
    assert "on /newroot@ROOT0@/inner: Unable to mount" in " ".join(shown.split())


CONFIG = '"$CODEX_HOME/config.toml"'
SERVER = f"""printf '[mcp_servers.x]\\ncommand = "x"\\n' >> {CONFIG}"""
MODE = f"""printf 'sandbox_mode = "workspace-write"\\n' >> {CONFIG}"""
FREE = f"""printf 'sandbox_mode = "danger-full-access" # workspace-write\\n' >> {CONFIG}"""
SAYS = "F effective.says-what-was-asked denied"


@pytest.mark.parametrize(
    ("script", "case", "seen"),
    [
        (SERVER, "01-none", "request   nothing about roots and network"),  # a policy is none of its business
        (MODE, "01-empty", "codex     says: workspace-write, network off"),  # the same one for everybody
        (MODE, "02-ends-in-tui", f"{SAYS} (captured)"),  # not in force here
        (FREE, "01-none", "F effective.says-what-was-asked leak (another-mode)"),  # full access was not asked for
        (f": $CXG_WRITABLE_ROOTS; {MODE}", "01-none", SAYS),  # it could know of roots and network
    ],
)
def test_a_generator_without_request_is_asked_only_the_promises_it_can_keep(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    script: str,
    case: str,
    seen: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gen.sh").write_text(
        f"#!/bin/sh\ngrep -qs -e mcp_servers -e workspace-write {CONFIG} || {{ {script}; }}\n"
    )
    (tmp_path / "gen.sh").chmod(0o755)
    _, shown = tried(capsys, "--case", case, "--", "./gen.sh")
    assert seen in shown
    assert ("F effective." in shown) is seen.startswith("F"), shown
