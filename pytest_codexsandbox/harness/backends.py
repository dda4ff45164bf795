"""Backends: the kinds of environments that are installed, found by entry point. No layer above knows one by name."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from pytest_codexsandbox.errors import HarnessError, InputError
from pytest_codexsandbox.model.artifact_status import ArtifactStatus
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.protocols import Availability, Backend, ImageStore
from pytest_codexsandbox.registry import cache_folder, install_command, load_plugin, names


class MissingPackage(HarnessError):
    """A backend is installed without a package that it needs."""


def load_backend(name: str) -> Backend:
    """Returns a new backend. MissingPackage where a package that it needs is not installed."""
    try:
        backend: Backend = load_plugin("backends", name)()
    except ImportError as problem:
        missing = (problem.name or "").partition(".")[0]
        raise MissingPackage(
            f"a Python package of the backend {name} is missing",
            why=str(problem),
            next_step=install_command("backends", name, missing),
        ) from problem
    return backend


def installed_backends() -> Iterator[tuple[str, Backend]]:
    """Yields every backend whose packages are installed, by name."""
    for name in names("backends"):
        try:
            yield name, load_backend(name)
        except MissingPackage:
            continue


def missing_packages() -> Iterator[tuple[str, MissingPackage]]:
    """Yields the backends that lack a package."""
    for name in names("backends"):
        try:
            load_backend(name)
        except MissingPackage as fault:
            yield name, fault


def environments_here(asked: Iterable[str]) -> dict[str, EnvironmentSpec]:
    """Returns the environments that `environments` of a matrix file names: each is the entry point of a backend."""
    found = {name: load_backend(name).here() for name in asked}
    return {name: spec for name, spec in found.items() if spec is not None}


def find_image_store() -> ImageStore:
    """Returns the images of the first backend that makes its own."""
    for _, backend in installed_backends():
        store = backend.image_store()
        if store is not None:
            return store
    for _, fault in missing_packages():
        raise InputError(fault.what, why=fault.why, next_step=fault.next_step)
    raise InputError("no backend that is installed here makes images")


# ---- for plans
def check_availability(specs: Sequence[EnvironmentSpec], hosts: Sequence[str] = ()) -> Availability:
    """Asks each backend which of its environments cannot be started here."""
    found = {name: _foresee(name, theirs, hosts) for name, theirs in _by_backend(specs).items()}
    return Availability(
        why_not=lambda spec: found[spec.backend].why_not(spec),
        asked=tuple(asked for one in found.values() for asked in one.asked),
        fault=next((one.fault for one in found.values() if one.fault), None),
        silent={host: why for one in found.values() for host, why in one.silent.items()},
    )


def _foresee(name: str, specs: Sequence[EnvironmentSpec], hosts: Sequence[str]) -> Availability:
    try:
        backend = load_backend(name)
    except MissingPackage as fault:
        why = f"{fault.what}: {fault.next_step}"
        return Availability(why_not=lambda spec: why, fault=fault)
    return backend.foresee(specs, cache_folder(), hosts)


def stock(cells: Iterable[Cell], asked: Sequence[PlanQuery] = ()) -> tuple[ArtifactStatus, ...]:
    """Returns what the environments of these cells are made of, as their backends know it."""
    found: list[ArtifactStatus] = []
    for backend, specs in _of_cells(cells):
        found += backend.stock(specs, cache_folder(), asked)
    return tuple(found)


# ---- for runs
def prepare(cells: Iterable[Cell], stream: TextIO) -> None:
    """Makes or downloads what the environments of these cells need, with progress on `stream`."""
    for backend, specs in _of_cells(cells):
        backend.prepare(specs, cache_folder(), stream)


def _of_cells(cells: Iterable[Cell]) -> Iterator[tuple[Backend, list[EnvironmentSpec]]]:
    """Yields each backend with its environments. One that lacks a package is skipped: its cells report that."""
    specs = {cell.environment.id: cell.environment for cell in cells}
    for name, theirs in _by_backend(specs.values()).items():
        try:
            backend = load_backend(name)
        except MissingPackage:
            continue
        yield backend, theirs


def _by_backend(specs: Iterable[EnvironmentSpec]) -> dict[str, list[EnvironmentSpec]]:
    grouped: dict[str, list[EnvironmentSpec]] = {}
    for spec in specs:
        grouped.setdefault(spec.backend, []).append(spec)
    return grouped
