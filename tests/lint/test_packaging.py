"""What a wheel and an sdist would hold, read from pyproject.toml: the real ones are built at the gate."""

import importlib
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox import registry
from pytest_codexsandbox.diagnosis.remedies import remedies
from tests.lint.tracked import ROOT, files

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BUILD = PROJECT["tool"]["hatch"]["build"]["targets"]
POINTS = {
    f"{group}: {name}": target
    for group, points in PROJECT["project"]["entry-points"].items()
    for name, target in points.items()
} | {f"script: {name}": target for name, target in PROJECT["project"]["scripts"].items()}
DATA = (
    "py.typed",
    "reports/journal.schema.json",
    "reports/page/*.j2",
    "reports/page/*.css",
    "diagnosis/fingerprints/*.toml",
    "diagnosis/remedies.toml",
    "guest/*.py",
    "generators/scaffold/*.sh",
    "generators/scaffold/README.md",
    "shipped/matrix/presets/local.toml",
    "shipped/matrix/presets/releases.toml",
    "shipped/matrix/codex/*.toml",
    "shipped/incidents/matrix/*.toml",
    "shipped/incidents/matrix/*/*.toml",
    "shipped/matrix/expectations/known.toml",
    "shipped/scenarios/start/test_*.py",
    "shipped/scenarios/trust/test_*.py",
    "shipped/scenarios/sqlite/test_*.py",
)


def wheel() -> set[str]:
    """hatch takes every file of a package that git does not ignore, and the forced folders under their new names."""
    names = {path.relative_to(ROOT).as_posix() for path in files()}
    packages = [(Path(one).parent.as_posix(), one) for one in BUILD["wheel"]["packages"]]
    installed = {
        Path(name).relative_to(above).as_posix()
        for above, package in packages
        for name in names
        if name.startswith(package + "/")
    }
    moved = {
        f"{new}/{name.removeprefix(old + '/')}"
        for old, new in BUILD["wheel"]["force-include"].items()
        for name in names
        if name.startswith(old + "/")
    }
    return installed | moved


@pytest.mark.parametrize("pattern", DATA)
def test_the_wheel_holds_every_kind_of_data(pattern: str) -> None:
    assert [name for name in wheel() if fnmatch(name, f"pytest_codexsandbox/{pattern}")]


@pytest.mark.parametrize("name", sorted({one.filter for one in remedies() if one.filter}))
def test_the_wheel_holds_the_filter_of_every_remedy(name: str) -> None:
    """`codexsandbox remedies NAME --write FILE` reads it from there."""
    assert f"pytest_codexsandbox/shipped/matrix/profiles/seccomp/{name}" in wheel()


def test_the_wheel_installs_each_generator_that_a_shipped_declaration_names() -> None:
    folders = (ROOT / "matrix" / "generators", ROOT / "incidents" / "matrix" / "generators")
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in folder.glob("*.toml")]
    modules = {found for text in texts for found in re.findall(r'^run = "py:([\w.]+):', text, flags=re.MULTILINE)}
    assert any(module.startswith("codexsandbox_incidents.") for module in modules)
    files = wheel()
    assert all({f"{module.replace('.', '/')}{end}" for end in (".py", "/__init__.py")} & files for module in modules)


def test_the_data_lies_where_an_installed_plugin_looks_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "pytest_codexsandbox"
    monkeypatch.setattr(registry, "_PACKAGE", package)
    for name in ("scenarios", "matrix", "incidents/matrix"):
        placed = registry.data_folder(name).relative_to(package.parent).as_posix()
        assert BUILD["wheel"]["force-include"][name] == placed


def test_a_checkout_and_an_editable_install_use_the_folders_themselves() -> None:
    assert registry.data_folder("scenarios") == ROOT / "scenarios"
    assert registry.data_folder("matrix") == ROOT / "matrix"
    assert registry.data_folder("incidents/matrix") == ROOT / "incidents" / "matrix"


def test_nothing_of_the_tests_is_in_the_wheel() -> None:
    assert not [name for name in wheel() if "/tests/" in name or name.endswith("conftest.py")]


def test_the_sdist_holds_what_the_wheel_is_built_from_and_what_a_reader_needs() -> None:
    included = {name.lstrip("/") for name in BUILD["sdist"]["include"]}
    assert {name for name in included if not (ROOT / name).exists()} == set()
    built_from = (*BUILD["wheel"]["packages"], *BUILD["wheel"]["force-include"])
    needed = {*(name.partition("/")[0] for name in built_from), "README.md", "LICENSE", "tests", "docs"}
    assert needed <= included


@pytest.mark.parametrize("target", POINTS.values(), ids=POINTS)
def test_every_entry_point_leads_to_something(target: str) -> None:
    module, _, attribute = target.partition(":")
    found = importlib.import_module(module)
    assert not attribute or callable(getattr(found, attribute))


def test_extras_name_what_the_code_imports() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(extras) >= {"codex", "allure", "all"}
    assert any("openai-codex-cli-bin" in one for one in extras["codex"])
    assert all(name in extras["all"][0] for name in extras if name != "all")


def test_every_dependency_is_explained() -> None:
    project = PROJECT["project"]
    words = [*project["dependencies"], *(word for extra in project["optional-dependencies"].values() for word in extra)]
    names = {re.split(r"[\[><=]", word)[0] for word in words} - {project["name"]}
    explained = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Dependencies")[2]
    assert {name for name in names if not re.search(rf"(?<![\w-]){name}(?![\w-])", explained)} == set()
