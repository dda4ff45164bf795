"""Planned availability: why a container environment cannot be started here, for plans; nothing is started."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_codexsandbox.environments.bubblewrap import bwrap_provider
from pytest_codexsandbox.environments.container import engine_requirements
from pytest_codexsandbox.environments.container.engine import default_host
from pytest_codexsandbox.environments.container.provision.availability_queries import inquire, silent_engines
from pytest_codexsandbox.environments.container.provision.image_request import wanted
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.protocols import Availability


def foresee(specs: Sequence[EnvironmentSpec], cache: Path, hosts: Sequence[str] = ()) -> Availability:
    """Asks engines, registries and archives, in few seconds, which of these environments can be started."""
    contained = [spec.container for spec in specs if spec.container is not None]
    named = dict.fromkeys(hosts or (default_host(),))
    silent = silent_engines(tuple(named)) if contained else {}
    if contained and named.keys() == silent.keys():
        return _without_engine(silent)
    wants = tuple(dict.fromkeys(map(wanted, contained)))
    bwraps = {one.bwrap.name: one.bwrap for one in contained}
    userns = any(one.profile.userns for one in contained)
    answering = [host for host in hosts if host not in silent]
    found = inquire(wants, bwraps.values(), cache, answering, userns=userns)
    without = {
        name: bwrap_provider.why_not(spec, cache) or found.no_sources.get(name, "") for name, spec in bwraps.items()
    }
    engines = engine_requirements.PlannedRequirements(
        answering or (default_host(),),
        {host: answer.userns for host, answer in found.engines.items() if answer.userns is not None},
    )

    def why_not(spec: EnvironmentSpec) -> str:
        asked = spec.container
        if asked is None:
            return ""
        return found.foresight.why_not(wanted(asked)) or without[asked.bwrap.name] or engines.why_not(asked)

    return Availability(why_not=why_not, asked=found.asked, silent=silent)


def _without_engine(silent: Mapping[str, CodexSandboxError]) -> Availability:
    """Reports every container as unavailable: without an engine, no image is looked for and no registry is queried."""
    fault = next(iter(silent.values()))
    asked = [
        PlanQuery(kind="engine", name="", where=host, answer="unknown", why=why.why or why.what)
        for host, why in silent.items()
    ]
    return Availability(why_not=lambda spec: fault.why if spec.container else "", asked=tuple(asked), fault=fault)
