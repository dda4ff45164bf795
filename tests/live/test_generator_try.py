"""`codexsandbox generator try` with a real Codex."""

import sys

import pytest

from pytest_codexsandbox.cli import main

pytestmark = pytest.mark.live


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


def test_a_bad_one_is_told_why(capsys: pytest.CaptureFixture[str]) -> None:
    append = "import sys; open(sys.argv[1], 'a').write('\\nsandbox_mode = \"workspace-write\"\\n')"
    code, shown = tried(
        capsys, "--case", "02-ends-in-tui", "--wish", "plain", "--", sys.executable, "-c", append, "@CONFIG@"
    )
    assert code == 1
    assert "F generator.config-loads" in shown or "F effective.says-what-was-asked" in shown
    assert "F generator.does-not-grow wrong-claim (grew)" in shown
    assert "because   The file is longer after each run" in shown
    assert '             + sandbox_mode = "workspace-write"' in shown


def test_one_that_is_missing_is_a_finding_and_no_crash(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = tried(capsys, "--case", "01-empty", "--", "/proc/nowhere/tool", "@CONFIG@")
    assert code == 1
    assert "F generator.ends-by-itself wrong-claim (not-started)" in shown


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
