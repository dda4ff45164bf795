"""Without its flag, marker or fixtures the plugin changes nothing and imports next to nothing."""

import subprocess
import sys

from tests.plugin.conftest import Matrix

HEAVY = ("docker", "pexpect", "allure", "xdist", "msgspec", "jinja2", "tomlkit", "rich")


def test_importing_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import pytest_codexsandbox.plugin; "
        "print(' '.join(sorted(set(sys.modules) - before)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    loaded = out.split()
    assert "pytest_codexsandbox.plugin" in loaded
    assert not [name for name in loaded if name.split(".")[0] in HEAVY]
    assert len([name for name in loaded if name.startswith("pytest_codexsandbox")]) <= 5


def test_another_run_is_as_it_was(matrix: Matrix) -> None:
    files = {"test_plain.py": "def test_one():\n    pass\n\n\ndef test_two():\n    assert False\n"}
    run = matrix.run("-p", "no:randomly", files=files, matrix=False)
    assert run.code == 1
    assert "1 failed, 1 passed" in run.out
    assert "codex" not in run.out.lower()
    assert not (run.folder / ".codexsandbox").exists()


def test_the_help_shows_every_option_in_one_group(matrix: Matrix) -> None:
    run = matrix.run("--help", matrix=False)
    for name in (
        "matrix",
        "release",
        "bin",
        "only",
        "skip",
        "report",
        "report-dir",
        "expectations",
        "strict",
        "timeout-scale",
    ):
        assert f"--codex-{name}" in run.out
        assert f"codex_{name.replace('-', '_')}" in run.out
    assert run.out.count("codexsandbox: the conformance matrix") == 1
