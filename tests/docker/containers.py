"""Specs of containers for tests."""

from typing import Any

import msgspec

from pytest_codexsandbox.environments.machine import this_machine
from pytest_codexsandbox.matrix.containers import spec
from pytest_codexsandbox.model.cell import EnvironmentSpec

DISTRO = "debian-bookworm"


def container(
    *, distro: str = DISTRO, bwrap: str = "distro", profile: str = "seccomp-unconfined-systempaths",
    user: str = "root", **changes: Any,
) -> EnvironmentSpec:  # fmt: skip
    """`changes` are of the profile."""
    made = spec((distro, bwrap, profile, user), arch=this_machine().arch)
    assert made.container is not None
    changed = msgspec.structs.replace(made.container.profile, **changes)
    return msgspec.structs.replace(made, container=msgspec.structs.replace(made.container, profile=changed))
