"""Container environment: the agent in a container, as the runner holds it."""

from collections.abc import Mapping
from typing import Any, Final

from pytest_codexsandbox.environments.agent_client import AgentClient
from pytest_codexsandbox.environments.agent_environment import AgentEnvironment
from pytest_codexsandbox.environments.container import host_config, portable_python
from pytest_codexsandbox.environments.container.networks import NEIGHBOUR
from pytest_codexsandbox.errors import EnvironmentLost, HarnessError, Unavailable
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.repro_shell import ReproShell
from pytest_codexsandbox.model.world import World

_LOOKUP: Final = "import socket, sys; print(socket.getaddrinfo(sys.argv[1], None, socket.AF_INET)[0][4][0])"
_TRIES: Final = 3
_LONGEST: Final = 30.0  # for one of them


class ContainerEnvironment(AgentEnvironment):
    """Environment in a container. Maps programs of this machine to their places inside.

    `neighbour`: the address of our other container in its network, "" without one. A control has found the neighbour
    once. After it is gone, a sandbox that hides its name from a command looks like one that does not. So it is looked
    up again, without a sandbox, after each call.
    """

    turn_timeout = 0.0  # its /tmp is its own

    def __init__(
        self,
        spec: EnvironmentSpec,
        client: AgentClient,
        facts: Mapping[str, Any],
        places: Mapping[str, str],
        entrance: ReproShell | None = None,
        neighbour: str = "",
    ) -> None:
        super().__init__(spec, client, facts, folder=host_config.WORLDS)
        self._places, self._entrance, self._neighbour = dict(places), entrance, neighbour
        self._worlds: set[str] = set()
        self._was_met = bool(neighbour) and self._met()  # where the image cannot look it up, the control says so

    @property
    def guest(self) -> tuple[str, str]:
        return portable_python.PYTHON, portable_python.GUEST

    @property
    def entrance(self) -> ReproShell | None:
        return self._entrance

    def bring(self, binary: str) -> str:
        try:
            place = self._places[binary]
        except KeyError:
            raise Unavailable(
                "this program was not mounted into the environment", where=f"{binary} in {self._spec.id}"
            ) from None
        if not place:
            raise HarnessError(
                "this Codex was replaced during the run",
                where=binary,
                why="it was rebuilt or reinstalled",
                next_step="run again",
            )
        return place

    # ---- the neighbour
    def world(self) -> World:
        made = super().world()
        self._worlds.add(made.id)
        return made

    def clear(self, world: World) -> None:
        super().clear(world)
        self._worlds.discard(world.id)
        if self._was_met and not self._worlds and not self._met():
            raise EnvironmentLost(
                "the environment has lost its neighbour",
                where=self._spec.id,
                why=f"{NEIGHBOUR} was {self._neighbour}, and does not resolve there any more: its container has ended, "
                "or the network was changed",
            )

    def _met(self) -> bool:
        return any(_address(self.run(self._lookup())) == self._neighbour for _ in range(_TRIES))

    def _lookup(self) -> Command:
        words = (portable_python.PYTHON, "-I", "-S", "-c", _LOOKUP, NEIGHBOUR)
        return Command(argv=words, cwd="/", env={}, timeout=_LONGEST, why="looking for the neighbour")


def _address(ended: CommandResult) -> str:
    return ended.stdout.decode("latin-1").strip() if ended.ended == "exit" and not ended.exit else ""
