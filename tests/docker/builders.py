"""Specs of containers for tests."""

import tomllib
from typing import Any

import msgspec

from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.container import ContainerSpec, ImageSpec, Profile, UserSpec
from pytest_codexsandbox.registry import data_folder

DISTRO = "debian-bookworm"


def container(*, distro: str = DISTRO, user: str = "root", bwrap: str = "distro", **changes: Any) -> EnvironmentSpec:
    """Without any syscall filter and with nothing hidden; `changes` are of the profile."""
    written = tomllib.loads((data_folder("matrix") / "distros" / f"{distro}.toml").read_text())
    image = msgspec.convert({**written, "name": distro}, ImageSpec)
    uid = {"root": 0, "u1000": 1000}[user]
    words: dict[str, Any] = {"name": "open", "seccomp": "unconfined", "masked_paths": False, **changes}
    made = ContainerSpec(
        image=image,
        bwrap=SHIPPED.bwrap(bwrap),
        profile=Profile(**words),
        user=UserSpec(name=user, uid=uid, gid=uid),
    )
    return EnvironmentSpec(
        id=f"{distro}~bwrap-{bwrap}~open~{user}",
        backend="docker",
        distro=distro,
        profile="open",
        user=user,
        engine="docker",
        arch=this_machine().arch,
        bwrap=bwrap,
        container=made,
    )
