"""Runs a line in a container and gives the last words of it, with the names of fresh folders in place of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from pytest_codexsandbox.environments.container.environment import ContainerEnvironment
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.protocols import Subject
from tests.docker.builders import container
from tests.docker.profile_builders import opened

OF_THE_KERNEL: Final = ("/proc/sys/kernel", "/proc/sys/user")
# What a kernel changes by itself while time goes by.
VOLATILE: Final = (
    "/random/",
    "/pty/nr",
    "/ns_last_pid",
    "/perf_",
    "/sched_domain/",
    "/latencytop",
    "/tainted",
    "/hung_task_detect_count",
)
_NAMES: Final = ("CODEX_HOME", "WORKSPACE", "OUTSIDE", "TMPDIR", "ROOT", "HOME")


class Place(NamedTuple):
    """Where a line is run."""

    profile: str = "seccomp-unconfined-systempaths"
    bwrap: str = "distro"
    user: str = "u1000"

    @property
    def is_natural(self) -> bool:
        return not SHIPPED.profile(self.profile).synthetic


def spec_of(place: Place) -> EnvironmentSpec:
    spec = container(bwrap=place.bwrap)
    assert spec.container is not None
    profile = SHIPPED.profile(place.profile)
    made = msgspec.structs.replace(spec.container, profile=profile, user=SHIPPED.user(place.user))
    return msgspec.structs.replace(
        spec,
        id=f"{spec.distro}~bwrap-{place.bwrap}~{place.profile}~{place.user}",
        profile=place.profile,
        user=place.user,
        resolver="ours",
        synthetic=profile.synthetic,
        container=made,
    )


@contextmanager
def opened_at(place: Place, folder: Path, codex: Subject) -> Iterator[ContainerEnvironment]:
    with opened(spec_of(place), folder, codex=codex) as environment:
        yield environment


def run_line(environment: ContainerEnvironment, codex: Subject, line: str) -> tuple[CommandResult, str]:
    """By a shell, in a fresh workspace; what it said on both, as text."""
    world = environment.world()
    binary = environment.bring(codex.binary)
    env: dict[str, str] = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "LC_ALL": "C.UTF-8",
        "PY": f"{environment.guest[0]} -I",
        "CODEX": binary,
        "BUNDLED": str(Path(binary).parent.parent / "codex-resources" / "bwrap"),
        **{name: world.values[name] for name in _NAMES if name in world.values},
    }
    command = Command(argv=("sh", "-c", line), cwd=world.values["WORKSPACE"], env=env, timeout=60)
    try:
        done = environment.run(command)
    finally:
        environment.clear(world)
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    for name in sorted(env, key=lambda name: -len(env[name])):
        if name in _NAMES or name in ("CODEX", "BUNDLED"):
            said = said.replace(env[name], f"@{name}@")
    return done, said.strip()


def sysctls() -> dict[str, str]:
    found = {}
    for top in OF_THE_KERNEL:
        for path in sorted(Path(top).rglob("*")):
            if path.is_file() and not any(name in str(path) for name in VOLATILE):
                try:
                    found[str(path)] = path.read_text(errors="replace")
                except OSError:
                    continue
    return found
