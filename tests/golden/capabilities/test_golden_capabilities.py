"""What released binaries said when they were asked is read today as it was measured then.

A recording holds each question (the arguments) with what the binary of that release answered. A question that is not
in it fails the test: then record anew, with the real binary.
"""

import json
import tomllib
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.releases import known_releases
from pytest_codexsandbox.releases.capability_probe import probe
from pytest_codexsandbox.releases.version_names import order, release_name
from tools import capability_snapshot

HERE = Path(__file__).parent
RECORDED = sorted((path.stem for path in HERE.glob("*.json")), key=order)


def replay(release: str, command: Command) -> CommandResult:
    answer = json.loads((HERE / f"{release}.json").read_text())[" ".join(command.argv[1:])]
    return CommandResult(
        ended="exit", exit=answer["exit"], stdout=answer["stdout"].encode(), stderr=answer["stderr"].encode()
    )


def test_each_shape_of_the_command_is_recorded() -> None:
    shapes = {known_releases.capabilities()[release].sandbox for release in RECORDED}
    assert shapes == {"debug-landlock", "sandbox-linux", "sandbox"}


@pytest.mark.parametrize("release", RECORDED)
def test_the_recorded_words_are_read_as_the_golden_row(release: str, tmp_path: Path) -> None:
    found = probe("/codex", run=lambda command: replay(release, command), home=tmp_path)
    row = known_releases.capabilities()[release]
    # Whether a bubblewrap lies beside the binary is not among its words.
    assert known_releases.disagreement(release, msgspec.structs.replace(found, bundled_bwrap=row.bundled_bwrap)) == ""


@pytest.mark.parametrize("field", [name for name in capability_snapshot.FIELDS if name != "version"])
def test_a_probe_that_says_something_else_is_a_disagreement_that_names_the_field(field: str) -> None:
    row = known_releases.capabilities()["0.128.0"]
    value = getattr(row, field)
    changed = msgspec.structs.replace(row, **{field: (not value) if isinstance(value, bool) else "other"})
    assert known_releases.disagreement("0.128.0", changed).startswith(f"{field} is ")


def test_a_release_that_was_never_measured_agrees_unless_it_calls_itself_otherwise() -> None:
    row = known_releases.capabilities()["0.169.0"]
    assert known_releases.disagreement("0.999.0", msgspec.structs.replace(row, version="0.999.0")) == ""
    assert known_releases.disagreement("0.999.0", row) == "version is '0.169.0', was '0.999.0'"


def test_the_golden_file_is_what_the_tool_would_write() -> None:
    assert known_releases.golden().read_text(encoding="utf-8") == capability_snapshot.text(
        known_releases.capabilities()
    )


def test_every_release_of_the_preset_is_measured_and_named() -> None:
    preset = tomllib.loads((data_folder("matrix") / "presets" / "releases.toml").read_text(encoding="utf-8"))
    assert set(preset["releases"]) <= set(known_releases.capabilities())
    assert set(known_releases.capabilities()) <= set(known_releases.named())


def test_the_named_releases_are_stable_ones_in_order_each_with_a_place() -> None:
    names = known_releases.named()
    assert len(names) >= 100
    assert list(names) == sorted(names, key=order)
    for name, known in known_releases.known().items():
        assert release_name(name) == name
        assert order(name) >= order("0.40.0")
        assert known.npm > 0
