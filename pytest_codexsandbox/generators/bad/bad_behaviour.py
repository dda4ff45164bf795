"""Bad behaviour: generators that report what they did not do, do not end, or reach outside their folders."""

import contextlib
import fcntl
import os
import pwd
import socket
import sys
import termios
import time
from pathlib import Path
from typing import Final

from pytest_codexsandbox.generators.bad.bad_builder import Given, Result, Told, at_once, declining, performing, run_of

REACHED: Final = "REACHED"
"""Printed by a generator that reached something outside. In a confined run it never appears."""
_LONG: Final = 3600.0


def idle(given: Given) -> Result:
    """Does nothing and reports success."""
    return {}


def swallows(given: Given) -> Result:
    """Discards the exit code by which Codex reports that it knows no such server."""
    os.spawnvp(os.P_WAIT, "codex", ["codex", "mcp", "get", "codexsandbox-none"])  # noqa: S606
    return {}


def _failing(run: Told) -> None:
    at_once(run, run.good)
    sys.exit(1)


@declining
def refuses_after_writing(given: Given) -> Result:
    run = run_of(given)
    at_once(run, run.good)
    return {"refused": True, "reason": "the write failed"}


def hangs(given: Given) -> Result:
    time.sleep(_LONG)
    return {}


def _staying(run: Told) -> None:
    """Leaves a grandchild in a session of its own. It keeps all open files open."""
    at_once(run, run.good)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(_LONG)
        os._exit(0)


def writes_to_the_real_home(given: Given) -> Result:
    """Writes to the home of the user who runs it, as the password database names it, not HOME."""
    with contextlib.suppress(OSError, KeyError):
        folder = Path(_real_home()) / ".codex"
        folder.mkdir(exist_ok=True)
        with (folder / "codexsandbox-was-here").open("x") as file:
            file.write(REACHED)
    return _well(given)


def writes_beside(given: Given) -> Result:
    """Writes a file to the shared temp folder, as a cache would be."""
    with contextlib.suppress(OSError):
        Path("/tmp/codexsandbox-was-here").write_text("left", encoding="utf-8")
    return _well(given)


def reads_keys(given: Given) -> Result:
    with contextlib.suppress(OSError, KeyError):
        for name in (".ssh", ".codex"):
            for file in (Path(_real_home()) / name).iterdir():
                print(REACHED, file, file.stat().st_size)
    return _well(given)


def reaches_docker(given: Given) -> Result:
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock"):
        _connect(path)
    return _well(given)


def reaches_the_agent(given: Given) -> Result:
    """Connects to the socket that SSH_AUTH_SOCK names, and to every file that looks like one."""
    for path in (os.environ.get("SSH_AUTH_SOCK", ""), *map(str, Path("/tmp").glob("ssh-*/agent.*"))):
        _connect(path)
    return _well(given)


def types_into_the_terminal(given: Given) -> Result:
    """Types a word into the user's shell by TIOCSTI."""
    for path in ("/dev/tty", "/dev/stdin"):
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
            try:
                fcntl.ioctl(fd, termios.TIOCSTI, b"\0")
                print(REACHED, path)
            finally:
                os.close(fd)
    return _well(given)


def _connect(path: str) -> None:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.settimeout(2)
        if path:
            door.connect(path)
            print(REACHED, path)


def _real_home() -> str:
    return pwd.getpwuid(os.getuid()).pw_dir


def _well(given: Given) -> Result:
    return performing(lambda run: at_once(run, run.good))(given)


fails_after_writing = performing(_failing)
stays = performing(_staying)
