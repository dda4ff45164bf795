"""Networks and names: none at all, or one of our own; and what programs say when a sandbox keeps a name from them."""

import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pytest_codexsandbox.diagnosis.match import match
from pytest_codexsandbox.environments.container import networks, portable_python
from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.environment import ContainerEnvironment
from pytest_codexsandbox.environments.container.sweep import find
from pytest_codexsandbox.errors import EnvironmentLost
from pytest_codexsandbox.harness.trial_runner import run_promises
from pytest_codexsandbox.harness.worker_resources import WorkerOptions
from pytest_codexsandbox.matrix import scenario_index
from pytest_codexsandbox.model.policy import NETWORK, WORKSPACE_WRITE
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.registry import cache_folder, data_folder
from pytest_codexsandbox.selftest import FAKES, subject
from tests.docker.profile_builders import NETWORK_ON, opened, profiled, run, sandboxed
from tests.fakes.machine import installed_codex

OPEN = "seccomp-unconfined-systempaths"
ADDRESS = "192.0.2.7"
_GET_ADDRESS = 0x8915
FETCH = (
    portable_python.PYTHON,
    "-I",
    "-S",
    "-c",
    "import urllib.request; print(urllib.request.urlopen('http' + '://web.test').status)",
)
REACH = """
import socket, sys
for where in sys.argv[1:]:
    address, _, port = where.partition("#")
    asking = socket.socket()
    asking.settimeout(2)
    try:
        asking.connect((address, int(port)))
        print("reached", where)
    except OSError as problem:
        print("not", where, problem)
"""


@pytest.fixture(scope="module")
def codex() -> Subject:
    return installed_codex(cache_folder())


@pytest.fixture(scope="module", params=[OPEN, "own-network"])
def environment(
    request: pytest.FixtureRequest, codex: Subject, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ContainerEnvironment]:
    with opened(profiled(request.param, "u1000"), tmp_path_factory.mktemp("e"), codex=codex) as found:
        yield found


@contextmanager
def listening() -> Iterator[int]:
    """On every address of this machine."""
    with socket.socket() as server:
        server.bind(("0.0.0.0", 0))
        server.listen()
        yield server.getsockname()[1]


def own_addresses() -> list[str]:
    """Of this machine, but the loopback's."""
    found = []
    with socket.socket() as asking:
        for _, name in socket.if_nameindex():
            with suppress(OSError):  # an interface without one
                told = fcntl.ioctl(asking, _GET_ADDRESS, struct.pack("16s24x", name.encode()))
                found.append(socket.inet_ntoa(told[20:24]))
    return [address for address in found if not address.startswith("127.")]


def test_every_name_is_answered_by_us_and_one_that_does_not_exist_is_refused(environment: ContainerEnvironment) -> None:
    found = run(environment, "getent", "hosts", "codexsandbox.test")
    assert (found.exit, found.stdout.decode().split()[:1]) == (0, [ADDRESS]), found
    started = time.monotonic()
    assert run(environment, "getent", "hosts", "nobody.invalid").exit == 2
    assert time.monotonic() - started < 5


def test_no_way_leads_out_and_the_host_is_not_reached(environment: ContainerEnvironment) -> None:
    with listening() as port:
        neighbour = str(environment.facts().get("neighbour", ""))
        first = (
            ".".join([*neighbour.split(".")[:3], str(int(neighbour.split(".")[3]) // 8 * 8 + 1)]) if neighbour else ""
        )
        others = [*own_addresses(), *([first] if first else []), "198.51.100.1", "1.1.1.1"]
        asked = [f"{address}#{port}" for address in others] + ["1.1.1.1#53", "8.8.8.8#53"]
        told = run(environment, portable_python.PYTHON, "-I", "-S", "-c", REACH, *asked).stdout.decode().splitlines()
        with socket.create_connection(("127.0.0.1", port), timeout=2):  # the listener is there
            assert len(told) == len(asked)
        assert [line for line in told if not line.startswith("not ")] == []


def test_a_neighbour_is_known_to_the_engines_name_service_only(environment: ContainerEnvironment) -> None:
    found = run(environment, "getent", "hosts", networks.NEIGHBOUR).stdout.decode().split()[:1]
    assert found == [environment.facts().get("neighbour", ADDRESS)]


def test_messages_of_programs_without_a_network_are_recognised(
    environment: ContainerEnvironment, codex: Subject
) -> None:
    """Python names the failure; getent is silent and ends with 2; curl, where there is one, has words of its own."""
    clients = {"python": FETCH, "getent": ("getent", "hosts", "web.test")}
    if run(environment, "sh", "-c", "command -v curl").exit == 0:
        clients["curl"] = ("curl", "-sS", "--max-time", "5", "http:" + "//web.test")
    unshared = ("bwrap", "--ro-bind", "/", "/", "--unshare-net")
    for name, argv in clients.items():
        for done in (run(environment, *unshared, *argv), sandboxed(environment, codex, *argv)):
            known = match(done.stderr.decode())
            assert done.exit, (name, done)
            if name == "getent":
                assert (done.exit, done.stdout) == (2, b"")
            else:
                assert known is not None, done.stderr
                assert known.fingerprint in ("name-lookup-failed", "host-not-resolved"), done.stderr
    assert sandboxed(environment, codex, "getent", "hosts", "web.test", more=NETWORK_ON).exit == 0
    gone = run(environment, *FETCH[:-1], FETCH[-1].replace("web.test", "web.invalid"))
    known = match(gone.stderr.decode())
    assert known is not None
    assert known.fingerprint == "name-does-not-exist"


# ---- the promises
def test_the_promises_about_names_are_measured_and_catch_who_breaks_them(codex: Subject, tmp_path: Path) -> None:
    promises = [pair for pair in scenario_index.promises(data_folder("scenarios")) if pair[0].topic == "dns"]
    bad = {fake.name: fake for fake in FAKES if fake.name in ("looks-names-up", "finds-no-name")}
    options = WorkerOptions(folder=tmp_path / "worlds", cache=cache_folder(), timeout_scale=3.0)
    for profile, wanted in ((OPEN, 4), ("own-network", 6)):
        spec = profiled(profile, "u1000")
        records = run_promises(
            promises, (WORKSPACE_WRITE, NETWORK), codex, environment=spec, options=options, door="sandbox"
        )
        verdicts = {key.promise: (record.verdict, record.reason) for key, record in records.items()}
        measured = {name: told for name, told in verdicts.items() if told[0] is not Verdict.NOT_APPLICABLE}
        assert len(measured) == wanted, verdicts
        assert {name: told for name, told in measured.items() if told[0] is not Verdict.CONFORMS} == {}
        for fake in bad.values():
            (tmp_path / fake.name).mkdir(exist_ok=True)
            found = run_promises(
                promises,
                fake.policies,
                subject(tmp_path / fake.name, fake),
                environment=spec,
                door="sandbox",
                options=options,
                exempt_from_start=True,
            )
            caught = {key.promise for key, record in found.items() if record.verdict is Verdict.VIOLATES}
            applicable = {key.promise for key, record in found.items() if record.verdict is not Verdict.NOT_APPLICABLE}
            assert set(fake.caught_by) & applicable <= caught, {key.promise: one.reason for key, one in found.items()}
            assert caught


def _killed(engine: Engine, name: str) -> None:
    engine.api.kill(f"{name}-neighbour")


def _cut_off(engine: Engine, name: str) -> None:
    engine.api.disconnect_container_from_network(name, name)


@pytest.mark.parametrize("gone", [_killed, _cut_off])
def test_a_neighbour_that_is_gone_is_no_finding_about_a_sandbox(
    gone: Callable[[Engine, str], None], tmp_path: Path
) -> None:
    """A sandbox that lets its name through would look like one that keeps it; one that does as it should, like none."""
    with Engine() as engine:
        others = {left.id for left in find(engine)}
        with opened(profiled("own-network", "u1000"), tmp_path) as environment:
            environment.clear(environment.world())
            mine = [left for left in find(engine) if left.owner.is_me and left.id not in others]
            (network,) = [left for left in mine if left.kind == "network"]
            one, two = environment.world(), environment.world()
            gone(engine, network.name)
            environment.clear(one)  # once, when all of a call is over
            with pytest.raises(EnvironmentLost, match="lost its neighbour"):
                environment.clear(two)


# ---- what is left
def test_a_network_is_gone_with_its_environment(tmp_path: Path) -> None:
    backend = ContainerBackend()
    with Engine() as engine:
        others = {left.id for left in find(engine)}  # environments that other tests of this process use
        with backend.open(profiled("own-network"), tmp_path, cache=cache_folder()) as found:
            mine = [left.kind for left in find(engine) if left.owner.is_me and left.id not in others]
            assert sorted(mine) == ["container", "container", "network"]
            assert found.facts()["neighbour"]
    assert backend.audit() == ()


def test_a_network_is_gone_soon_after_a_runner_that_was_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path\n"
        "from tests.docker.profile_builders import opened, profiled\n"
        f"with opened(profiled('own-network'), Path({str(tmp_path)!r})):\n"
        "    print('open', flush=True); time.sleep(600)\n"
    )
    root = Path(__file__).resolve().parents[2]
    runner = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert runner.stdout is not None
    with Engine() as engine:

        def left() -> list[str]:
            return sorted(one.kind for one in find(engine) if one.owner.pid == runner.pid)

        try:
            assert runner.stdout.readline() == b"open\n"
            assert left() == ["container", "container", "network"]
        finally:
            runner.send_signal(signal.SIGKILL)
            runner.wait()
            runner.stdout.close()
        limit = time.monotonic() + 5
        while left() and time.monotonic() < limit:
            time.sleep(0.05)
        assert left() == []
