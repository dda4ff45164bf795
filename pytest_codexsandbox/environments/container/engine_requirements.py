"""What an engine itself must have, whatever it is asked: seen where a container is opened, and said in plans before."""

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.container import ContainerSpec

_LACKS: Final = "this engine has no user namespace for its containers"
_NEXT: Final = "use another engine: dockerd --userns-remap=default"


def refuse(engine: Engine, asked: ContainerSpec) -> None:
    if _lacks(engine, asked):
        raise Unavailable(_LACKS, where=engine.host, next_step=_NEXT)


class PlannedRequirements:
    """Of the engines that containers are spread over; one that did not answer may have it when it does."""

    def __init__(self, hosts: Sequence[str], userns: Mapping[str, bool]) -> None:
        """`userns`: of those that answered."""
        self._without = all(userns.get(host) is False for host in hosts)

    def why_not(self, asked: ContainerSpec) -> str:
        return f"{_LACKS}; {_NEXT}" if asked.profile.userns and self._without else ""


def _lacks(engine: Engine, asked: ContainerSpec) -> bool:
    return bool(asked.profile.userns) and not engine.has("userns")
