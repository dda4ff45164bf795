"""Backends by entry point: what each of them says for plans, and one that lacks a package."""

import io
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TextIO

import msgspec
import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness import backends
from pytest_codexsandbox.harness.backends import MissingPackage
from pytest_codexsandbox.model.artifact_status import ArtifactStatus
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.protocols import Availability, Backend, Environment, Notify, ProvidedProgram, silent
from tests.unit.matrix.builders import environment, plan

prepared: list[list[str]] = []


class Bare(Backend):
    """Only what a backend must have."""

    def open(
        self,
        spec: EnvironmentSpec,
        folder: Path,
        *,
        cache: Path | None = None,
        brought: Sequence[ProvidedProgram] = (),
        say: Notify = silent,
    ) -> AbstractContextManager[Environment]:
        raise NotImplementedError

    def audit(self) -> tuple[str, ...]:
        return ()


class Full(Bare):
    def foresee(self, specs: Sequence[EnvironmentSpec], cache: Path, hosts: Sequence[str] = ()) -> Availability:
        asked = tuple(PlanQuery(kind="archive", name=spec.distro, answer="no") for spec in specs)
        return Availability(why_not=lambda spec: f"no {spec.distro} at {', '.join(hosts)}", asked=asked)

    def stock(
        self, specs: Iterable[EnvironmentSpec], cache: Path, asked: Sequence[PlanQuery] = ()
    ) -> tuple[ArtifactStatus, ...]:
        return tuple(ArtifactStatus(kind="image", name=spec.distro, ready=False) for spec in specs)

    def prepare(self, specs: Sequence[EnvironmentSpec], cache: Path, stream: TextIO) -> None:
        prepared.append([spec.id for spec in specs])


def without_its_package(group: str, name: str) -> object:
    raise ImportError("No module named 'docker'", name="docker")


@pytest.mark.parametrize(
    ("plugged", "said", "asked", "made_of"),
    [
        (lambda group, name: Full, "no debian-12 at tcp://a, ssh://b", ["debian-12"], ["debian-12"]),
        (lambda group, name: Bare, "", [], []),
        (
            without_its_package,
            "a Python package of the backend local is missing: pip install docker",
            [],
            [],
        ),
    ],
)
def test_each_backend_says_what_it_cannot_have(
    monkeypatch: pytest.MonkeyPatch,
    plugged: Callable[[str, str], object],
    said: str,
    asked: list[str],
    made_of: list[str],
) -> None:
    monkeypatch.setattr(backends, "load_plugin", plugged)
    found = backends.check_availability((environment(),), ("tcp://a", "ssh://b"))
    assert found.why_not(environment()) == said
    assert [one.name for one in found.asked] == asked
    assert [one.name for one in backends.stock(plan().cells)] == made_of


def test_everything_but_open_and_audit_has_a_default(tmp_path: Path) -> None:
    bare = Bare()
    assert bare.here() is None and bare.image_store() is None
    assert bare.foresee((environment(),), tmp_path).why_not(environment()) == ""
    assert (bare.stock((), tmp_path), bare.about()) == ((), {})
    assert [*bare.doctor((), tmp_path, None), *bare.leftovers((), silent)] == []
    bare.prepare((environment(),), tmp_path, io.StringIO())
    with pytest.raises(TypeError, match="abstract"):
        type("Nothing", (Backend,), {})()


def test_each_environment_is_prepared_once_by_its_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "load_plugin", lambda group, name: Full)
    (cell,) = plan().cells
    other = msgspec.structs.replace(cell.environment, id="other")
    cells = [cell, cell, Cell(environment=other, subject=cell.subject)]
    prepared.clear()
    backends.prepare(cells, io.StringIO())
    assert prepared == [[cell.environment.id, "other"]]


def test_a_matrix_file_names_environments_by_entry_point() -> None:
    assert list(backends.environments_here(["local"])) == ["local"]
    with pytest.raises(InputError, match="backend called 'toy'"):
        backends.environments_here(["toy"])


def test_images_need_a_backend_that_makes_some(monkeypatch: pytest.MonkeyPatch) -> None:
    assert backends.find_image_store()
    monkeypatch.setattr(backends, "load_plugin", lambda group, name: Bare)
    with pytest.raises(InputError, match="no installed backend"):
        backends.find_image_store()
    monkeypatch.setattr(backends, "load_plugin", without_its_package)
    with pytest.raises(InputError) as raised:
        backends.find_image_store()
    assert raised.value.next_step == "pip install 'pytest-codexsandbox[docker]'"
    with pytest.raises(MissingPackage, match=r"backend docker\b"):
        backends.load_backend("docker")
