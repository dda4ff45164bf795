"""Run planner: the planner of a pytest run. Workers take the facts from the controller; hooks may change the cells."""

from typing import Final

import msgspec
import pytest

from pytest_codexsandbox.harness.planner import Planner
from pytest_codexsandbox.harness.planning_facts import PlanningFacts
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.matrix.expand import Expanded
from pytest_codexsandbox.pytest_plugin import hook_calls
from pytest_codexsandbox.pytest_plugin.options import base, typed
from pytest_codexsandbox.pytest_plugin.settings import Settings, generator_options, workers

FACTS: Final = "codexsandbox_known"  # key of the planning facts in the `workerinput` of xdist


class PytestPlanner(Planner):
    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        super().__init__(run_request(config, settings))
        self._config = config
        self._interrupted = False

    def look_up(self) -> PlanningFacts:
        """Gathers the facts in the process that the user started. Its workers receive them."""
        encoded = getattr(self._config, "workerinput", {}).get(FACTS)
        if encoded:
            return msgspec.json.decode(encoded, type=PlanningFacts)
        if self._interrupted:
            return PlanningFacts()
        try:
            return super().look_up()
        except KeyboardInterrupt:  # pytest ends its collection all the same: nothing is asked a second time
            self._interrupted = True
            raise

    def change_cells(self, found: Expanded) -> Expanded:
        return hook_calls.call_cells_hook(self._config, found)

    def encoded_facts(self) -> str:
        """Returns the facts for a worker, with the cells that were picked by them."""
        return msgspec.json.encode(msgspec.structs.replace(self.facts, picked=self.expanded.picked)).decode()


def run_request(config: pytest.Config, settings: Settings) -> RunRequest:
    own_tests = not settings.active or config.args_source is pytest.Config.ArgsSource.ARGS
    return RunRequest(
        preset=settings.preset,
        releases=settings.releases,
        binaries=settings.binaries,
        binary_base=base(config, "bin"),
        generators=settings.generators,
        generator_base=base(config, "generator"),
        generator_in=settings.generator_in,
        only=settings.only,
        skip=settings.skip,
        pairs=settings.pairs,
        budget=settings.budget,
        docker_hosts=settings.docker_hosts,
        report_dir=settings.report_dir,
        timeout_scale=settings.timeout_scale,
        workers=workers(config),
        own_tests=own_tests,
        listing=bool(config.getoption("collectonly")),
        typed=typed(config),
        generator_options=generator_options(config),
    )
