"""What goes wrong with engines and containers is told in words, costs its own cells only, and leaves nothing."""

import errno
import gc
import io
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.contract.process_tools import GENEROUS, fresh, python, sh
from pytest_codexsandbox.environments import agent_client
from pytest_codexsandbox.environments.container import cleanup_watcher, engine, labels, networks
from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.environments.container.sweep import find
from pytest_codexsandbox.environments.run_dirs import Owner
from pytest_codexsandbox.errors import CodexSandboxError, EnvironmentLost, HarnessError, NotResponding, Unavailable
from pytest_codexsandbox.guest.worlds import new_word
from pytest_codexsandbox.harness.batteries import SHARED
from pytest_codexsandbox.harness.codex_resolver import OneSubject
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.harness.observation_cache import ObservationCache
from pytest_codexsandbox.harness.worker_resources import WorkerOptions, WorkerResources
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.container import ImageSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.protocols import Environment
from pytest_codexsandbox.registry import cache_folder
from tests.docker.builders import container
from tests.docker.engine_builders import own_engine
from tests.fakes.machine import installed_codex


@contextmanager
def opened(spec: EnvironmentSpec, folder: Path) -> Iterator[Environment]:
    backend = ContainerBackend()
    with backend.open(spec, folder / "e") as environment:
        yield environment
    assert backend.audit() == ()


def ours(engine: Engine) -> list[str]:
    """Containers of this process."""
    return [left.id for left in find(engine) if left.owner.pid == os.getpid()]


BAD = '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mount"], "action": "SCMP_ACT_NO_SUCH"}]}'


# ---- engines that do not answer
def test_no_engine_is_said_with_what_to_do(folder: Path) -> None:
    with pytest.raises(HarnessError) as raised:
        Engine(f"unix://{folder}/nobody.sock", timeout=5)
    assert "No such file" in raised.value.why
    assert "DOCKER_HOST" in raised.value.next_step


def test_a_stale_socket_is_said(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(folder / "stale.sock"))
    with pytest.raises(HarnessError) as raised:
        Engine(f"unix://{folder}/stale.sock", timeout=5)
    assert "refused" in raised.value.why.lower()


def test_a_user_without_access_to_an_engine_gets_no_advice_to_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(host: str, timeout: float) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(engine, "_answers", refused)
    with pytest.raises(HarnessError) as raised:
        Engine("unix:///var/run/docker.sock")
    assert "Permission denied" in raised.value.why
    assert "usermod -aG docker" in raised.value.next_step


def test_an_engine_that_hangs_does_not_hang_us(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(folder / "deaf.sock"))
        deaf.listen(5)
        began = time.monotonic()
        with pytest.raises(HarnessError) as raised:
            Engine(f"unix://{folder}/deaf.sock", timeout=2)
    assert time.monotonic() - began < 20
    assert "timed out" in str(raised.value).lower()


def test_one_that_hung_is_waited_for_less_when_the_next_environment_asks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a minute for each of them, until so many have failed that no more are tried."""
    monkeypatch.setattr(engine, "_FIRST", 4)
    monkeypatch.setattr("pytest_codexsandbox.environments.container.backend._AGAIN", 1)
    spec = msgspec.structs.replace(container(), engine_host=f"unix://{folder}/deaf.sock")
    took, backend = [], ContainerBackend()
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(folder / "deaf.sock"))
        deaf.listen(5)
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(NotResponding), backend.open(spec, folder / "e"):
                pass
            took.append(time.monotonic() - began)
    assert took[0] >= 4 > took[1] >= 1, took


def test_an_image_that_is_not_there_is_said(folder: Path) -> None:
    spec = container()
    assert spec.container is not None
    image = ImageSpec(name="of-mine", reference="codexsandbox-no-such-image:1")
    spec = msgspec.structs.replace(spec, container=msgspec.structs.replace(spec.container, image=image))
    with pytest.raises(Unavailable) as raised, opened(spec, folder):
        pass
    assert "codexsandbox-no-such-image:1" in str(raised.value)


OWN = """FROM {base}
ENV PATH=/opt/mine:/usr/bin:/bin
RUN mkdir /opt/mine && printf '#!/bin/sh\\necho another\\n' > /opt/mine/bwrap && chmod 755 /opt/mine/bwrap
HEALTHCHECK --interval=1s CMD sleep 600
"""


def test_health_checks_and_search_paths_of_a_users_image_have_no_effect(folder: Path) -> None:
    """Codex is called with a PATH of ours, so that its bubblewrap is looked for there and nowhere else."""
    spec = container()
    with Engine() as engine:
        assert spec.container is not None
        base, tag = Images(engine, cache_folder()).provide(spec.container), f"codexsandbox-test-{new_word()}:1"
        file = io.BytesIO(OWN.format(base=base).encode())
        try:
            assert not [
                said for said in engine.api.build(fileobj=file, tag=tag, decode=True, rm=True) if "error" in said
            ]
            image = ImageSpec(name="of-mine", reference=tag)
            spec = msgspec.structs.replace(spec, container=msgspec.structs.replace(spec.container, image=image))
            with opened(spec, folder) as environment:
                assert environment.facts()["bwrap"]["path"] == "/usr/bin/bwrap"
                time.sleep(2)  # the engine would have begun to look after its health
                running = sh(environment, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
                assert b"agent.py" in running
                assert b"sleep" not in running
        finally:
            engine.api.remove_image(tag, force=True)


def test_a_profile_that_the_engine_refuses_is_said_in_its_words_and_leaves_nothing(folder: Path) -> None:
    with (
        pytest.raises(HarnessError) as raised,
        opened(container(seccomp=BAD), folder),
    ):
        pass
    assert "seccomp" in raised.value.why.lower()
    with Engine() as engine:
        assert ours(engine) == []


# ---- containers that die
def test_a_container_that_was_killed_is_lost_and_says_how(folder: Path) -> None:
    with opened(container(), folder) as environment:
        done = _meanwhile(environment, "docker kill")
    assert done.ended == "lost"
    assert "stop the container" in done.error


def test_a_paused_container_is_lost_within_its_time_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: nothing is asked a second time of who does not answer, and it can be ended all the same."""
    monkeypatch.setattr(agent_client, "PATIENCE", 4.0)
    with opened(container(), folder) as environment:
        began = time.monotonic()
        done = _meanwhile(environment, "docker pause", timeout=2)
        with pytest.raises(EnvironmentLost, match="'run' in 6 s"):
            environment.put("/tmp/x", b"")
    assert done.ended == "lost"
    assert "pause the container" in done.error
    assert time.monotonic() - began < 30


def test_a_killed_agent_is_lost_and_no_subject_is_blamed(folder: Path) -> None:
    with opened(container(), folder) as environment:
        done = _meanwhile(environment, "kill")
    assert done.ended == "lost"
    assert ": die 137" in done.error


def test_memory_that_runs_out_in_a_command_is_reported_and_the_next_command_runs(folder: Path) -> None:
    with opened(container(memory=96 << 20), folder) as environment:
        with fresh(environment) as world:
            done = environment.run(python(world, "x = bytearray(300_000_000)"))
        assert (done.ended, done.signal, done.oom_kills) == ("signal", 9, 1)
        after = sh(environment, "echo still here")
        assert (after.stdout, after.oom_kills) == (b"still here\n", 0)


def test_a_plain_crash_is_no_lack_of_memory(folder: Path) -> None:
    with opened(container(memory=96 << 20), folder) as environment:
        done = sh(environment, "kill -9 $$")
    assert (done.ended, done.signal, done.oom_kills) == ("signal", 9, 0)


def test_processes_that_run_out_are_the_commands_own_trouble(folder: Path) -> None:
    with opened(container(pids_limit=24), folder) as environment:
        done = sh(environment, "i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done; wait", timeout=30)
        assert b"fork" in done.stderr.lower() or b"resource" in done.stderr.lower()
        assert done.refused_processes
        after = sh(environment, "echo still here")
        assert (after.stdout, after.refused_processes) == (b"still here\n", 0)


def test_a_disk_that_is_full_is_the_commands_own_trouble(folder: Path) -> None:
    with opened(container(), folder) as environment:
        done = sh(environment, 'head -c 3000000000 /dev/zero > "$PWD/big"; echo rc $?', timeout=60)
        assert b"No space left" in done.stderr
        assert done.room < 1 << 20
        again = sh(environment, "echo room > there; cat there")
        assert (again.stdout, again.room > 1 << 20) == (b"room\n", True)


def test_files_of_a_call_in_shared_folders_are_gone_before_the_next_call(folder: Path) -> None:
    """What one release of Codex has left says nothing about the next one in the same container."""
    places = "/tmp /var/tmp /dev/shm"
    with opened(container(), folder) as environment:
        with fresh(environment) as world:
            sh(environment, f"for d in {places}; do mkdir -p $d/left/deep && touch $d/left/deep/er $d/.file; done")
            assert {"@TMP@/left", "@TMP@/.file"} <= set(environment.litter(world, ()))
        assert sh(environment, f"ls -A {places}").stdout.split() == [b"/dev/shm:", b"/tmp:", b"/var/tmp:"]


def test_a_hundred_megabytes_of_bytes_arrive(folder: Path) -> None:
    with opened(container(), folder) as environment, fresh(environment) as world:
        script = "import os\nfor _ in range(100): os.write(1, bytes(range(250)) * 4194 + bytes(1000))"
        done = environment.run(python(world, script, output_limit=1 << 30))
    assert done.stdout_total == len(done.stdout)
    assert done.stdout_total > 100_000_000
    assert done.stdout.count(0xFF.to_bytes()) == 0
    assert bytes(range(250)) in done.stdout


# ---- engines that die
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the client's own socket, see the end
def test_an_engine_that_is_killed_in_the_middle_loses_its_calls_and_sweep_finds_the_rest(folder: Path) -> None:
    with own_engine() as engine:
        spec = msgspec.structs.replace(container(), engine_host=engine.host)
        backend = ContainerBackend()
        with pytest.raises(CodexSandboxError), backend.open(spec, folder / "e") as environment:
            assert sh(environment, "echo there").stdout == b"there\n"
            engine.stop(9)
            sh(environment, "echo gone")
            raise HarnessError("what was running when the engine died is over")
        assert [leak for leak in backend.audit() if "unknown" in leak]
        engine.start()
        with Engine(engine.host) as there:
            for left in find(there):
                assert left.owner.pid == os.getpid()
                there.remove(left.id)
        assert backend.audit() == ()
    gc.collect()  # the Docker client leaves its socket open when nobody is there to be connected to


def test_leftovers_of_an_opening_or_a_helper_are_a_leak_of_the_harness(folder: Path) -> None:
    """Also of an environment that never stood; what stands, and what is another process's, is none."""
    spec, backend = container(), ContainerBackend()
    stray = msgspec.json.encode(msgspec.structs.replace(Owner.me("beefbeef"), pid=1)).decode()
    with Engine() as engine, backend.open(spec, folder / "e") as environment:
        image = str(environment.facts()["image"])
        left = engine.create(image, ("/nothing",), {}, Labels=labels.labels("helper", new_word()))
        others = engine.create(image, ("/nothing",), {}, Labels={labels.OWNER: stray})
        try:
            (leak,) = backend.audit()
            assert leak.startswith("container codexsandbox-")
        finally:
            engine.remove(left)
            engine.remove(others)
        assert backend.audit() == ()


def test_leftovers_of_a_killed_run_differ_from_those_of_another_machine(folder: Path) -> None:
    """An engine serves several machines; on two of them a process may have the same number and age."""
    owner = Owner(word="feedfeed", pid=7, start=1234, boot="here", node="one", pids="pid:[1]")
    theirs = msgspec.structs.replace(owner, boot="there", node="two")
    with Engine() as engine, opened(container(), folder) as environment:
        made = [
            engine.create(
                str(environment.facts()["image"]),
                ("/nothing",),
                {},
                Labels={**labels.labels("environment", "feedfeed"), labels.OWNER: msgspec.json.encode(one).decode()},
            )
            for one in (owner, theirs)
        ]
        try:
            cleanup_watcher.clear(engine.host, owner.process)
            assert [bool(engine.state(one)) for one in made] == [False, True]
        finally:
            for one in made:
                engine.remove(one)


def test_an_interrupt_while_a_network_is_made_leaves_no_network(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def interrupted(engine: Engine, name: str, word: str) -> None:
        make(engine, name, word)
        made.append(name)
        raise KeyboardInterrupt

    make = networks._make
    monkeypatch.setattr(networks, "_make", interrupted)
    backend = ContainerBackend()
    with pytest.raises(KeyboardInterrupt), backend.open(container(network="own"), folder / "e"):
        raise AssertionError("it was opened")
    with Engine() as engine:
        assert made and engine.api.networks(names=made) == []
    assert backend.audit() == ()


def test_a_container_that_dies_under_a_call_is_started_anew_for_the_next(folder: Path) -> None:
    """Also when nobody can look any more what the call has left. The new one has a control of its own."""
    codex = installed_codex(cache_folder())
    one, two = (
        Cell(environment=container(), subject=SubjectSpec(label=name, path=codex.binary)) for name in ("one", "two")
    )
    plan = Plan(preset="test", cells=(one, two), promises=(), keys=())
    options = WorkerOptions(folder=folder, cache=cache_folder())
    resources = WorkerResources(plan.cells, options, resolver=OneSubject(codex), events=EventSink())
    cache = ObservationCache(plan, resources)
    try:
        control = cache.control(one, SHARED)
        with Engine() as engine:
            (mine,) = ours(engine)
            engine.api.kill(mine)
        with pytest.raises(EnvironmentLost, match="stop the container"):
            cache.observations(one, "sandbox", "workspace-write", SHARED)
        (seen,) = cache.observations(two, "sandbox", "workspace-write", SHARED)
        assert (seen.ended, seen.ready) == ("exit", True), seen
        assert cache.control(two, SHARED) is not control
    finally:
        cache.close()
    assert cache.pool.leaks() == ()


def test_an_engine_that_sees_none_of_our_files_gets_everything_sent(folder: Path) -> None:
    """As one on another machine: the agent, Codex and the image arrive through its API."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with own_engine(hide=(cache_folder(),)) as engine:
        spec = msgspec.structs.replace(container(), engine_host=engine.host)
        with opened(spec, folder) as environment:
            assert sh(environment, "echo from afar").stdout == b"from afar\n"
        with Engine(engine.host) as there:
            assert there.api.volumes(filters={"label": "org.codexsandbox.kind=supply"})["Volumes"]


def _meanwhile(environment: Environment, how: str, timeout: float = GENEROUS) -> CommandResult:
    """A command runs for long; its container gets killed, or paused, after a moment."""
    engine = Engine()
    (mine,) = ours(engine)

    def kill() -> None:
        time.sleep(0.5)
        if how == "kill":
            os.kill(engine.api.inspect_container(mine)["State"]["Pid"], 9)
        else:
            subprocess.run((*how.split(), mine), check=True, capture_output=True)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        return environment.run(Command(argv=("/bin/sleep", "60"), cwd="/", env={}, timeout=timeout))
    finally:
        killer.join()
        engine.close()
