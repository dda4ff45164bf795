"""The registry: what installed doors declare, and what is wrong with a door is said with the package that has it."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.load import load
from pytest_codexsandbox.registry import default_door, doors, load_plugin, measured_doors, runs_folder
from tests.fakes.toy_package import DOORS, forget_plugins, install_doors

MATRIX = 'environments = ["local"]\nreleases = ["installed"]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    forget_plugins()
    for module in ("toy_door", "other_door"):
        sys.modules.pop(module, None)


def install(folder: Path, points: Mapping[str, str] = DOORS, more: str = "") -> None:
    install_doors(folder, points)
    if more:
        (folder / "other_door.py").write_text(f"from toy_door import ToyDoor\n\n{more}")
        metadata = folder / "toy_doors-1.0.dist-info" / "entry_points.txt"
        metadata.write_text(metadata.read_text() + "other = other_door:Other\n")
    forget_plugins()


def test_the_doors_of_other_packages_are_there_with_what_they_declare(folder: Path) -> None:
    before = measured_doors()
    install(folder)
    assert set(measured_doors()) - set(before) == {"toy", "patient-toy"}
    assert (doors()["toy"].asks_own_calls, doors()["patient-toy"].asks_own_calls) == (False, True)
    assert doors()["toy-control"].is_control


def test_a_door_that_says_nothing_has_every_default(folder: Path) -> None:
    install(folder)
    door = load_plugin("doors", "toy")()
    assert (door.needs, door.probes_full_access, door.refuses(("-s", "read-only"))) == ((), False, "")
    with pytest.raises(Exception, match="door toy"):
        door.configured(lambda world, policy: None)


def test_no_door_of_another_package_becomes_a_default(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(MATRIX)
    before = [default_door(use) for use in ("commands", "files", "options", "control")]
    install(folder)
    assert [default_door(use) for use in ("commands", "files", "options", "control")] == before
    assert load(str(tmp_path / "m.toml")).doors == (before[0],)


def test_two_defaults_for_one_use_are_refused_and_both_are_named(folder: Path) -> None:
    install(folder, more='class Other(ToyDoor):\n    name = "other"\n    default_for = ("commands",)\n')
    with pytest.raises(InputError, match="default for commands") as caught:
        default_door("commands")
    assert caught.value.why.endswith(": other, sandbox")


@pytest.mark.parametrize(
    ("text", "why", "next_step"),
    [
        ("class Other:\n    name = 'other'\n    is_control = False\n", "AttributeError", "subclass"),
        ("class Other(ToyDoor):\n    name = 'another'\n", "", 'name = "other"'),
        ("import no_such_module\n", "ModuleNotFoundError", "install its package again"),
    ],
)
def test_a_wrong_door_is_reported_with_its_package(folder: Path, text: str, why: str, next_step: str) -> None:
    install(folder, more=text)
    with pytest.raises(InputError, match="'other'") as caught:
        doors()
    assert caught.value.where.startswith("other_door:Other")
    assert "toy-doors" in caught.value.where
    assert next_step in caught.value.next_step
    assert caught.value.why.startswith(why)


@pytest.mark.parametrize("name", ["toy-control", "unconfined"])
def test_a_control_is_no_door_of_a_matrix_file(folder: Path, tmp_path: Path, name: str) -> None:
    install(folder)
    (tmp_path / "m.toml").write_text(MATRIX + f'doors = ["{name}"]\n')
    with pytest.raises(InputError, match=f"there is no '{name}'"):
        load(str(tmp_path / "m.toml"))


def test_the_default_folder_of_runs_does_not_name_the_product(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CODEXSANDBOX_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert runs_folder().parent == tmp_path
    assert not [word for word in ("codex", "sandbox", "pytest", "test") if word in runs_folder().name]


def test_a_cache_of_the_user_has_the_folder_of_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CODEXSANDBOX_CACHE", str(tmp_path / "own"))
    assert runs_folder() == tmp_path / "own" / "runs"
