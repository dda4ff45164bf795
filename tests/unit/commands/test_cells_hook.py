"""Hooks that change the cells: `codexsandbox plan` asks them as a run does, and starts no pytest for none."""

import argparse
from pathlib import Path

import pytest

from pytest_codexsandbox.commands import cells_hook, matrix_options
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.expand import Expanded
from tests.unit.matrix.builders import cell

CELLS = Expanded(cells=(cell("0.136.0"), cell("0.163.0")))
DROPS = "def pytest_codexsandbox_cells(config, cells):\n    print('noise')\n    del cells[0]\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_pytest_gets_the_options_of_the_command() -> None:
    parser = argparse.ArgumentParser()
    matrix_options.add(parser)
    given = ["mine.toml", "--codex-only=a,b", "--codex-only=c", "--codex-pairs=2", "-n2"]
    assert cells_hook.pytest_words(parser.parse_args(given)) == (
        "--codex-matrix=mine.toml",
        "--codex-only=a,b",
        "--codex-only=c",
        "--codex-pairs=2",
    )


@pytest.mark.parametrize(
    ("name", "text", "may"),
    [
        ("conftest.py", "", True),
        ("tests/conftest.py", "", True),
        ("pytest.ini", "", True),
        ("pyproject.toml", "[tool.pytest.ini_options]", True),
        ("pyproject.toml", "[tool.ruff]", False),
        ("test_mine.py", DROPS, False),
    ],
)
def test_pytest_is_asked_where_a_project_may_have_hooks(project: Path, name: str, text: str, may: bool) -> None:
    assert not cells_hook.may_have_hooks(project)
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text(text)
    assert cells_hook.may_have_hooks(project) is may


@pytest.mark.parametrize("text", [DROPS, "pytest_plugins = ['acme.hooks']\n"])
def test_pytest_is_asked_where_an_installed_plugin_names_the_hook_or_another_plugin(
    project: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    plugin = project / "plugin.py"
    plugin.write_text(text)
    monkeypatch.setattr(cells_hook, "_plugin_files", lambda: iter((project / "gone.py", plugin)))
    assert cells_hook.may_have_hooks(project)


def test_a_variable_may_name_a_plugin(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p mine")
    assert cells_hook.may_have_hooks(project)


def test_the_cells_are_those_of_the_hook_even_if_it_prints(project: Path) -> None:
    (project / "conftest.py").write_text(DROPS)
    found = cells_hook.ask_pytest(CELLS, ("--codex-matrix=local",))
    assert found.cells == CELLS.cells[1:]
    assert [one.what for one in found.not_planned] == [CELLS.cells[0].id]


@pytest.mark.parametrize("name", ["json.py", "pytest.py", "msgspec.py"])
def test_a_module_of_the_user_is_not_taken_for_one_that_pytest_needs(project: Path, name: str) -> None:
    (project / name).write_text("raise SystemExit('a module of the user was imported')\n")
    (project / "conftest.py").write_text(DROPS)
    assert cells_hook.ask_pytest(CELLS, ("--codex-matrix=local",)).cells == CELLS.cells[1:]


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        (
            "def pytest_codexsandbox_cells(config, cells):\n    1 / 0\n",
            "hook of another plugin failed",
            "conftest.py:2",
        ),
        (
            "import msgspec\nfrom pathlib import Path\n\ndef pytest_codexsandbox_cells(config, cells):\n"
            "    own = msgspec.structs.replace(cells[0].subject, label='own', path=Path('/bin/true'))\n"
            "    cells.append(msgspec.structs.replace(cells[0], subject=own))\n",
            "a hook made the list of cells invalid",
            "own has another type than `Cell` says: Encoding objects of type PosixPath",
        ),
        ("import nothing_like_it\n", "pytest does not start", "No module named 'nothing_like_it'"),
    ],
)
def test_a_fault_of_the_hook_is_attributed_to_the_hook(project: Path, text: str, what: str, why: str) -> None:
    (project / "conftest.py").write_text(text)
    with pytest.raises(InputError, match=what) as raised:
        cells_hook.ask_pytest(CELLS, ("--codex-matrix=local",))
    assert why in raised.value.why
