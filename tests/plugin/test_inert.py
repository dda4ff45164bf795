"""Without its flag, marker or fixtures the plugin changes nothing and imports next to nothing."""

import subprocess
import sys

import pytest

from pytest_codexsandbox.pytest_plugin import options
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
    assert len([name for name in loaded if name.startswith("pytest_codexsandbox")]) <= 8


def test_another_run_is_as_it_was(matrix: Matrix) -> None:
    files = {"test_plain.py": "def test_one():\n    pass\n\n\ndef test_two():\n    assert False\n"}
    run = matrix.run("-p", "no:randomly", files=files, matrix=False)
    assert run.code == 1
    assert "1 failed, 1 passed" in run.out
    assert "codex" not in run.out.lower()
    assert not (run.folder / ".codexsandbox").exists()


def test_the_help_shows_every_option_in_one_group(matrix: Matrix) -> None:
    run = matrix.run("--help", matrix=False)
    group = run.out.partition("codexsandbox: the conformance matrix")[2].partition("\n\n")[0]
    ini = run.out.partition("\n[pytest] ")[2]
    for name, *_ in options._OPTIONS:
        assert f"--codex-{name}" in group
        assert f"codex_{name.replace('-', '_')} (" in ini
    assert len(options._OPTIONS) > 10
    assert run.out.count("codexsandbox: the conformance matrix") == 1


NO_CODEX = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_configure():
    from pytest_codexsandbox.harness import request_parts
    assert request_parts.installed
    request_parts.installed = lambda: None
"""


@pytest.mark.parametrize("name", ["trial", "codex_sandbox"])
def test_a_users_fixture_with_the_name_of_a_shipped_one_activates_nothing(matrix: Matrix, name: str) -> None:
    """Where no Codex is installed, for one: the plugin is there for another project."""
    fixture = f"@pytest.fixture\ndef {name}():\n    return 1\n"
    text = f"import pytest\n\n{fixture}\n\ndef test_mine({name}):\n    assert {name} == 1\n"
    run = matrix.run(files={"test_mine.py": text, "nothing.py": NO_CODEX}, plugins=("nothing",), matrix=False)
    assert run.code == 0, run.out
    assert "codex" not in run.out.replace(name, "").replace("codexsandbox", "").lower(), run.out
    assert not (run.folder / ".codexsandbox").exists()
