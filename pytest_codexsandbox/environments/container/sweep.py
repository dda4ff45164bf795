"""Sweep: finds leftovers of killed runs in an engine by their labels, and removes them if the owner is surely dead."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from pytest_codexsandbox.environments.container import labels
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.host_facts import boot_id
from pytest_codexsandbox.environments.run_dirs import Owner
from pytest_codexsandbox.errors import CodexSandboxError, HarnessError
from pytest_codexsandbox.protocols import Notify

_GOING: Final = 2.0  # seconds for the containers of a network to go


class EngineLeftover(msgspec.Struct, frozen=True, kw_only=True):
    """A container or a network of the harness in an engine. Volumes and images are kept for later runs."""

    kind: Literal["container", "network"]
    id: str
    name: str
    state: Literal["lives", "dead", "unknown"]
    owner: Owner
    host: str

    @property
    def what(self) -> str:
        return f"{self.kind} {self.name} (of process {self.owner.pid} on {self.owner.node})"

    @property
    def by_hand(self) -> str:
        verb = "rm -f" if self.kind == "container" else "network rm"
        return f"docker -H {self.host} {verb} {self.id[:12]}"

    def remove(self) -> tuple[str, ...]:
        """Removes it from its engine. Returns why it stays."""
        try:
            with Engine(self.host, timeout=20) as engine:
                engine.remove(self.id) if self.kind == "container" else engine.remove_network(self.id)
        except CodexSandboxError as problem:
            return (problem.why or problem.what,)
        return ()


def leftovers(hosts: Sequence[str], notify: Notify) -> Iterator[EngineLeftover]:
    """Yields everything of the harness in the usual engine, where there is one, and in the engines that were named."""
    for host in ("", *hosts):
        try:
            with Engine(host, timeout=20) as engine:
                found = tuple(find(engine))
        except HarnessError as problem:
            if host:
                raise
            notify(f"no container engine was queried: {problem.why}")
        else:
            yield from found


def find(engine: Engine) -> Iterator[EngineLeftover]:
    """Yields everything that carries our labels."""
    with engine.asked("list its containers"):
        containers = engine.api.containers(all=True, filters={"label": [labels.OWNER]})
    with engine.asked("list its networks"):
        networks = engine.api.networks(filters={"label": [labels.OWNER]})
    for found in containers:
        names = found.get("Names") or ()
        # Docker takes a container back into its list, without a name, when the news of its end comes after its removal
        # (an engine that was killed and started again): listed for as long as the engine lives, and not to be removed.
        if not names and not engine.state(found["Id"]):
            continue
        yield from _remnant(engine, "container", found, names[0].lstrip("/") if names else found["Id"][:12])
    for found in networks:
        yield from _remnant(engine, "network", found, found["Name"])


def _remnant(
    engine: Engine, kind: Literal["container", "network"], found: dict[str, Any], name: str
) -> Iterator[EngineLeftover]:
    owner = labels.owner(found.get("Labels"))
    if owner is not None:  # a similar label that is not ours is ignored
        yield EngineLeftover(kind=kind, id=found["Id"], name=name, state=owner.state, owner=owner, host=engine.host)


def clear_dead(engine: Engine) -> tuple[str, ...]:
    """Removes what runs left whose processes were all killed; names what it removed. Another run may be at it too."""
    gone: list[str] = []
    for left in find(engine):
        if _is_surely_dead(left, engine.host) and _went(engine, left):
            gone.append(left.what)
    return tuple(gone)


def _went(engine: Engine, left: EngineLeftover) -> bool:
    """Removes a leftover. Tries for a while, since a network is in use until its last container has gone."""
    limit = time.monotonic() + _GOING
    while True:
        try:
            engine.remove(left.id) if left.kind == "container" else engine.remove_network(left.id)
        except CodexSandboxError:
            if time.monotonic() > limit:
                return False
            time.sleep(0.1)
        else:
            return True


def _is_surely_dead(left: EngineLeftover, host: str) -> bool:
    """Checks whether the owner is dead for sure. An engine may serve machines of the same name; the boot id
    distinguishes them.
    """
    return left.state == "dead" and (host.startswith("unix://") or left.owner.boot == boot_id())
