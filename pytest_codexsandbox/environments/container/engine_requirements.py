"""Engine requirements: what an engine itself must have, checked when a container opens and reported in plans."""

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
    """Requirements of the engines that containers are spread over. An engine that did not answer may still meet
    them.
    """

    def __init__(self, hosts: Sequence[str], userns: Mapping[str, bool]) -> None:
        """`userns`: whether each engine that answered has a user namespace."""
        self._without = all(userns.get(host) is False for host in hosts)

    def why_not(self, asked: ContainerSpec) -> str:
        return f"{_LACKS}; {_NEXT}" if asked.profile.userns and self._without else ""


def _lacks(engine: Engine, asked: ContainerSpec) -> bool:
    return bool(asked.profile.userns) and not engine.has("userns")
