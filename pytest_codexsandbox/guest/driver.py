"""Driver: code that the drivers of Codex share: Codex as a child, its last messages, and an end like its own."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
from typing import IO, TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from pytest_codexsandbox.guest.fifo_channel import INHERITED
else:
    from fifo_channel import INHERITED

FAULT = 97  # the end of the command is unknown, and Codex is not to blame: see doors/support/driver_command.py
SAID = "codexsandbox: "  # the prefix of the driver's own lines on stderr
_KEPT = 256 * 1024  # bytes of stderr that are passed on
_PATIENCE = 5.0  # seconds in which Codex ends by itself once its stdin is closed


class Codex:
    """The Codex process. Its stderr is passed on to the driver's own, up to a limit."""

    def __init__(self, argv: list[str], *, stdin: int, stdout: int) -> None:
        try:
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                argv, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, bufsize=0, pass_fds=INHERITED
            )
        except OSError as problem:
            fault(f"{argv[0]}: {problem.strerror}")
        self.spoke = False  # on stderr: if so, its own message suffices
        self._erring = threading.Thread(target=self._pass_on, args=(self.process.stderr,), daemon=True)
        self._erring.start()

    def _pass_on(self, stream: IO[bytes]) -> None:
        room = _KEPT
        while data := stream.read(1 << 16):
            os.write(2, data[:room])
            room = max(0, room - len(data))
            self.spoke = True

    def ended(self) -> None:
        """Waits until Codex has ended and its stderr has been passed on."""
        self.process.wait()
        self._erring.join(1.0)  # a process that inherited its stderr may keep it open

    def stop(self) -> None:
        """Closes the stdin of Codex, as a client does that disconnects. Ends Codex by a signal if it does not end, and
        reports it.
        """
        if self.process.stdin is not None:
            self.process.stdin.close()
        for number in (0, signal.SIGTERM, signal.SIGKILL):
            if number:
                report(f"Codex did not end by itself, so it was sent {signal.Signals(number).name}")
                self.process.send_signal(number)
            try:
                self.process.wait(_PATIENCE)
                break
            except subprocess.TimeoutExpired:
                continue
        self._erring.join(1.0)

    def end_as_it_did(self, why: str) -> NoReturn:
        """Ends the driver as Codex ended, when Codex ended before it reported the end of the command."""
        self.ended()
        code = self.process.returncode
        if not self.spoke or not code:
            report(why)
        if code < 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
            os.kill(os.getpid(), -code)
        leave(code or FAULT)


def report(text: str) -> None:
    os.write(2, (SAID + text + "\n").encode("utf-8", "backslashreplace"))


def fault(why: str) -> NoReturn:
    """Ends the driver with FAULT: it could not talk to Codex, so Codex's own answer is unknown."""
    report(why)
    leave(FAULT)


def leave(code: int) -> NoReturn:
    """Ends the driver at once, without waiting for its threads."""
    os._exit(code & 0xFF)


def arguments(words: list[str]) -> tuple[str, list[str], list[str]]:
    """Splits CHANNEL COUNT CODEX… COMMAND… into the channel's folder, Codex's words (COUNT of them), and the
    command's.
    """
    count = int(words[1])
    return words[0], words[2 : 2 + count], words[2 + count :]


def shown(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
