"""Everything that is shipped as data loads, and names only what exists."""

import fnmatch
import itertools
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.diagnosis.builtin_causes import DERIVED
from pytest_codexsandbox.diagnosis.match import fingerprints
from pytest_codexsandbox.harness.suites.installed import installed_suites
from pytest_codexsandbox.matrix import expectation_files, load, scenario_index
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.matrix.combinations import LeftOut
from pytest_codexsandbox.matrix.container_cells import CellChooser
from pytest_codexsandbox.matrix.plan import make
from pytest_codexsandbox.matrix.where_clause import Where, fits, values
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.ids import is_promise, is_value
from pytest_codexsandbox.model.policy import POLICIES, SANDBOXED
from pytest_codexsandbox.model.suite_traits import SANDBOX
from pytest_codexsandbox.registry import data_folder, doors
from pytest_codexsandbox.releases.known_releases import named

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "scenarios" / "generator" / "cases"  # files as users have them: tests/unit/generators/test_corpus.py
FILES = sorted(
    path
    for folder in ("matrix", "pytest_codexsandbox", "scenarios")
    for path in (ROOT / folder).rglob("*.toml")
    if not (CORPUS in path.parents and path.name == "config.toml")
)
PROMISES = tuple(promise for promise, _ in scenario_index.promises(data_folder("scenarios")))


def test_there_is_data_to_look_at() -> None:
    assert {"local.toml", "releases.toml", "known.toml"} <= {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_toml_file_is_toml(path: Path) -> None:
    assert isinstance(tomllib.loads(path.read_text(encoding="utf-8")), dict)


@pytest.mark.parametrize("name", load.offered())
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
        assert set(promise.policies) <= {*POLICIES, *installed_suites()[promise.suite].traits.policies}, promise.id


def test_every_promise_can_be_planned() -> None:
    """Unknown words in `requires`, twins and unknown policies are refused while planning."""
    spec = EnvironmentSpec(id="debian-12~host~local", backend="local", distro="debian-12", user="uid-1000")
    plan = make(
        "house",
        (Cell(environment=spec, subject=SubjectSpec(label="0.163.0")),),
        PROMISES,
        doors=(doors()["sandbox"], doors()["exec"]),
        platform="linux",
    )
    assert {promise.id for promise in plan.promises} == {one.id for one in PROMISES if one.suite == SANDBOX}


def test_the_standing_promises_are_there() -> None:
    assert {"start", "trust"} <= {promise.topic for promise in PROMISES}


def test_every_known_deviation_names_a_promise_and_a_cause_that_exist() -> None:
    files = tuple(sorted((data_folder("matrix") / "expectations").glob("*.toml")))
    found = expectation_files.load(
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
    path = data_folder("matrix") / "expectations" / "known.toml"
    assert [deviation.id for deviation in expectation_files.load((path,)) if not deviation.fingerprint] == []


CONTAINER_AXES = {"distro": "distros", "bwrap": "bwrap", "profile": "profiles", "user": "users"}
KNOWN = [
    pytest.param(axis, value, id=f"{deviation.id}-{axis}-{value}")
    for deviation in expectation_files.load((data_folder("matrix") / "expectations" / "known.toml",))
    for axis in CONTAINER_AXES
    for value in values(deviation.where, axis)
]


@pytest.mark.parametrize(("axis", "value"), KNOWN)
def test_every_name_in_a_shipped_deviation_is_in_the_catalogue(axis: str, value: str) -> None:
    """A misspelt profile would fit no cell, and what it was to cover would be news in every run."""
    assert fnmatch.filter(SHIPPED.values(CONTAINER_AXES[axis]), value)


def test_no_two_shipped_deviations_say_how_one_start_fails() -> None:
    """Where two bind, one of them is violated in another way: stale in every run that measures the cell."""
    matrix = load.load("pull-request")
    assert matrix.containers is not None
    containers = {
        "distro": matrix.containers.distros,
        "bwrap": matrix.containers.bwraps,
        "profile": matrix.containers.profiles,
        "user": matrix.containers.users,
    }
    shipped_ones = expectation_files.load((data_folder("matrix") / "expectations" / "known.toml",))
    starts = [one for one in shipped_ones if one.promise == "start.sandbox-is-on"]
    assert starts
    bound: dict[tuple[str, ...], str] = {}
    for deviation in starts:
        named = {**containers, "codex": matrix.releases, "policy": tuple(POLICIES)}
        kept = {
            axis: [value for value in every if _fits(deviation.where, axis, value)] for axis, every in named.items()
        }
        for place in itertools.product(*kept.values()):
            assert bound.setdefault(place, deviation.id) == deviation.id, place


def test_a_start_that_is_refused_is_known_where_a_sandbox_is_asked_for_alone() -> None:
    """Bound to danger-full-access as well, it would be stale in every run that measures that policy."""
    free = [policy for policy in POLICIES if policy not in SANDBOXED]
    shipped_ones = expectation_files.load((data_folder("matrix") / "expectations" / "known.toml",))
    refused = [one for one in shipped_ones if one.promise.startswith("start.") and one.direction == "denied"]
    assert refused and free
    assert [one.id for one in refused if any(_fits(one.where, "policy", policy) for policy in free)] == []


def _fits(where: Where, axis: str, value: str) -> bool:
    return axis not in where or fits({axis: where[axis]}, {axis: value}, version=value)


# ---- presets of containers
PICKED = tuple(name for name in load.presets() if (load.load(name).containers or load.Containers()).pairs)


def _choice(name: str, **more: Any) -> CellChooser:
    matrix = load.load(name)
    subjects = tuple(SubjectSpec(label=release, release=release) for release in matrix.releases)
    return CellChooser(matrix, subjects, arch="x86_64", **more)


@pytest.mark.parametrize("name", PICKED)
def test_the_cells_of_a_preset_are_locked(name: str) -> None:
    matrix = load.load(name)
    assert matrix.containers is not None
    assert matrix.lock is not None
    now = _choice(name).to_lock(matrix.containers.pairs)
    assert set(matrix.lock.cells) == set(now), f"renew it: codexsandbox plan {name} --update-lock"


@pytest.mark.parametrize("without", [(), ("alpine-3.22", "fedora-43"), ("ubuntu-22.04", "ubuntu-24.04")])
def test_a_pull_request_costs_at_most_120_cells_and_holds_every_possible_pair(without: tuple[str, ...]) -> None:
    left = tuple(LeftOut(values={"distro": distro}, why="no registry answers") for distro in without)
    found = _choice("pull-request", left=left).chosen(2)
    assert found.picked is not None
    assert 80 <= len(found.cells) <= 120
    assert found.picked.coverage.covered(cell.axes for cell in found.cells) == found.picked.coverage.coverable


# ---- the preset over all profiles
def test_the_preset_over_profiles_has_all_that_are_shipped_but_what_needs_an_engine_of_its_own() -> None:
    asked = load.load("profiles").containers
    assert asked is not None
    ordinary = {name for name in SHIPPED.values("profiles") if not SHIPPED.profile(name).userns}
    assert set(asked.profiles) == ordinary, "a profile is also a line of matrix/presets/profiles.toml"


def test_the_preset_over_profiles_asks_whether_a_sandbox_starts_and_nothing_else() -> None:
    """A topic that is new is to be skipped there as well."""
    matrix = load.load("profiles")
    there = [promise for promise, _ in scenario_index.promises(data_folder("scenarios")) if promise.suite == SANDBOX]
    kept = [promise.id for promise in there if not any(fnmatch.fnmatchcase(promise.id, glob) for glob in matrix.skip)]
    assert {name.partition(".")[0] for name in kept} == {"start", "trust"}
    assert all(any(fnmatch.fnmatchcase(promise.id, glob) for promise in there) for glob in matrix.skip)


@pytest.mark.parametrize("release", ["0.99.0", "0.114.0", "0.128.0", "0.145.0", "0.149.0"])
def test_root_keeps_capabilities_where_something_gives_it_any(release: str) -> None:
    """Landlock adds none, so a root without any has none inside. A user namespace of bubblewrap gives root all."""
    known = expectation_files.load((data_folder("matrix") / "expectations" / "known.toml",))
    about = [one.where for one in known if one.promise == "process.no-capabilities"]
    places = {"": {"environment": "debian-12~host~local"}}
    for path in (data_folder("matrix") / "profiles").glob("*.toml"):
        places[path.stem] = {"environment": f"a~{path.stem}~root", "profile": path.stem}
    covered = {
        name
        for name, axes in places.items()
        for where in about
        if fits(where, {"user": "root", "codex": release, **axes}, version=release)
    }
    release_number = tuple(map(int, release.split(".")))
    without_any = {
        path.stem
        for path in (data_folder("matrix") / "profiles").glob("*.toml")
        if "ALL" in tomllib.loads(path.read_text(encoding="utf-8")).get("cap_drop", ())
    }
    assert without_any == {"cap-drop-all"}
    wanted = set() if release_number >= (0, 149) else set(places)
    assert covered == wanted - (without_any if release_number < (0, 115) else set())
