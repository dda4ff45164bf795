"""Names: no name from before the renaming is left, and each name says one thing."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.lint import tracked
from tests.lint.tracked import ROOT, files

PACKAGE: Final = "pytest_codexsandbox"
MAP: Final = Path(__file__).with_name("old_names.tsv")
ROWS: Final = [line.split("\t") for line in MAP.read_text(encoding="utf-8").splitlines()[1:]]
LAYERS: Final = {
    "entries": ("plugin", "cli", "pytest_plugin", "commands", "hookspecs"),
    "harness": ("harness", "journal"),
    "parts": ("generators", "environments", "doors", "diagnosis", "reports", "matrix", "releases", "selftest"),
    "base": ("contract", "api", "config_writer", "system", "registry", "protocols", "errors"),
    "data": ("model",),
    "guest": ("guest",),
}
TEXTS: Final = (".py", ".md", ".toml", ".yml", "")
TABLES: Final = 60  # statements that the formatter leaves alone, because a reader needs their columns


def sources(folder: str = "") -> Iterator[tuple[Path, ast.Module]]:
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".py" and name.startswith(folder):
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def exists(dotted: str) -> bool:
    place = ROOT.joinpath(*dotted.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def test_no_text_names_a_module_that_was_renamed() -> None:
    gone = [f"{PACKAGE}.{old}" for kind, old, _ in ROWS if kind == "module" and not exists(f"{PACKAGE}.{old}")]
    assert len(gone) > 250
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, gone))})(?!\w)")
    found = [
        f"{path.relative_to(ROOT)}: {match}"
        for path in files()
        if path.suffix in TEXTS and path.name != "CHANGELOG.md" and "cases" not in path.parts
        for match in pattern.findall(tracked.text(path) or "")
    ]
    assert found == []


@pytest.mark.parametrize(("old", "new"), [(old, new) for kind, old, new in ROWS if kind == "name"])
def test_a_renamed_class_or_function_has_its_old_name_nowhere_in_its_module(old: str, new: str) -> None:
    module, name = old.rsplit(".", 1)
    if not exists(f"{PACKAGE}.{module}"):  # a method: the last word of `module` is its class
        module = module.rpartition(".")[0]
    path = ROOT.joinpath(PACKAGE, *module.split(".")).with_suffix(".py")
    assert path.is_file(), f"{MAP.name} names the module {module}, which is gone: name the one that has {new} now"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    of_a_class = name[0].islower() and old.split(".")[-2][0].isupper()
    assert new.rpartition(".")[2] in _defined(tree), f"{path.name} defines no {new}: name the module that defines it"
    bodies = [node for node in tree.body if isinstance(node, ast.ClassDef)] if of_a_class else [tree]
    assert name not in {found for body in bodies for found in _named(body)}, f"{old} is called {new}"


def _named(body: ast.Module | ast.ClassDef) -> set[str]:
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in body.body if isinstance(node, kinds)}


def _defined(tree: ast.Module) -> set[str]:
    """Returns each name of a class, function, method, field or constant of a module; an import defines none."""
    bodies: list[ast.Module | ast.ClassDef] = [tree]
    bodies += [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    found = {name for body in bodies for name in _named(body)}
    for node in (statement for body in bodies for statement in body.body):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_no_import_gives_a_module_another_name() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {alias.name} as {alias.asname}"
        for path, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if alias.asname and exists(f"{node.module}.{alias.name}")
    ]
    assert found == []


def test_a_class_has_its_name_for_itself_in_its_layer() -> None:
    layer_of = {part: layer for layer, parts in LAYERS.items() for part in parts}
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, tree in sources(f"{PACKAGE}/"):
        part = path.relative_to(ROOT / PACKAGE).with_suffix("").parts[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and part in layer_of:
                places[layer_of[part], node.name].append(path.relative_to(ROOT).as_posix())
    assert len(places) > 300
    twins = {name: found for (_, name), found in places.items() if len(found) > 1}
    assert twins == {}, "rename one of them: a class name occurs once in its layer"


def test_a_guest_program_imports_the_same_names_as_a_module_and_as_a_file() -> None:
    """Started as a file, a program of the guest imports the files beside it. No type checker reads those imports."""
    pairs = 0
    for path, tree in sources(f"{PACKAGE}/guest/"):
        for node in tree.body:
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                typed, real = (_imported(body) for body in (node.body, node.orelse))
                assert not real or typed == real, path.name
                pairs += bool(real)
    assert pairs > 3


def _imported(body: list[ast.stmt]) -> set[str]:
    return {
        alias.asname or alias.name
        for node in body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    } - {"sys", "os"}


def test_the_folders_of_the_unit_tests_are_those_of_the_product() -> None:
    folders = {path.parent.relative_to(ROOT / "tests" / "unit") for path, _ in sources("tests/unit/")}
    of_the_product = {folder for folder in folders if (ROOT / PACKAGE / folder).is_dir()}
    assert {str(folder) for folder in folders - of_the_product} == {"incidents"}


def test_a_helper_of_the_unit_tests_is_called_builders() -> None:
    names = {path.name for path, _ in sources("tests/unit/") if not path.name.startswith(("test_", "fake_"))}
    assert {name for name in names if not name.endswith("builders.py")} <= {"conftest.py", "__init__.py"}


def test_the_formatter_lays_out_all_but_tables() -> None:
    mark = "# fmt: " + "skip"
    marks = sum((tracked.text(path) or "").count(mark) for path in files() if path.suffix == ".py")
    assert marks <= TABLES
