"""What an engine itself must have, whatever it is asked: seen where a container is opened, and said in plans before."""

from collections.abc import Sequence
from typing import Final

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import CodexSandboxError, NotHad
from pytest_codexsandbox.model.container import ContainerSpec

_LACKS: Final = "this engine has no user namespace for its containers"
_NEXT: Final = "another engine: dockerd --userns-remap=default"
_PATIENCE: Final = 5  # seconds: a plan waits for no engine that is busy or gone


def refuse(engine: Engine, asked: ContainerSpec) -> None:
    if _lacks(engine, asked):
        raise NotHad(_LACKS, where=engine.host, next_step=_NEXT)


class Beforehand:
    """Of the engines that are named, else of the usual one. Asked only for a profile that wants something of it, and
    once; one that does not answer may have it when it does."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts = tuple(dict.fromkeys(hosts)) or ("",)
        self._told: dict[str, str] = {}  # by what is wanted

    def why_not(self, asked: ContainerSpec) -> str:
        wish = asked.profile.userns
        if wish and wish not in self._told:
            self._told[wish] = f"{_LACKS}; {_NEXT}" if all(self._lacks(host, asked) for host in self._hosts) else ""
        return self._told.get(wish, "")

    def _lacks(self, host: str, asked: ContainerSpec) -> bool:
        try:
            with Engine(host, timeout=_PATIENCE) as engine:
                return _lacks(engine, asked)
        except CodexSandboxError:
            return False


def _lacks(engine: Engine, asked: ContainerSpec) -> bool:
    return bool(asked.profile.userns) and not engine.has("userns")
