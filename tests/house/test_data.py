"""Everything that is shipped as data loads, and names only what exists."""

import tomllib
from pathlib import Path

import pytest

from pytest_codexsandbox.diagnosis.derived import DERIVED
from pytest_codexsandbox.diagnosis.match import fingerprints
from pytest_codexsandbox.matrix import deviation_files, load, survey
from pytest_codexsandbox.matrix.plan import make
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.ids import is_promise, is_value
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.registry import shipped
from pytest_codexsandbox.releases.catalogue import named

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(
    path for folder in ("matrix", "pytest_codexsandbox", "scenarios") for path in (ROOT / folder).rglob("*.toml")
)
PROMISES = tuple(promise for promise, _ in survey.promises(shipped("scenarios")))


def test_there_is_data_to_look_at() -> None:
    assert {"local.toml", "releases.toml", "known.toml"} <= {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_toml_file_is_toml(path: Path) -> None:
    assert isinstance(tomllib.loads(path.read_text(encoding="utf-8")), dict)


@pytest.mark.parametrize("name", load.presets())
def test_every_preset_loads_and_names_releases_that_are_known(name: str) -> None:
    found = load.load(name)
    assert found.description
    assert is_value(name)
    assert set(found.releases) - {load.INSTALLED} <= set(named())


def test_every_release_is_a_legal_axis_value() -> None:
    assert named()
    assert all(is_value(release) for release in named())


def test_every_promise_has_a_legal_id_a_source_a_sentence_and_known_policies() -> None:
    for promise in PROMISES:
        assert is_promise(promise.id), promise.id
        assert promise.source, promise.id
        assert promise.title, promise.id
        assert promise.summary, promise.id
        assert promise.policies, promise.id
        assert set(promise.policies) <= set(POLICIES), promise.id


def test_every_promise_can_be_planned() -> None:
    """Unknown words in `requires`, twins and unknown policies are refused while planning."""
    spec = EnvironmentSpec(id="debian-12~host~local", backend="local", distro="debian-12", user="uid-1000")
    plan = make("house", (Cell(environment=spec, subject=SubjectSpec(label="0.163.0")),), PROMISES, platform="linux")
    assert {promise.id for promise in plan.promises} == {promise.id for promise in PROMISES}


def test_the_standing_promises_are_there() -> None:
    assert {"start", "trust"} <= {promise.topic for promise in PROMISES}


def test_every_known_deviation_names_a_promise_and_a_cause_that_exist() -> None:
    files = tuple(sorted((shipped("matrix") / "expectations").glob("*.toml")))
    found = deviation_files.load(
        files,
        promises={promise.id for promise in PROMISES},
        fingerprints={*(known.id for known in fingerprints()), *(derived.fingerprint for derived in DERIVED)},
    )
    assert all(is_value(deviation.id) for deviation in found)
    by_promise = {promise.id: promise for promise in PROMISES}
    for deviation in found:
        cases = {case for promise in by_promise.values() for case in promise.cases}
        named_cases = (deviation.case,) if isinstance(deviation.case, str) else deviation.case
        assert all(any(c in case for c in "*?[") or case in cases for case in named_cases), deviation.id


def test_every_shipped_deviation_names_its_cause() -> None:
    """Without a fingerprint it would cover whatever has none: a call that took too long as well."""
    path = shipped("matrix") / "expectations" / "known.toml"
    assert [deviation.id for deviation in deviation_files.load((path,)) if not deviation.fingerprint] == []
