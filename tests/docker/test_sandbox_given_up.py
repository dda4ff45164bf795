"""molecule-core#2128 again: a container in which no sandbox starts, and what three generators made of it.

First no network namespace could be had, then root could not be mapped into a user namespace. What was written for the
first asks for a sandbox that cannot start under the second.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from codexsandbox_incidents import molecule

from pytest_codexsandbox.config_writer import apply
from pytest_codexsandbox.doors.app_server import AppServerDoor
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.generator import CONFIG, GeneratedConfig, GeneratedFile, Request
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import POLICIES, WORKSPACE_WRITE, Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.registry import cache_folder
from tests.docker.profile_builders import opened, profiled
from tests.fakes.machine import installed_codex

WORK = {"work": Act(verb="write", path="@WORKSPACE@/@NAME@", params={"data": "done"})}
NETNS, UID_MAP = "synthetic-rtm-newaddr", "synthetic-uid-map-eacces"


def nothing(request: Request) -> object:
    """Before: Codex's own default for a folder that the user trusts."""
    return apply(request.config, home=request.home)


def done(generate: Callable[[Request], object], profile: str, folder: Path) -> Observation:
    """The agent's work in a container of this profile, with what the generator wrote at its boot."""

    def write(world: World, policy: Policy) -> GeneratedConfig:
        config = folder / "config.toml"
        values = world.values
        generate(
            Request(
                platform="linux",
                version="",
                home=values["HOME"],
                codex_home=values["CODEX_HOME"],
                config=str(config),
                workspace=values["WORKSPACE"],
            )
        )
        return GeneratedConfig(files={CONFIG: GeneratedFile(content=config.read_bytes())})

    codex = installed_codex(cache_folder())
    with opened(profiled(profile, "u1000"), folder / "e", codex=codex) as environment:
        door = AppServerDoor().configured(write)
        (seen,) = door.observe(environment, codex.inside(environment), POLICIES[WORKSPACE_WRITE], WORK, None)
    return seen


@pytest.mark.parametrize(
    ("generate", "profile", "says"),
    [
        (nothing, NETNS, "loopback: Failed RTM_NEWADDR: Operation not permitted"),
        (molecule.pr_77, UID_MAP, "setting up uid map: Permission denied"),
        (molecule.hotpatch, UID_MAP, "setting up uid map: Permission denied"),
    ],
)
def test_the_agent_can_start_nothing(
    generate: Callable[[Request], object], profile: str, says: str, tmp_path: Path
) -> None:
    seen = done(generate, profile, tmp_path)
    assert "work" not in seen.rows
    assert says in seen.stderr, seen


@pytest.mark.parametrize(
    ("generate", "profile"),
    [
        (molecule.pr_77, NETNS),
        (molecule.pr_82, NETNS),
        (molecule.pr_82, UID_MAP),
        (molecule.fixed, UID_MAP),
    ],
)
def test_the_agent_works(generate: Callable[[Request], object], profile: str, tmp_path: Path) -> None:
    """The network on, no network namespace is needed; without a sandbox, nothing is."""
    seen = done(generate, profile, tmp_path)
    assert seen.rows["work"].ok, seen
