"""SSH tunnel: a local socket for an engine's remote socket, carried by one `ssh` command with the user's configuration.

The SDK's own ssh support cannot attach to a container, or needs another library that reads that configuration
differently. This ssh ends with this process in any case: it runs a remote program that ends with its stdin.
"""

import os
import re
import secrets
import select
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, InputError, NotResponding, Unavailable
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.system import environ, process

_THERE: Final = "/var/run/docker.sock"
_READY: Final = b"codexsandbox-is-there"
_ADDRESS: Final = re.compile(
    r"ssh://(?:(?P<user>[A-Za-z0-9_.][A-Za-z0-9_.+-]*)@)?(?P<host>[A-Za-z0-9_.][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<there>/[A-Za-z0-9_./@+-]*)?"
)
_NEW: Final = 60.0
_LONGEST: Final = 107  # of the name of a socket
_OPTIONS: Final = (
    "BatchMode=yes",  # no person can answer a prompt
    "ControlMaster=no",
    "ControlPath=none",  # a connection of its own: it ends when we do
    "ExitOnForwardFailure=yes",
    "StreamLocalBindMask=0177",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
)


def is_far(host: str) -> bool:
    return host.startswith("ssh://")


def words(host: str, here: Path, timeout: float) -> tuple[str, ...]:
    """Returns `ssh://[user@]host[:port][/path/of/its/socket]` as arguments of ssh. Pure."""
    found = _ADDRESS.fullmatch(host)
    if found is None:
        raise InputError(
            f"{host!r} is not the address of an engine", why="as in ssh://user@host:22/var/run/docker.sock"
        )
    there = _THERE if found["there"] in (None, "/") else found["there"]
    options = [word for option in (*_OPTIONS, f"ConnectTimeout={max(1, int(timeout))}") for word in ("-o", option)]
    options += ["-l", found["user"]] if found["user"] else []
    options += ["-p", found["port"]] if found["port"] else []
    name = found["host"].strip("[]")
    return ("-T", *options, "-L", f"{here}:{there}", "--", name, f"echo {_READY.decode()}; exec cat > /dev/null")


@contextmanager
def through(host: str, timeout: float) -> Iterator[str]:
    """Opens the tunnel and yields the address of the local socket."""
    program = shutil.which("ssh")
    if program is None:
        raise Unavailable(
            "the ssh command is missing",
            where=host,
            next_step="apt install openssh-client, or use an engine at unix://",
        )
    here = _place()
    argv = (program, *words(host, here, timeout))
    try:
        with tempfile.TemporaryFile() as said, process.running(argv, cwd="/", env=environ.copied(), stderr=said) as ssh:
            assert ssh.stdout is not None
            if not _ready(ssh.stdout, time.monotonic() + timeout):
                raise _fault(host, said)
            try:
                yield f"unix://{here}"
            except CodexSandboxError:
                raise
            except OSError as problem:  # it does not answer: ssh may know why
                raise _fault(host, said) from problem
    finally:
        here.unlink(missing_ok=True)


def _fault(host: str, said: IO[bytes]) -> HarnessError:
    said.seek(0)
    message = " ".join(said.read(4096).decode("utf-8", "replace").split())
    kind = HarnessError if message else NotResponding
    return kind(
        "the container engine does not answer",
        where=host,
        why=f"ssh: {message or 'it hangs'}",
        next_step="these must work without a prompt: ssh -o BatchMode=yes HOST true; ssh HOST docker version",
    )


def _ready(stdout: IO[bytes], limit: float) -> bool:
    """Waits for the ready line, and skips other output of a login."""
    heard = b""
    while _READY not in heard.split():
        rest = limit - time.monotonic()
        if rest <= 0 or not select.select([stdout], [], [], rest)[0]:
            return False
        data = stdout.read(4096)
        if not data:
            return False
        heard = (heard + data)[-65536:]
    return True


def _place() -> Path:
    """Returns a path for a socket that only this user may connect to."""
    folder = cache_folder() / "ssh"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    _forget(folder)
    place = folder / secrets.token_hex(4)
    if len(os.fsencode(place)) > _LONGEST:
        raise HarnessError(
            "the path is too long for a socket",
            where=str(place),
            next_step="set CODEXSANDBOX_CACHE to a folder with a shorter path",
        )
    return place


def _forget(folder: Path) -> None:
    """Removes sockets of killed processes, on which no process listens. Spares new ones: a process may be about to
    listen.
    """
    for left in folder.iterdir():
        with suppress(OSError):
            if time.time() - left.stat().st_mtime < _NEW:
                continue
        with socket.socket(socket.AF_UNIX) as asking, suppress(OSError):
            asking.settimeout(1)
            try:
                asking.connect(str(left))
            except ConnectionRefusedError:
                left.unlink(missing_ok=True)
