"""Compares what users can name with tests/lint/inventory.toml: a clean-up cannot lose a promise or an option unseen.

What is added is added to the file too. What goes away is named in GONE with the reason.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from pytest_codexsandbox import cli
from pytest_codexsandbox.commands import NAMES
from pytest_codexsandbox.diagnosis.match import fingerprints
from pytest_codexsandbox.generators.bad.catalogue import BAD
from pytest_codexsandbox.matrix import load
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.verdict import SIGNS
from pytest_codexsandbox.pytest_plugin import options
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.reports.installed_formats import known_formats
from pytest_codexsandbox.selftest import FAKES
from tests.lint.tracked import ROOT

STORED: Final[dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("inventory.toml").read_text(encoding="utf-8")
)
_REPLAY: Final = "python -m benchmarks.replay_floor: a measurement of maintainers, which no user needs"
GONE: Final[dict[str, dict[str, str]]] = {
    "commands": {"replay-floor": _REPLAY},
    "command options": {
        **{f"replay-floor {word}": _REPLAY for word in ("--help", "-h", "--json", "--repeat", "journal")},
        "capabilities --update": "python -m tools.capability_snapshot: changes data of a checkout",
        "diagnose --markdown": "python -m tools.pages: writes a page of a checkout",
    },
}


def inventory() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    axes = ("bwrap", "codex", "distros", "expectations", "generators", "profiles", "users")
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
        "entry points": {f"{group}:{name}" for group, names in project["entry-points"].items() for name in names},
    }
    for axis in axes:
        found[axis] = {path.stem for path in (data_folder("matrix") / axis).glob("*.toml")}
    return {kind: sorted(names) for kind, names in found.items()}


def _command_options() -> Iterator[str]:
    for name in NAMES:
        for action in cli.command_parser(name, cli.load(name))._actions:
            for word in action.option_strings or [action.dest]:
                yield f"{name} {word}"


FOUND: Final = inventory()


@pytest.mark.parametrize("kind", sorted({*STORED, *FOUND}))
def test_nothing_is_lost_and_nothing_is_unlisted(kind: str) -> None:
    stored, found = set(STORED.get(kind, ())), set(FOUND.get(kind, ()))
    assert sorted(stored - found) == sorted(GONE.get(kind, {})), "lost: bring it back, or name it in GONE and say why"
    assert sorted(found - stored) == [], "new: add it to tests/lint/inventory.toml"
