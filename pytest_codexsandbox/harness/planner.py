"""Which cells a run has: what was asked for, what this machine can have, what fits into the time.

What is read from this machine is read once, by the process that the user started; workers are told, so that each of
them plans the same.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from pytest_codexsandbox.harness import feasibility
from pytest_codexsandbox.harness.backends import check_availability, environments_here
from pytest_codexsandbox.harness.durations import DurationModel, learn, work_of
from pytest_codexsandbox.harness.feasibility import CONTAINERS, REGISTRY_LIMIT, Lack
from pytest_codexsandbox.matrix.budget import Budget, within
from pytest_codexsandbox.matrix.combinations import LeftOut
from pytest_codexsandbox.matrix.container_cells import PickedCells, WhyNot, environments, unavailable_values
from pytest_codexsandbox.matrix.expand import Expanded, arch_of, expand
from pytest_codexsandbox.matrix.load import MatrixFile
from pytest_codexsandbox.model.cell import EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.protocols import Availability
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.download_estimate import Forecast

_LOCAL = "local"


class PlanningFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What planning depends on beside the command and its files."""

    left: tuple[LeftOut, ...] = ()  # axis values that cannot be had here
    asked: tuple[PlanQuery, ...] = ()  # by whom that was said
    lacks: tuple[Lack, ...] = ()  # parts of the matrix that cannot be measured here
    silent: tuple[str, ...] = ()  # named engines that do not answer
    forecasts: dict[str, Forecast] = {}  # by label of a release
    learned: DurationModel = DurationModel()
    workers: int = 1
    picked: PickedCells | None = None  # by pairs: found once, it can take a while


def gather_facts(
    matrix: MatrixFile,
    report_dir: Path,
    *,
    subjects: Sequence[SubjectSpec] = (),
    workers: int = 1,
    hosts: Sequence[str] = (),
    why_not: WhyNot | None = None,
    scale: float = 1.0,
) -> PlanningFacts:
    """Reads files, and starts nothing; backends and registries are asked, in few seconds, what no file says."""
    asked = environments(matrix, arch=arch_of(local_environments()))
    foreseen = Availability(why_not=why_not) if why_not else check_availability(tuple(asked.values()), hosts)
    forecasts = feasibility.forecasts(subjects, cache_folder(), limit=REGISTRY_LIMIT * scale)
    lacks = [feasibility.lack(CONTAINERS, foreseen.fault)] if foreseen.fault else []
    lacks += [feasibility.lack(f"engine {host}", why, required=False) for host, why in foreseen.silent.items()]
    named = named_environments(matrix)
    also = check_availability(tuple(named.values()), hosts)
    lacks += feasibility.of_environments({name: also.why_not(spec) for name, spec in named.items()})
    return PlanningFacts(
        left=() if foreseen.fault else unavailable_values(asked, foreseen.why_not),
        asked=(*foreseen.asked, *also.asked),
        lacks=(*lacks, *feasibility.of_releases(forecasts)),
        silent=tuple(foreseen.silent),
        forecasts=forecasts,
        learned=learn(report_dir),
        workers=workers,
    )


def for_listing(known: PlanningFacts) -> PlanningFacts:
    """The same as if every part could be measured: a list of tests needs no engine."""
    return msgspec.structs.replace(known, lacks=(), silent=())


def local_environments() -> dict[str, EnvironmentSpec]:
    return environments_here([_LOCAL])


def named_environments(matrix: MatrixFile) -> dict[str, EnvironmentSpec]:
    """Returns this machine and the environments that the matrix file names."""
    return environments_here(dict.fromkeys((_LOCAL, *matrix.environments)))


def expand_cells(
    matrix: MatrixFile,
    subjects: Sequence[SubjectSpec],
    known: PlanningFacts,
    *,
    pairs: int | None,
    hosts: Sequence[str],
    generators: Sequence[str] = (),
) -> Expanded:
    parts = {one.part for one in known.lacks}
    kept = tuple(name for name in matrix.environments if feasibility.environment_part(name) not in parts)
    containers = None if CONTAINERS in parts else matrix.containers
    measured = msgspec.structs.replace(matrix, environments=kept, containers=containers)
    there = tuple(one for one in subjects if feasibility.release(one.label) not in parts)
    if known.lacks and not (there and (measured.environments or measured.containers)):
        raise feasibility.nothing(matrix.preset, known.lacks)
    found = expand(
        measured,
        environments=named_environments(measured),
        subjects=there,
        pairs=pairs,
        left=known.left,
        hosts=[host for host in hosts if host not in known.silent],
        picked=known.picked,
        generators=generators,
    )
    told = tuple(one.not_planned for one in known.lacks)
    return msgspec.structs.replace(found, not_planned=(*told, *found.not_planned))


def seconds_of(plan: Plan, known: PlanningFacts) -> dict[str, float]:
    """What each cell is expected to take."""
    told = work_of(plan)
    return {cell.id: known.learned.expected(cell, told[cell.id]) for cell in plan.cells}


def apply_budget(plan: Plan, budget: Budget | None, known: PlanningFacts) -> Plan:
    return plan if budget is None else within(plan, budget, seconds=seconds_of(plan, known), workers=known.workers)
