"""Backends: the kinds of environments that are installed, found by entry point. No layer above knows a backend by
name."""

import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, InputError
from pytest_codexsandbox.model.artifact_status import ArtifactStatus
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.ids import is_value
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.protocols import Availability, Backend, ImageStore
from pytest_codexsandbox.registry import cache_folder, install_command, is_own, load_plugin, names, origin, points
from pytest_codexsandbox.reports.escape import visible

_GROUP: Final = "backends"


class MissingPackage(HarnessError):
    """A backend is installed without a package that it needs."""


class BackendFault(HarnessError):
    """A third-party backend raised an unforeseen exception."""


@contextmanager
def told_as_theirs(name: str) -> Iterator[None]:
    """Reports an unforeseen exception of a third-party backend as that backend's error. Exceptions of the shipped
    backends stay as they are."""
    try:
        yield
    except CodexSandboxError:
        raise
    except Exception as fault:
        if any(is_own(point) for point in points(_GROUP) if point.name == name):
            raise
        last = traceback.extract_tb(fault.__traceback__)[-1]
        raise BackendFault(
            f"the backend {name!r} failed",
            where=origin(_GROUP, name),
            why=visible(f"{type(fault).__name__}: {fault}, {last.filename}:{last.lineno}"),
        ) from fault


def load_backend(name: str) -> Backend:
    """Returns a new backend. Raises MissingPackage where a package that it needs is not installed, BackendFault where
    it cannot be created."""
    with told_as_theirs(name):
        return _new(name)


def _new(name: str) -> Backend:
    try:
        backend: Backend = load_plugin(_GROUP, name)()
    except ImportError as problem:
        missing = (problem.name or "").partition(".")[0]
        raise MissingPackage(
            f"a Python package of the backend {name} is missing",
            why=str(problem),
            next_step=install_command(_GROUP, name, missing),
        ) from problem
    return backend


def installed_backends() -> Iterator[tuple[str, Backend]]:
    """Yields every backend that can be loaded, by name."""
    for name in names(_GROUP):
        try:
            yield name, load_backend(name)
        except (MissingPackage, BackendFault):
            continue


def missing_packages(among: Iterable[str] | None = None) -> Iterator[tuple[str, MissingPackage]]:
    """Yields the backends that lack a package; `among`: their names, else all."""
    for name in names(_GROUP) if among is None else among:
        try:
            load_backend(name)
        except MissingPackage as fault:
            yield name, fault
        except BackendFault:
            continue


def environments_here(asked: Iterable[str]) -> dict[str, EnvironmentSpec]:
    """Returns the environments that `environments` of a matrix file names. Each name is the entry point of a
    backend."""
    found = {name: _here(name) for name in asked}
    return {name: spec for name, spec in found.items() if spec is not None}


def _here(name: str) -> EnvironmentSpec | None:
    backend = load_backend(name)
    with told_as_theirs(name):
        spec = backend.here()
    if spec is None or (isinstance(spec, EnvironmentSpec) and spec.backend == name and _is_id(spec.id)):
        return spec
    raise InputError(
        f"the environment of the backend {name!r} cannot be measured",
        where=origin(_GROUP, name),
        why=f"`here` must return an EnvironmentSpec with backend={name!r} and an id of lower-case letters, digits and "
        f". + _ -, in parts with ~ between them; it returned {spec!r}",
    )


def _is_id(text: str) -> bool:
    return all(map(is_value, text.split("~")))


def find_image_store() -> ImageStore:
    """Returns the images of the first backend that builds its own."""
    for name, backend in installed_backends():
        with told_as_theirs(name):
            store = backend.image_store()
        if store is not None:
            return store
    for _, fault in missing_packages():
        raise InputError(fault.what, why=fault.why, next_step=fault.next_step)
    raise InputError("no installed backend builds images")


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
    with told_as_theirs(name):
        found = backend.foresee(specs, cache_folder(), hosts)
    if found.fault is None:
        return found
    none = ": ".join(filter(None, (found.fault.what, found.fault.why, found.fault.next_step)))
    return msgspec.structs.replace(found, why_not=lambda spec: found.why_not(spec) or none)


def stock(cells: Iterable[Cell], asked: Sequence[PlanQuery] = ()) -> tuple[ArtifactStatus, ...]:
    """Returns the artifacts of these cells' environments, as their backends know them."""
    found: list[ArtifactStatus] = []
    for name, backend, specs in _of_cells(cells):
        with told_as_theirs(name):
            found += backend.stock(specs, cache_folder(), asked)
    return tuple(found)


# ---- for runs
def prepare(cells: Iterable[Cell], stream: TextIO) -> None:
    """Makes or downloads what the environments of these cells need, with progress on `stream`. A backend that fails is
    reported on `stream`; its environments report what they lack when they are opened."""
    for name, backend, specs in _of_cells(cells):
        try:
            with told_as_theirs(name):
                backend.prepare(specs, cache_folder(), stream)
        except BackendFault as fault:
            stream.write(f"{fault}\n")


def _of_cells(cells: Iterable[Cell]) -> Iterator[tuple[str, Backend, list[EnvironmentSpec]]]:
    """Yields each backend with name and environments. One that lacks a package is skipped: its cells report that."""
    specs = {cell.environment.id: cell.environment for cell in cells}
    for name, theirs in _by_backend(specs.values()).items():
        try:
            backend = load_backend(name)
        except MissingPackage:
            continue
        yield name, backend, theirs


def _by_backend(specs: Iterable[EnvironmentSpec]) -> dict[str, list[EnvironmentSpec]]:
    grouped: dict[str, list[EnvironmentSpec]] = {}
    for spec in specs:
        grouped.setdefault(spec.backend, []).append(spec)
    return grouped
