"""Inventory: lists what users can name, by kind, and adds what is new to tests/lint/inventory.toml.

It removes nothing: tests/lint/test_inventory.py fails where a name of the file is gone.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from pytest_codexsandbox import cli
from pytest_codexsandbox.commands import NAMES
from pytest_codexsandbox.diagnosis.match import fingerprints
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.generators.bad.catalogue import BAD
from pytest_codexsandbox.matrix import load
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.verdict import SIGNS
from pytest_codexsandbox.pytest_plugin import options
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.reports.installed_formats import known_formats
from pytest_codexsandbox.selftest import FAKES

ROOT: Final = Path(__file__).resolve().parents[1]
FILE: Final = ROOT / "tests" / "lint" / "inventory.toml"
AXES: Final = ("bwrap", "codex", "distros", "expectations", "generators", "profiles", "users")
RENEW: Final = "python -m tools.pages"
INSTALL: Final = "pip install -e ."
_HEAD: Final = "# What users can name, by kind; tests/lint/test_inventory.py compares it with the program."


def stored() -> dict[str, list[str]]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def inventory() -> dict[str, list[str]]:
    """Returns what the program has, by kind. Raises InputError if pip has not read the entry points of today."""
    check_installed()
    found = {
        "promises": {promise.id for promise, _ in promises(data_folder("scenarios"))},
        "pytest options": {f"--codex-{name}" for name, *_ in options._OPTIONS},
        "ini keys": {options.dest(name) for name, *_ in options._OPTIONS},
        "commands": set(NAMES),
        "command options": set(_command_options()),
        "report formats": set(known_formats()),
        "bad subjects": {fake.name for fake in FAKES},
        "bad generators": {bad.name for bad in BAD},
        "cases": {path.name for path in (data_folder("scenarios") / "generator" / "cases").iterdir() if path.is_dir()},
        "presets": set(load.presets()),
        "incidents": set(load.incidents()),
        "policies": set(POLICIES),
        "verdicts": {verdict.value for verdict in SIGNS},
        "fingerprints": {one.id for one in fingerprints()},
        "entry points": {row.partition(" = ")[0] for row in declared_points()},
    }
    for axis in AXES:
        found[axis] = {path.stem for path in (data_folder("matrix") / axis).glob("*.toml")}
    return {kind: sorted(names) for kind, names in found.items()}


def text() -> str:
    """Returns the whole file with every new name in it."""
    return written(stored(), inventory())


def written(known: Mapping[str, Sequence[str]], found: Mapping[str, Sequence[str]]) -> str:
    lines = [_HEAD]
    for kind in dict.fromkeys((*known, *found)):
        names = sorted({*known.get(kind, ()), *found.get(kind, ())})
        lines += ["", f"{_key(kind)} = [", *(f'  "{name}",' for name in names), "]"]
    return "\n".join(lines) + "\n"


def check_installed() -> None:
    """Raises InputError if pyproject.toml has other entry points than the installed metadata."""
    known = {
        f"{point.group}:{point.name} = {point.value}" for point in distribution("pytest-codexsandbox").entry_points
    }
    differ = sorted(set(declared_points()) ^ {row for row in known if not row.startswith("console_scripts:")})
    if differ:
        raise InputError(
            "pip has not read the entry points of pyproject.toml since they changed",
            where="pyproject.toml",
            why="; ".join(differ),
            next_step=INSTALL,
        )


def declared_points() -> list[str]:
    """Returns the entry points of pyproject.toml, as `group:name = value`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups: dict[str, dict[str, str]] = project["entry-points"]
    return [f"{group}:{name} = {value}" for group, names in groups.items() for name, value in names.items()]


def _key(kind: str) -> str:
    return kind if kind.isalpha() else f'"{kind}"'


def _command_options() -> Iterator[str]:
    for name in NAMES:
        for action in cli.command_parser(name, cli.load(name))._actions:
            for word in action.option_strings or [action.dest]:
                yield f"{name} {word}"
