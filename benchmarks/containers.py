"""Container benchmark: ratios taken in one run: `python -m benchmarks.containers [--environments 20]`.

- a call of Codex through the agent of a container, against the same call on this machine
- N environments with B calls each, against their starts and as many bare calls
- the same with one `docker run` for each call
- the same with one container of testcontainers-python for each call, if installed (pip install testcontainers)
- how many can be open at once, and how much memory the runner needs for them
"""

import argparse
import importlib
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.environments.local import LocalBackend
from pytest_codexsandbox.matrix.axis_files import Catalogue
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.container import ContainerSpec
from pytest_codexsandbox.protocols import Environment, Subject
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.known_releases import installed
from pytest_codexsandbox.releases.resolve import resolve

BACKEND = ContainerBackend()  # one backend for all measurements, as in a run
DISTRO, PROFILE = "debian-bookworm", "seccomp-unconfined-systempaths"


def spec() -> EnvironmentSpec:
    shipped = Catalogue()
    made = ContainerSpec(
        image=shipped.image(DISTRO),
        bwrap=shipped.bwrap("distro"),
        profile=shipped.profile(PROFILE),
        user=shipped.user("root"),
    )
    return EnvironmentSpec(
        id=f"{DISTRO}~bwrap-distro~{PROFILE}~root",
        backend="docker",
        distro=DISTRO,
        user="root",
        arch=this_machine().arch,
        container=made,
    )


def call(environment: Environment, subject: Subject) -> Command:
    """Returns a command in the sandbox, in a new world."""
    world = environment.world()
    values = world.values
    env = {name: values[name] for name in ("HOME", "CODEX_HOME", "TMPDIR")}
    return Command(
        argv=(subject.inside(environment).binary, "sandbox", "--", "/bin/true"),
        cwd=values["WORKSPACE"],
        env={**env, "PATH": "/usr/local/bin:/usr/bin:/bin"},
        timeout=60,
    )


def seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


@contextmanager
def opened(place: Path, subject: Subject) -> Iterator[Environment]:
    with BACKEND.open(spec(), place, brought=(subject,)) as environment:
        yield environment


def per_call(place: Path, subject: Subject, rounds: int) -> float:
    """Returns the median of the ratios of neighbouring calls."""
    with opened(place / "c", subject) as there, LocalBackend().open(this_machine(), place / "l") as here:
        commands = (call(there, subject), call(here, subject))
        for environment, command in zip((there, here), commands, strict=True):
            done = environment.run(command)
            assert done.code == 0, done
        ratios = []
        for _ in range(rounds):
            inside, outside = seconds(lambda: there.run(commands[0])), seconds(lambda: here.run(commands[1]))
            ratios.append(inside / outside)
    return statistics.median(ratios)


def many(place: Path, subject: Subject, environments: int, batteries: int) -> float:
    """Measures environments as a run uses them: the next one starts, and the one before ends, during the calls of this
    one."""

    def run() -> None:
        with ExitStack() as last, ThreadPoolExecutor(1) as starting, ThreadPoolExecutor(1) as ending:
            coming = starting.submit(_begun, place / "0", subject)
            for number in range(environments):
                stack, there = coming.result()
                if number + 1 < environments:
                    coming = starting.submit(_begun, place / str(number + 1), subject)
                command = call(there, subject)
                for _ in range(batteries):
                    there.run(command)
                last.callback(ending.submit(stack.close).result)

    return seconds(run)


def _begun(place: Path, subject: Subject) -> tuple[ExitStack, Environment]:
    stack = ExitStack()
    return stack, stack.enter_context(opened(place, subject))


def floor(place: Path, subject: Subject, environments: int, batteries: int) -> float:
    """Measures containers that the engine's own client starts and ends, and as many calls on this machine."""
    starts = sum(seconds(lambda: subprocess.run((*DOCKER, image(), "true"), check=True)) for _ in range(environments))
    with LocalBackend().open(this_machine(), place / "floor") as here:
        command = call(here, subject)
        return starts + sum(seconds(lambda: here.run(command)) for _ in range(environments * batteries))


DOCKER = (
    "docker",
    "run",
    "--rm",
    "--network=none",
    "--security-opt=seccomp=unconfined",
    "--security-opt=systempaths=unconfined",
)


def image() -> str:
    from pytest_codexsandbox.environments.container.engine import Engine
    from pytest_codexsandbox.environments.container.images import Images

    asked = spec().container
    assert asked is not None
    with Engine() as engine:
        return Images(engine, cache_folder()).provide(asked)


def one_each(subject: Subject, calls: int) -> float:
    """Measures one `docker run` for each call, as in a test that starts its own container."""
    root, codex = brought(subject)
    words = (*DOCKER, "-v", f"{root}:/codex:ro", "-e", "HOME=/root", "-w", "/srv", image(), *codex)
    return seconds(lambda: [subprocess.run(words, check=True, capture_output=True) for _ in range(calls)])


def brought(subject: Subject) -> tuple[Path, list[str]]:
    """Returns the folder of Codex on this machine, and the call for a container in which that folder is /codex."""
    root = Path(subject.binary).parent.parent
    return root, [f"/codex/{Path(subject.binary).relative_to(root)}", "sandbox", "--", "/bin/true"]


def by_testcontainers(subject: Subject, calls: int) -> float | None:
    """Measures one container of testcontainers for each call, as in a test with its own fixture. Its cleanup helper is
    left out, because it needs a registry. Returns None if testcontainers is not installed."""
    try:
        config = importlib.import_module("testcontainers.core.config").testcontainers_config
        container = importlib.import_module("testcontainers.core.container").DockerContainer
    except ImportError:
        return None
    config.ryuk_disabled = True
    root, codex = brought(subject)
    made = image()

    def one() -> None:
        with container(
            made,
            command="sleep infinity",
            env={"HOME": "/root"},
            volumes=[(str(root), "/codex", "ro")],
            network_mode="none",
            security_opt=["seccomp=unconfined"],
            working_dir="/srv",
        ) as made_here:
            done = made_here.exec(codex)
            assert done.exit_code == 0, done

    return sum(seconds(one) for _ in range(calls))


def at_once(place: Path, subject: Subject, count: int) -> float:
    """Measures environments that are all open at the same time, each answering a call."""

    def run() -> None:
        with ExitStack() as stack, ThreadPoolExecutor(8) as pool:
            openings = [opened(place / f"a{number}", subject) for number in range(count)]
            environments = list(pool.map(stack.enter_context, openings))
            command = Command(argv=("/bin/true",), cwd="/", env={})
            assert [done.code for done in pool.map(lambda one: one.run(command), environments)] == [0] * count

    return seconds(run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=int, default=20)
    parser.add_argument("--batteries", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=64)
    asked = parser.parse_args()
    there = installed()
    assert there is not None, "no Codex is installed beside this Python"
    subject = resolve(there, cache=cache_folder())
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        place = Path(folder)
        print(f"a call through a container / on this machine    {per_call(place, subject, 40):.2f}  (goal 1.15)")
        calls = asked.environments * asked.batteries
        wall = many(place, subject, asked.environments, asked.batteries)
        print(
            f"{asked.environments} environments x {asked.batteries} calls / starts + bare calls    "
            f"{wall / floor(place, subject, asked.environments, asked.batteries):.2f}  (goal 1.3)"
        )
        each = one_each(subject, 20) / 20
        print(f"one docker run for each call / this             {each * calls / wall:.1f}  (goal 5)")
        other = by_testcontainers(subject, 20)
        ratio = "not installed" if other is None else f"{other / 20 * calls / wall:.1f}"
        print(f"one of testcontainers for each call / this      {ratio}  (goal 8)")
        took = at_once(place, subject, asked.at_once)
        print(f"{asked.at_once} at once: all answer after {took:.1f} s")
        print(f"memory of the runner: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB  (goal 200)")


if __name__ == "__main__":
    main()
