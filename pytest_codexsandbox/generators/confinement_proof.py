"""Confinement proof: runs a test program that attempts, inside and outside, what no generator may do.

The proof runs before the first generator of a run. Each act must succeed outside in the same run: otherwise a failure
inside shows nothing. An act that this user cannot do outside either, for a known reason, is recorded with that reason.
"""

import json
import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.errors import EnvironmentLost
from pytest_codexsandbox.generators import required_paths
from pytest_codexsandbox.generators.confinement import (
    NEXT,
    UNCONFINED,
    CannotConfine,
    Confinement,
    bubblewraps,
    confinement,
    homes,
)
from pytest_codexsandbox.generators.local_dirs import LocalDirs, place
from pytest_codexsandbox.generators.required_paths import GUEST
from pytest_codexsandbox.generators.run_init_client import Job, Limits, readable_by, started_run_init
from pytest_codexsandbox.guest import escape_attempts
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.system import process

_PROGRAM: Final = (sys.executable, "-I", "-S", str(GUEST / "escape_attempts.py"))
_TYPE: Final = "type into the user's terminal"
_TRACE: Final = "trace another's process"
_GAIN: Final = "gain rights by a program"
_LONGEST: Final = 30.0
_NOT_OURS: Final = {
    "have a capability": "this user has none",
    "change the kernel's settings": "this user may not",
    "read the machine's passwords": "this user may not",
    _GAIN: "no program may here",
}
"""Acts that an ordinary user cannot do anyway, with the reason."""


class EscapeAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One act. `outside` and `inside` are "" if the act succeeded there, else they say why not."""

    act: str
    outside: str
    inside: str
    excuse: str = ""  # why a failure outside does not count against the proof

    @property
    def held(self) -> bool:
        return self.inside != "" and (self.outside == "" or self.excuse != "")


class ConfinementProof(msgspec.Struct, frozen=True, kw_only=True):
    """The attempts, and the name of what confines the generators."""

    by: str
    rows: tuple[EscapeAttempt, ...] = ()

    @property
    def faults(self) -> tuple[str, ...]:
        return tuple(
            f"{row.act}: " + ("it succeeded" if row.inside == "" else f"unknown: outside it failed too ({row.outside})")
            for row in self.rows
            if not row.held
        )


def confined(
    folder: Path, *, unconfined: bool = False, candidates: Sequence[str] | None = None
) -> tuple[Confinement, ConfinementProof]:
    """Returns the first bubblewrap that confines, and its proof. Raises CannotConfine if there is none.

    `folder`: of the run.
    """
    if unconfined:
        return UNCONFINED, ConfinementProof(by="")
    refused: list[str] = []
    for candidate in bubblewraps() if candidates is None else candidates:
        found = confinement(candidates=[candidate])
        try:
            return found, prove(found, folder)
        except CannotConfine as problem:
            refused.append(f"{candidate}: {problem.why}")
    if not refused:
        confinement(candidates=[])
    raise CannotConfine("cannot confine generators here", why="; ".join(refused), next_step=NEXT)


def prove(asked: Confinement, folder: Path) -> ConfinementProof:
    """Returns the proof. Raises CannotConfine with the acts that were not prevented."""
    stage = LocalDirs(place(folder))
    outside = place(folder).with_suffix(".outside")
    outside.mkdir(mode=0o700)
    try:
        with _targets(outside) as targets:
            spec = targets.spec
            free = targets.after(lambda name: _said(_here(targets.words(spec, name))), "outside")
            kept = targets.after(lambda name: _said(_behind(asked, stage, targets.words(spec, name))), "inside")
        rows = [*_rows(free, kept), _typing(asked, stage)]
    finally:
        stage.end()
        for path in outside.iterdir():
            path.unlink()
        outside.rmdir()
    proof = ConfinementProof(by=asked.by, rows=tuple(rows))
    if proof.faults:
        raise CannotConfine(
            "cannot confine generators here", where=asked.by, why="; ".join(proof.faults), next_step=NEXT
        )
    return proof


def _rows(free: Mapping[str, str], kept: Mapping[str, str]) -> Iterator[EscapeAttempt]:
    for act, outside in free.items():
        excuse = excuse_of(act, uid=os.getuid(), tracing=_setting("kernel/yama/ptrace_scope")) if outside else ""
        yield EscapeAttempt(act=act, outside=outside, inside=kept.get(act, ""), excuse=excuse)


def excuse_of(act: str, *, uid: int, tracing: str) -> str:
    """Returns why an act may fail outside; "" if it should have succeeded there."""
    if act == _TRACE:
        return "the kernel denies this to every process (kernel.yama.ptrace_scope)" if tracing in ("2", "3") else ""
    return _NOT_OURS.get(act, "") if uid or act == _GAIN else ""


# ---- acts
def _here(words: str) -> CommandResult:
    return process.run(_command((*_PROGRAM, words)))


def _behind(asked: Confinement, stage: LocalDirs, words: str) -> CommandResult:
    """Runs the test program confined, by the run init, as generators are run."""
    walls = asked.walls(stage, required_paths.python())
    try:
        with started_run_init(walls, log=stage.folder / "run-init.log", name=asked.by) as run_init:
            return run_init.run([Job(command=_command((*_PROGRAM, words)))], Limits())[0]
    except (EnvironmentLost, OSError) as problem:
        why = problem.why if isinstance(problem, EnvironmentLost) else str(problem)
        raise CannotConfine("cannot confine generators here", where=asked.by, why=why, next_step=NEXT) from problem


def _command(argv: tuple[str, ...]) -> Command:
    return Command(argv=argv, cwd="/", env={"PATH": os.defpath}, timeout=_LONGEST, why="the proof of the confinement")


def _said(finished: CommandResult) -> dict[str, Any]:
    if finished.ended != "exit" or finished.exit:
        raise CannotConfine("cannot confine generators here", why=_why(finished), next_step=NEXT)
    answer: dict[str, Any] = json.loads(finished.stdout)
    return answer


def _why(finished: CommandResult) -> str:
    said = finished.stderr.decode("utf-8", "replace").strip()[-500:]
    return "; ".join(filter(None, (finished.error, said))) or f"it ended with {finished.code}"


def _typing(asked: Confinement, stage: LocalDirs) -> EscapeAttempt:
    """Tries to type into a terminal that the test program opens. The kernel may refuse this to every program."""
    walls = asked.walls(stage, required_paths.python())
    free, kept = (
        _said(process.run(_command((*_PROGRAM, "terminal", *before, *_PROGRAM, "type")))) for before in ((), walls)
    )
    return EscapeAttempt(
        act=_TYPE,
        outside="" if free["arrived"] else "refused",
        inside="" if kept["arrived"] else "refused",
        excuse="the kernel denies this to every process (dev.tty.legacy_tiocsti)"
        if not free["arrived"] and _setting("dev/tty/legacy_tiocsti") == "0"
        else "",
    )


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text(encoding="ascii").strip()
    except OSError:
        return ""


# ---- what is reached for
class _Targets:
    def __init__(self, folder: Path, child: process.Child, word: str, sockets: Mapping[str, socket.socket]) -> None:
        self._folder, self._child, self._sockets = folder, child, sockets
        half = len(word) // 2
        self.spec: dict[str, Any] = {
            "folders": {path: _identity(path) for path in (*homes(), "/tmp", "/run") if Path(path).is_dir()},
            "canary": str(folder / "canary"),
            "socket": str(folder / "socket"),
            "abstract": word[::-1],
            "port": sockets["reach a port on loopback"].getsockname()[1],
            "pid": child.pid,
            "word": (word[:half], word[half:]),
            "spaces": escape_attempts.spaces(),
        }

    def words(self, spec: Mapping[str, Any], name: str) -> str:
        return json.dumps({**spec, "written": str(self._folder / f"written-{name}")})

    def after(self, act: Callable[[str], dict[str, str]], name: str) -> dict[str, str]:
        """Runs the attempts and replaces their own report by what the targets saw, where a target can see it."""
        answer = act(name)
        arrived = {one: self._arrived(listening) for one, listening in self._sockets.items()}
        arrived["write a file outside"] = (self._folder / f"written-{name}").exists()
        arrived["signal another's process"] = self._hit()
        return {
            one: ("" if arrived[one] else word or "nothing arrived") if one in arrived else word
            for one, word in answer.items()
        }

    def _arrived(self, listening: socket.socket) -> bool:
        try:
            listening.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def _hit(self) -> bool:
        assert self._child.stdout is not None
        return _heard(self._child, within=0.3) == b"hit\n"


@contextmanager
def _targets(folder: Path) -> Iterator[_Targets]:
    word = f"tmp-decoy-{secrets.token_hex(12)}"
    (folder / "canary").write_bytes(b"here")
    by_path, abstract, port = (socket.socket(kind) for kind in (socket.AF_UNIX, socket.AF_UNIX, socket.AF_INET))
    argv = (*_PROGRAM, "decoy", word)
    with closing(by_path), closing(abstract), closing(port), process.running(argv, cwd="/", env={}) as child:
        here = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        try:
            by_path.bind(f"/proc/self/fd/{here}/socket")
        finally:
            os.close(here)
        abstract.bind("\0" + word[::-1])
        port.bind(("127.0.0.1", 0))
        for one in (by_path, abstract, port):
            one.listen(4)
            one.setblocking(False)
        if _heard(child, within=_LONGEST) != b"ready\n":
            raise CannotConfine("cannot confine generators here", why="the target program did not start")
        sockets = {
            "reach a socket by its path": by_path,
            "reach an abstract socket": abstract,
            "reach a port on loopback": port,
        }
        yield _Targets(folder, child, word, sockets)


def _heard(child: process.Child, *, within: float) -> bytes:
    assert child.stdout is not None
    limit, heard = time.monotonic() + within, b""
    while not heard.endswith(b"\n"):
        data = os.read(child.stdout.fileno(), 100) if readable_by(child.stdout.fileno(), limit) else b""
        if not data:
            return heard
        heard += data
    return heard


def _identity(path: str) -> tuple[int, int]:
    status = Path(path).stat()
    return status.st_dev, status.st_ino
