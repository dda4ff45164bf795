"""An engine at another kind of address than a socket of this machine keeps the same promises."""

import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from pytest_codexsandbox.contract.process_tools import GENEROUS, fresh, python, sh
from pytest_codexsandbox.environments.container import ssh_tunnel
from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.container.engine import Engine, default_host
from pytest_codexsandbox.environments.container.sweep import find
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.model.command import Command
from tests.docker.builders import container
from tests.docker.relay import over_tcp

_BACKWARDS: Final = (
    "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data[::-1]); sys.stderr.write('said')"
)


def the_socket() -> str:
    """Of the engine that these tests find another way to."""
    near = default_host()
    assert near.startswith("unix://"), f"this test passes a socket of this machine on, and the engine is at {near}"
    return near


def mine() -> list[str]:
    """What this process has in the engine, asked by the short way."""
    with Engine(default_host()) as engine:
        return [left.name for left in find(engine) if left.owner.is_me]


def keeps_its_promises(host: str, folder: Path) -> None:
    """An environment there, in both directions more than one frame, and nothing of it afterwards."""
    backend, data = ContainerBackend(host=host), os.urandom(3 << 20)
    with backend.open(container(), folder / "e") as environment:
        assert sh(environment, "exit 7").exit == 7
        with fresh(environment) as world:
            done = environment.run(python(world, _BACKWARDS, stdin=data))
        assert (done.exit, done.stdout, done.stderr) == (0, data[::-1], b"said")
        with Engine(host) as engine:
            assert [left.host for left in find(engine) if left.owner.is_me] == [host]
    assert backend.audit() == ()
    assert mine() == []  # who is asked directly says the same


# ---- tcp
def test_over_tcp(folder: Path) -> None:
    with over_tcp(the_socket()) as (host, relay):
        keeps_its_promises(host, folder)
        assert relay.taken > 1  # nobody took the shorter way


def test_a_container_ends_with_a_connection_that_is_lost(folder: Path) -> None:
    """Nobody has to tell the engine, nor could."""
    with over_tcp(the_socket()) as (host, relay):
        backend = ContainerBackend(host=host)
        with backend.open(container(), folder / "e") as environment:
            assert len(mine()) == 1
            relay.cut()
            done = environment.run(Command(argv=("/bin/true",), cwd="/", env={}, timeout=GENEROUS))
            assert done.ended == "lost"
            limit = time.monotonic() + GENEROUS
            while mine():
                assert time.monotonic() < limit
                time.sleep(0.02)
        assert backend.audit() == ()


# ---- ssh, with a command of that name which goes to no other machine
@pytest.fixture
def ssh(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The command, and beside it all that a tunnel leaves."""
    cache, program = folder / "c", folder / "bin" / "ssh"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(ssh_tunnel, "cache_folder", lambda: cache)
    root = Path(__file__).parents[2]
    say(program, f'PYTHONPATH={root} exec {sys.executable} -m tests.docker.relay "$@"')
    yield program
    assert list((cache / "ssh").glob("*")) == []


def say(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.usefixtures("ssh")
def test_over_ssh(folder: Path) -> None:
    keeps_its_promises(f"ssh://somebody@far.example{the_socket().removeprefix('unix://')}", folder)


def test_the_error_of_ssh_is_shown(ssh: Path) -> None:
    say(ssh, "echo 'somebody@far.example: Permission denied (publickey).' >&2; exit 255")
    with pytest.raises(HarnessError) as raised:
        Engine("ssh://somebody@far.example", timeout=20)
    assert raised.value.why == "ssh: somebody@far.example: Permission denied (publickey)."


def test_an_ssh_that_hangs_does_not_hang_us(ssh: Path) -> None:
    say(ssh, "exec sleep 60")
    began = time.monotonic()
    with pytest.raises(HarnessError) as raised:
        Engine("ssh://far.example", timeout=1)
    assert time.monotonic() - began < 30
    assert "hangs" in raised.value.why


def test_a_closed_port_at_the_other_end_is_an_error(ssh: Path) -> None:
    with pytest.raises(HarnessError) as raised:
        Engine("ssh://far.example/nonexistent/engine.sock", timeout=5)
    assert "does not answer" in raised.value.what
    assert "ssh" in raised.value.next_step


@pytest.mark.usefixtures("ssh")
def test_the_tunnel_ends_with_a_runner_that_is_killed(folder: Path) -> None:
    host = f"ssh://far.example{the_socket().removeprefix('unix://')}"
    script = f"""
        import signal, sys
        from pathlib import Path
        from pytest_codexsandbox.environments.container import ssh_tunnel
        ssh_tunnel.cache_folder = lambda: Path({str(folder / "k")!r})
        from pytest_codexsandbox.environments.container.engine import Engine
        engine = Engine({host!r})
        print("there", flush=True)
        signal.pause()
    """
    with subprocess.Popen((sys.executable, "-c", textwrap.dedent(script)), stdout=subprocess.PIPE) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == b"there\n"
        (place,) = (folder / "k" / "ssh").iterdir()
        assert speaks(place)
        runner.kill()
    limit = time.monotonic() + GENEROUS
    while speaks(place):
        assert time.monotonic() < limit
        time.sleep(0.02)


def speaks(place: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as asking:
        try:
            asking.connect(str(place))
        except OSError:
            return False
    return True
