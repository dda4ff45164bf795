"""Which cells a run has: what was asked for, what this machine can have, what fits into the time.

What is read from this machine is read once, by the process that the user started; workers are told, so that each of
them plans the same.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.errors import MachineFault
from pytest_codexsandbox.harness import feasibility
from pytest_codexsandbox.harness.durations import Learned, learn, work_of
from pytest_codexsandbox.harness.feasibility import CONTAINERS, REGISTRY_LIMIT, Lack
from pytest_codexsandbox.matrix.budget import Budget, within
from pytest_codexsandbox.matrix.combinations import Left
from pytest_codexsandbox.matrix.container_cells import Picked, WhyNot, cannot_be_had, environments
from pytest_codexsandbox.matrix.expand import Expanded, arch_of, expand
from pytest_codexsandbox.matrix.load import MatrixFile
from pytest_codexsandbox.model.artifact_status import Stock
from pytest_codexsandbox.model.cell import EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_queries import Asked
from pytest_codexsandbox.protocols import Foreseen
from pytest_codexsandbox.registry import cache_folder, plugged
from pytest_codexsandbox.releases.download_estimate import Forecast

_NO_PACKAGE = "the Python package of containers is missing"
_INSTALL = "pip install 'pytest-codexsandbox[docker]'"
MISSING = f"{_NO_PACKAGE}: {_INSTALL}"


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What planning depends on beside the command and its files."""

    left: tuple[Left, ...] = ()  # axis values that cannot be had here
    asked: tuple[Asked, ...] = ()  # by whom that was said
    lacks: tuple[Lack, ...] = ()  # parts of the matrix that cannot be measured here
    silent: tuple[str, ...] = ()  # named engines that do not answer
    forecasts: dict[str, Forecast] = {}  # by label of a release
    learned: Learned = Learned()
    workers: int = 1
    picked: Picked | None = None  # by pairs: found once, it can take a while


def look(
    matrix: MatrixFile, report_dir: Path, *, subjects: Sequence[SubjectSpec] = (), workers: int = 1,
    hosts: Sequence[str] = (), why_not: WhyNot | None = None, scale: float = 1.0,
) -> Known:  # fmt: skip
    """Reads files, and starts nothing; backends and registries are asked, in few seconds, what no file says."""
    asked = environments(matrix, arch=arch_of(here()))
    foreseen = Foreseen(why_not=why_not) if why_not else foresight(tuple(asked.values()), hosts)
    forecasts = feasibility.forecasts(subjects, cache_folder(), limit=REGISTRY_LIMIT * scale)
    lacks = [feasibility.lack(CONTAINERS, foreseen.fault)] if foreseen.fault else []
    lacks += [feasibility.lack(f"engine {host}", why, required=False) for host, why in foreseen.silent.items()]
    return Known(
        left=() if foreseen.fault else cannot_be_had(asked, foreseen.why_not), asked=foreseen.asked,
        lacks=(*lacks, *feasibility.of_releases(forecasts)), silent=tuple(foreseen.silent), forecasts=forecasts,
        learned=learn(report_dir), workers=workers,
    )  # fmt: skip


def for_listing(known: Known) -> Known:
    """The same as if every part could be measured: a list of tests needs no engine."""
    return msgspec.structs.replace(known, lacks=(), silent=())


def here() -> dict[str, EnvironmentSpec]:
    return {"local": this_machine()}


def expanded(
    matrix: MatrixFile, subjects: Sequence[SubjectSpec], known: Known, *, pairs: int | None, hosts: Sequence[str],
    generators: Sequence[str] = (),
) -> Expanded:  # fmt: skip
    parts = {one.part for one in known.lacks}
    measured = msgspec.structs.replace(matrix, containers=None) if CONTAINERS in parts else matrix
    there = tuple(one for one in subjects if feasibility.release(one.label) not in parts)
    if known.lacks and not (there and (measured.environments or measured.containers)):
        raise feasibility.nothing(matrix.preset, known.lacks)
    found = expand(
        measured, environments=here(), subjects=there, pairs=pairs, left=known.left,
        hosts=[host for host in hosts if host not in known.silent], picked=known.picked, generators=generators,
    )  # fmt: skip
    told = tuple(one.not_planned for one in known.lacks)
    return msgspec.structs.replace(found, not_planned=(*told, *found.not_planned))


def seconds_of(plan: Plan, known: Known) -> dict[str, float]:
    """What each cell is expected to take."""
    told = work_of(plan)
    return {cell.id: known.learned.expected(cell, told[cell.id]) for cell in plan.cells}


def trimmed(plan: Plan, budget: Budget | None, known: Known) -> Plan:
    return plan if budget is None else within(plan, budget, seconds=seconds_of(plan, known), workers=known.workers)


def stock(plan: Plan, asked: Sequence[Asked] = ()) -> tuple[Stock, ...]:
    """What the plan's environments are made of, as their backends know it."""
    specs = {cell.environment.id: cell.environment for cell in plan.cells}
    found: list[Stock] = []
    for name in dict.fromkeys(spec.backend for spec in specs.values()):
        told = getattr(_backend(name), "stock", None)
        theirs = [spec for spec in specs.values() if spec.backend == name]
        found += told(theirs, cache_folder(), asked) if told else ()
    return tuple(found)


def foresight(specs: Sequence[EnvironmentSpec], hosts: Sequence[str] = ()) -> Foreseen:
    """Each backend's own word on what it cannot have here (ports.Foreseeing)."""
    found = {
        name: _of_backend(name, [spec for spec in specs if spec.backend == name], hosts)
        for name in dict.fromkeys(spec.backend for spec in specs)
    }
    return Foreseen(
        why_not=lambda spec: found[spec.backend].why_not(spec),
        asked=tuple(asked for one in found.values() for asked in one.asked),
        fault=next((one.fault for one in found.values() if one.fault), None),
        silent={host: why for one in found.values() for host, why in one.silent.items()},
    )


def _backend(name: str) -> Any:
    """None where the packages that it needs are not installed."""
    try:
        return plugged("backends", name)
    except ImportError:
        return None


def _of_backend(name: str, specs: Sequence[EnvironmentSpec], hosts: Sequence[str]) -> Foreseen:
    backend = _backend(name)
    if backend is None:
        fault = MachineFault(_NO_PACKAGE, next_step=_INSTALL)
        return Foreseen(why_not=lambda _: MISSING, fault=fault)
    foresee = getattr(backend, "foresee", None)
    found: Foreseen = foresee(specs, cache_folder(), hosts) if foresee else Foreseen(why_not=lambda _: "")
    return found
