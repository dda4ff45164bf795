"""Toy door: a way to Codex as a third party writes it: `codex sandbox`, started by `env`.

It imports nothing of the tests: `install_door` copies it into a folder of its own, beside the metadata of a package.
"""

from collections.abc import Sequence

import msgspec

from pytest_codexsandbox.doors.sandbox_cli import SandboxDoor
from pytest_codexsandbox.doors.support.observe import observe
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Door, Subject


class ToyDoor(Door):
    name = "toy"
    observe = observe

    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        made = SandboxDoor().command(subject, policy, world, inner, call)
        return msgspec.structs.replace(made, argv=("/usr/bin/env", *made.argv))


class PatientToyDoor(ToyDoor):
    """Makes calls of their own as well."""

    name = "patient-toy"
    asks_own_calls = True


class ToyControl(ToyDoor):
    name = "toy-control"
    is_control = True
