"""A container that becomes another one while it is measured: the look after each call says so."""

import re

import pytest

from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.harness.environment_pool import MachineGuard
from pytest_codexsandbox.registry import cache_folder
from tests.docker.builders import container
from tests.fakes.machine import run_folder

PROGRAM = b"#!/bin/sh\necho bubblewrap 0.0.1\n"


def test_a_bubblewrap_that_is_installed_in_the_middle_is_a_fault_of_the_machine() -> None:
    steady, spec = MachineGuard(), container(bwrap="none", user="root")
    with (
        run_folder() as folder,
        ContainerBackend().open(spec, folder, cache=cache_folder()) as environment,
    ):
        steady.opened(environment)
        steady.look(environment)
        environment.put("/usr/bin/bwrap", PROGRAM, 0o755)
        with pytest.raises(HarnessError, match="this machine changed") as caught:
            steady.look(environment)
    assert re.match(r"bwrap .*\bnone\b.* /usr/bin/bwrap ", caught.value.why)
    assert steady.news(spec.id)["image"]
