"""The seam of suites: no module tells suites apart by a policy, a pseudo-door or the class of a trial."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lint.tracked import ROOT

PACKAGE = ROOT / "pytest_codexsandbox"
DATA = {"model/generator_suite.py"}
# The generator suite: its suite object, what runs its cases, and the commands that ask a generator alone.
GENERATOR_SUITE = {
    "api.py",
    "commands/generator_try.py",
    "commands/selftest_generators.py",
    "generators/policy_acts.py",
    "harness/suites/generator.py",
    "model/suite_index.py",
}
FOLDER = "harness/generators/"
JOURNAL_FIELD = {"model/journal_lines.py", "matrix/plan.py", "reports/readme_line.py"}  # of schema 1
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def belongs(path: Path) -> bool:
    return name_of(path) in GENERATOR_SUITE | DATA or name_of(path).startswith(FOLDER)


def faults(source: str) -> Iterator[str]:
    """Yields what tells a suite apart by its policy, its pseudo-door or the class of its trial."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and node.value == "as-asked":
            yield f"{node.lineno}: the policy of the generator suite"
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("model.generator_suite"):
            yield f"{node.lineno}: imports the generator suite's data"
        if isinstance(node, ast.Name) and node.id in ("AS_ASKED", "GENERATED", "RealGeneratorTrial"):
            yield f"{node.lineno}: {node.id}"
        if isinstance(node, ast.Compare) and "generator" in _compared_with_door(node):
            yield f"{node.lineno}: the pseudo-door of the generator suite"


def _compared_with_door(node: ast.Compare) -> set[object]:
    sides = (node.left, *node.comparators)
    if not any(isinstance(side, ast.Attribute | ast.Name) and ast.unparse(side).endswith("door") for side in sides):
        return set()
    return {side.value for side in sides if isinstance(side, ast.Constant)}


@pytest.mark.parametrize("path", [path for path in MODULES if not belongs(path)], ids=name_of)
def test_no_module_outside_the_generator_suite_knows_its_policy(path: Path) -> None:
    assert list(faults(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", [path for path in MODULES if name_of(path) not in JOURNAL_FIELD], ids=name_of)
def test_no_promise_is_asked_whether_it_is_about_generators(path: Path) -> None:
    assert not re.search(r"\bof_generators\b", path.read_text(encoding="utf-8"))


def test_no_trial_is_recognised_by_its_class() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                assert "Trial" not in ast.unparse(node.args[1]), f"{name_of(path)}:{node.lineno}"


@pytest.mark.parametrize(
    "line",
    [
        'key.policy == "as-asked"',
        "from pytest_codexsandbox.model.generator_suite import DOOR",
        "key.policy != AS_ASKED",
        "isinstance(trial, RealGeneratorTrial)",
        'key.door == "generator"',
    ],
)
def test_the_old_sites_would_be_found(line: str) -> None:
    assert list(faults(line))


def test_every_exemption_exists_and_is_needed() -> None:
    for name in GENERATOR_SUITE | DATA:
        source = (PACKAGE / name).read_text(encoding="utf-8")
        assert "generator_suite" in source or name in DATA, name
    for name in JOURNAL_FIELD:
        assert "of_generators" in (PACKAGE / name).read_text(encoding="utf-8"), name
