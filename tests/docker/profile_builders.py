"""Shipped profiles in real containers: their specs, and what a few programs do in them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.container.environment import ContainerEnvironment
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.container import Profile
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.registry import cache_folder
from tests.docker.builders import container

PROGRAMS: Final = {
    "bwrap": ("bwrap", "--ro-bind", "/", "/", "true"),
    "--unshare-net": ("bwrap", "--ro-bind", "/", "/", "--unshare-net", "true"),
    "--proc": ("bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true"),
    "--unshare-all --proc": ("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--proc", "/proc", "true"),
    "unshare -U": ("unshare", "-U", "true"),
    "unshare -r": ("unshare", "-r", "true"),
}
NETWORK_ON: Final = ("-c", "sandbox_workspace_write.network_access=true")


def profiled(profile: str, user: str = "root", *, as_called: Profile | None = None) -> EnvironmentSpec:
    """The shipped profile; `as_called`: another one under its name."""
    spec = container(user="root")
    assert spec.container is not None
    found = as_called or SHIPPED.profile(profile)
    made = msgspec.structs.replace(spec.container, profile=found, user=SHIPPED.user(user))
    return msgspec.structs.replace(
        spec,
        id=f"{spec.distro}~bwrap-distro~{profile}~{user}",
        profile=profile,
        user=user,
        resolver="ours",
        synthetic=found.synthetic,
        container=made,
    )


@contextmanager
def opened(spec: EnvironmentSpec, folder: Path, *, codex: Subject | None = None) -> Iterator[ContainerEnvironment]:
    with ContainerBackend().open(
        spec, folder, cache=cache_folder(), brought=(codex,) if codex is not None else ()
    ) as environment:
        yield environment


def run(environment: ContainerEnvironment, *argv: str, **words: Any) -> CommandResult:
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    return environment.run(Command(argv=argv, cwd="/tmp", env=env, timeout=60, **words))


def sandboxed(
    environment: ContainerEnvironment, codex: Subject, *argv: str, more: tuple[str, ...] = ()
) -> CommandResult:
    """By Codex, in a fresh world."""
    world = environment.world()
    env = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": world.values["HOME"],
        "CODEX_HOME": world.values["CODEX_HOME"],
        "LC_ALL": "C.UTF-8",
    }
    words = (environment.bring(codex.binary), "sandbox", "-c", 'sandbox_mode="workspace-write"', *more, "--", *argv)
    try:
        return environment.run(Command(argv=words, cwd=world.values["WORKSPACE"], env=env, timeout=60))
    finally:
        environment.clear(world)
