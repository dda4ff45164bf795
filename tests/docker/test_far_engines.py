"""An engine at another kind of address than a socket of this machine keeps the same promises."""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from pytest_codexsandbox.contract.asking import GENEROUS, fresh, python, sh
from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.container.engine import Engine, default_host
from pytest_codexsandbox.environments.container.sweeping import find
from pytest_codexsandbox.model.command import Command
from tests.docker.containers import container
from tests.docker.relay import Relay, over_tcp

_BACKWARDS: Final = (
    "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data[::-1]); sys.stderr.write('said')"
)


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="codexsandbox-tests-", dir="/var/tmp") as place:
        yield Path(place)


@pytest.fixture
def far() -> Iterator[Relay]:
    near = default_host()
    assert near.startswith("unix://"), f"this test passes a socket of this machine on, and the engine is at {near}"
    with over_tcp(near) as relay:
        yield relay


def mine() -> list[str]:
    """What this process has in the engine, asked by the short way."""
    with Engine(default_host()) as engine:
        return [left.name for left in find(engine) if left.owner.is_me]


def test_an_environment_over_tcp_is_attached_to_measured_and_left_clean(far: Relay, folder: Path) -> None:
    backend, data = ContainerBackend(host=far.host), os.urandom(3 << 20)
    with backend.open(container(), folder / "e") as environment:
        opening = far.taken
        assert opening > 0  # nobody took the shorter way
        assert sh(environment, "exit 7").exit == 7
        with fresh(environment) as world:
            done = environment.run(python(world, _BACKWARDS, stdin=data))  # more than one frame, both ways
        assert (done.exit, done.stdout, done.stderr) == (0, data[::-1], b"said")
        assert far.taken == opening  # by the one connection that is attached
        with Engine(far.host) as engine:
            assert [left.host for left in find(engine) if left.owner.is_me] == [far.host]
    assert backend.audit() == ()
    assert mine() == []  # who is asked directly says the same


def test_a_container_ends_with_a_connection_that_is_lost(far: Relay, folder: Path) -> None:
    """Nobody has to tell the engine, nor could."""
    backend = ContainerBackend(host=far.host)
    with backend.open(container(), folder / "e") as environment:
        assert len(mine()) == 1
        far.cut()
        done = environment.run(Command(argv=("/bin/true",), cwd="/", env={}, timeout=GENEROUS))
        assert done.ended == "lost"
        limit = time.monotonic() + GENEROUS
        while mine():
            assert time.monotonic() < limit
            time.sleep(0.02)
    assert backend.audit() == ()
