"""The folder that we are called in is a user's: its `tempfile.py` is not Python's own."""

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_codexsandbox.releases import pypi

RUN = "import sys; from pytest_codexsandbox.cli import main; sys.exit(main(['run', '--version']))"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("tempfile", "json", "secrets"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the user's own')")
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "said"),
    [((sys.executable, "-P", "-c", RUN), f"pytest {pytest.__version__}"), ((*pypi.command(), "--version"), "pip ")],
    ids=["run", "pip"],
)
def test_no_module_of_the_users_folder_is_taken_for_pythons(folder: Path, argv: tuple[str, ...], said: str) -> None:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(said)
