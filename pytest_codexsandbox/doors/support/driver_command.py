"""Driver command: doors at which our program talks to Codex (guest/app_server_driver.py, guest/exec_turn_driver.py).

    PYTHON -I -S DRIVER CHANNEL COUNT CODEX … COMMAND…

The driver is started like any command and ends with the exit code that Codex reported. It relays the command's output,
which does not pass through Codex (guest/fifo_channel.py). Overrides keep a call off the network and away from what
differs between runs, so that a configuration file under test is unchanged to the byte.
"""

import posixpath
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.doors.support.call_settings import details_of, surroundings
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.act import Call, Launch
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.world import World

FAULT: Final = 97  # of the driver (guest/driver.py): it could not converse with Codex
CHANNEL: Final = "@WORLD@/channel"
_SAID: Final = "codexsandbox: "
QUIET: Final = (
    "check_for_update_on_startup=false",
    "analytics.enabled=false",
    "features.plugins=false",
    "features.apps=false",
    "features.unbounded_connection_retries=false",
    "features.daemon_auto_start=false",
)
SNAPSHOT: Final = "features.shell_snapshot"


def driver_command(
    driver: str, codex: Sequence[str], inner: Sequence[str], world: World, call: Call, *, door: str, why: str
) -> Command:
    """Returns the command that starts a driver. `codex`: the words that the driver starts Codex with. Unavailable: the
    call is about what its caller leaves open or signals."""
    if call.launch != Launch():
        raise Unavailable(
            f"the door {door} cannot make this call",
            why="Codex starts the command by a message of our driver: no descriptor, file as stdin or signal of the "
            "caller reaches it",
        )
    channel = world.fill(CHANNEL)
    program = posixpath.join(world.values["GUEST"], driver)
    return Command(
        argv=(world.values["PYTHON"], "-I", "-S", program, channel, str(len(codex)), *codex, *inner),
        cwd=world.fill(call.cwd),
        env=surroundings(world, call),
        stdin=call.stdin,
        timeout=call.timeout,
        interrupt_after=call.interrupt_after,
        channel=channel,
        why=why,
    )


def as_words(overrides: Sequence[str] | Iterator[str]) -> tuple[str, ...]:
    return tuple(word for override in overrides for word in ("-c", override))


def quiet(call: Call) -> tuple[str, ...]:
    """Returns the overrides of a call. Codex takes a snapshot of the user's shell only if the call is about that."""
    return as_words((*QUIET, f"{SNAPSHOT}={'true' if call.shell_snapshot else 'false'}"))


def policy_of(policy: Policy, world: World, call: Call) -> Iterator[str]:
    """Returns a policy as overrides: in every release these doors accept all of it that way."""
    yield f'sandbox_mode="{policy.mode}"'
    if policy.mode == "workspace-write":
        yield from details_of(policy, world, call)


def with_driver_error(observation: Observation) -> Observation:
    """Makes a driver's failure the error of the call, since it says nothing about Codex."""
    if (observation.ended, observation.code) != ("exit", FAULT) or observation.ready or observation.error:
        return observation
    ours = [line for line in observation.stderr.splitlines() if line.startswith(_SAID)]
    error = ours[-1].removeprefix(_SAID) if ours else "the driver of this door could not communicate with Codex"
    return msgspec.structs.replace(observation, error=error)
