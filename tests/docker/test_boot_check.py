"""`codexsandbox boot-check` in containers that fail as reported: loopback, uid map, network, DNS."""

from collections.abc import Iterator
from contextlib import contextmanager

import docker

from pytest_codexsandbox.commands.scratch_dir import workbench
from pytest_codexsandbox.diagnosis import boot
from pytest_codexsandbox.diagnosis.boot import Finding, judge_boot
from pytest_codexsandbox.environments.container import portable_python
from pytest_codexsandbox.environments.container.networks import NEIGHBOUR
from pytest_codexsandbox.harness.boot_request import Asked, measure
from pytest_codexsandbox.harness.codex_resolver import CodexResolver
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.harness.observation_cache import ObservationCache, open_observations
from pytest_codexsandbox.harness.worker_resources import WorkerOptions
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.policy import NETWORK, WORKSPACE_WRITE
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.known_releases import installed
from tests.docker.builders import container
from tests.docker.profile_builders import profiled

PORT = 8000
OWN = "http://127.0.0.1:@HTTP@/"  # the environment's own service outside the sandbox


@contextmanager
def _opened(spec: EnvironmentSpec) -> Iterator[tuple[ObservationCache, Cell]]:
    codex = installed()
    assert codex is not None
    cell = Cell(environment=spec, subject=codex)
    plan = Plan(preset="boot-check", cells=(cell,), promises=(), keys=())
    with workbench("test") as folder:
        options = WorkerOptions(folder=folder, cache=cache_folder())
        resolver = CodexResolver(cache_folder())
        with open_observations(plan, options, resolver=resolver, events=EventSink()) as made:
            yield made, cell


def _checked(made: ObservationCache, cell: Cell, *, policy: str, url: str) -> Finding:
    seen = measure(made, cell, Asked(door="app-server", policy=policy, url=url))
    return judge_boot(
        seen.started, policy=policy, url=url, inside=seen.inside, outside=seen.outside, writes=seen.writes
    )


def test_no_loopback_then_no_uid_map_as_in_the_molecule_report() -> None:
    """The seccomp profile of the report: with the network off RTM_NEWADDR fails, with it on the uid map does."""
    with _opened(profiled("synthetic-apparmor-userns", "u1000")) as (made, cell):
        off = _checked(made, cell, policy=WORKSPACE_WRITE, url=OWN)
        on = _checked(made, cell, policy=NETWORK, url=OWN)
    assert (off.code, on.code) == (boot.NO_START, boot.NO_START)
    assert "RTM_NEWADDR" in off.what
    assert "uid map: Permission denied" in on.what
    assert off.cause and off.fix and on.cause and on.fix
    assert off.fingerprint != on.fingerprint


def test_the_network_alone_then_nothing() -> None:
    with _opened(container(user="u1000")) as (made, cell):
        off = _checked(made, cell, policy=WORKSPACE_WRITE, url=OWN)
        on = _checked(made, cell, policy=NETWORK, url=OWN)
    assert (off.code, on.code) == (boot.REFUSED, boot.OK)
    assert "network" in off.cause


def test_a_name_that_only_the_sandbox_cannot_resolve() -> None:
    url = f"http://{NEIGHBOUR}:{PORT}/"
    with _opened(container(user="u1000", network="own")) as (made, cell):
        made.pool.acquire(cell.environment)
        _serve_in_the_neighbour(made, cell)
        off = _checked(made, cell, policy=WORKSPACE_WRITE, url=url)
        on = _checked(made, cell, policy=NETWORK, url=url)
        closed = _checked(made, cell, policy=NETWORK, url=f"http://{NEIGHBOUR}:{PORT + 1}/")
    assert (off.code, on.code, closed.code) == (boot.NOT_RESOLVED, boot.OK, boot.FAILS_OUTSIDE)


def _serve_in_the_neighbour(made: ObservationCache, cell: Cell) -> None:
    """Start an HTTP server in the container that bears the neighbour's name in this environment's network."""
    address = made.pool.facts(cell.environment)["neighbour"]
    client = docker.from_env()
    found = [one for one in client.containers.list() if address in str(one.attrs["NetworkSettings"]["Networks"])]
    assert len(found) == 1
    found[0].exec_run([portable_python.PYTHON, "-I", "-S", "-m", "http.server", str(PORT)], detach=True)
    client.close()
