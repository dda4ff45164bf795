"""What killed runs left in an engine, found by the labels on it; removed when its owner is surely dead."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from pytest_codexsandbox.environments.container import labels
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.folders import Owner
from pytest_codexsandbox.errors import CodexSandboxError

_OURS = [f"{labels.OWNER}"]


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """A container or a network of ours. Volumes and images are kept for later runs: `codexsandbox images prune`."""

    kind: Literal["container", "network"]
    id: str
    name: str
    state: Literal["lives", "dead", "unknown"]
    owner: Owner
    host: str

    @property
    def what(self) -> str:
        return f"{self.kind} {self.name} (of process {self.owner.pid} on {self.owner.node})"


def find(engine: Engine, *, word: str = "") -> Iterator[Left]:
    """Everything labelled as ours; with `word`, of one environment alone."""
    wanted = [f"{labels.WORD}={word}"] if word else _OURS
    with engine.asked("list its containers"):
        containers = engine.api.containers(all=True, filters={"label": wanted})
    with engine.asked("list its networks"):
        networks = engine.api.networks(filters={"label": wanted})
    for found in containers:
        name = (found.get("Names") or [found["Id"][:12]])[0].lstrip("/")
        yield from _left(engine, "container", found, name)
    for found in networks:
        yield from _left(engine, "network", found, found["Name"])


def _left(engine: Engine, kind: Literal["container", "network"], found: dict[str, Any], name: str) -> Iterator[Left]:
    owner = labels.owner(found.get("Labels"))
    if owner is not None:  # a label of our name that is none of ours is let alone
        yield Left(kind=kind, id=found["Id"], name=name, state=owner.state, owner=owner, host=engine.host)


def remove(engine: Engine, left: Left) -> str:
    """ "" or why it could not be removed."""
    try:
        if left.kind == "container":
            engine.remove(left.id)
        else:
            engine.remove_network(left.id)
    except CodexSandboxError as problem:
        return problem.why or problem.what
    return ""
