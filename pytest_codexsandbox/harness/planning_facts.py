"""Planning facts: everything that a plan depends on beside the command line and its files.

The process that the user started gathers the facts once and passes them to its workers, so that all make the same plan.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.harness import feasibility
from pytest_codexsandbox.harness.backends import check_availability, environments_here, missing_packages
from pytest_codexsandbox.harness.durations import DurationModel, learn
from pytest_codexsandbox.harness.feasibility import CONTAINERS, REGISTRY_LIMIT, Lack
from pytest_codexsandbox.matrix.combinations import LeftOut
from pytest_codexsandbox.matrix.container_cells import PickedCells, WhyNot, environments, unavailable_values
from pytest_codexsandbox.matrix.expand import arch_of
from pytest_codexsandbox.matrix.load import MatrixFile
from pytest_codexsandbox.model.cell import EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.protocols import Availability
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.download_estimate import Forecast

_LOCAL: Final = "local"


class PlanningFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about this machine, its engines and the registries, as far as a plan depends on them."""

    left: tuple[LeftOut, ...] = ()  # axis values that are not available here
    asked: tuple[PlanQuery, ...] = ()  # the queries that `left` rests on
    lacks: tuple[Lack, ...] = ()  # parts of the matrix that cannot be measured here
    silent: tuple[str, ...] = ()  # named engines that do not answer
    forecasts: dict[str, Forecast] = {}  # by label of a release
    learned: DurationModel = DurationModel()
    workers: int = 1
    picked: PickedCells | None = None  # cells picked by pairs: computed once, because it can take a while


def gather_facts(
    matrix: MatrixFile,
    report_dir: Path,
    *,
    subjects: Sequence[SubjectSpec] = (),
    workers: int = 1,
    hosts: Sequence[str] = (),
    why_not: WhyNot | None = None,
    scale: float = 1.0,
    wanted: Callable[[str], bool] = lambda _: True,
) -> PlanningFacts:
    """Reads files and starts nothing. Queries backends and registries, within a few seconds, for facts that no file
    has. `wanted`: whether anything is asked about a container environment, by its id."""
    possible = environments(matrix, arch=arch_of(local_environments()))
    asked = {names: spec for names, spec in possible.items() if wanted(spec.id)}
    foreseen = Availability(why_not=why_not) if why_not else check_availability(tuple(asked.values()), hosts)
    forecasts = feasibility.forecasts(subjects, cache_folder(), limit=REGISTRY_LIMIT * scale)
    lacks = [feasibility.lack(CONTAINERS, foreseen.fault)] if foreseen.fault else []
    lacks += [feasibility.lack(f"engine {host}", why, required=False) for host, why in foreseen.silent.items()]
    missing = dict(missing_packages(matrix.environments))
    lacks += [feasibility.lack(feasibility.environment_part(name), fault) for name, fault in missing.items()]
    there = tuple(name for name in matrix.environments if name not in missing)
    named = named_environments(msgspec.structs.replace(matrix, environments=there))
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


def local_environments() -> dict[str, EnvironmentSpec]:
    return environments_here([_LOCAL])


def named_environments(matrix: MatrixFile) -> dict[str, EnvironmentSpec]:
    """Returns this machine and the environments that the matrix file names."""
    return environments_here(dict.fromkeys((_LOCAL, *matrix.environments)))
