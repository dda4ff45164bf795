"""Restrained probe: runs the real probe in one process that restrains itself, like a correct sandbox but without one.

fake_codex.py starts it in place of `PYTHON -I -S PROBE NONCE PLAN`. Python calls restraint.py's audit hook before every
file and socket operation of the probe. The process overwrites its own argv with the probe's, so that a look into /proc
finds the probe. It runs with only the files beside it: standard library only, Python 3.9 or newer.
"""

from __future__ import annotations

import base64
import builtins
import errno
import json
import os
import sys
import types
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_codexsandbox.guest import kernel_restraint
    from pytest_codexsandbox.guest.restraint import Boundary, Restraint, refuse
else:  # started as a file: the files beside it are modules
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import kernel_restraint
    from restraint import Boundary, Restraint, refuse

LIARS = ("liar", "wrong-nonce")


def wear(argv: list[str]) -> None:
    """Overwrites this process's argv with the probe's; it was started with as many bytes of words."""
    worn = b"".join(os.fsencode(word) + b"\0" for word in argv)
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end, the 48th and 49th of the line
    if end - start != len(worn):
        raise SystemExit(f"restrained_probe.py was started with {end - start} bytes of words, not {len(worn)}")
    memory = os.open("/proc/self/mem", os.O_WRONLY)
    os.pwrite(memory, worn, start)
    os.close(memory)


def plan_of(argv: list[str]) -> list[dict[str, Any]]:
    acts: list[dict[str, Any]] = json.loads(zlib.decompress(base64.b64decode(argv[5])))["acts"]
    return acts


def as_the_probe(argv: list[str]) -> None:
    """Becomes the probe: its own file, its own words, in this process."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=argv[3], __builtins__=__builtins__)
    sys.modules["__main__"] = module
    sys.argv = list(argv[3:])
    with open(argv[3], "rb") as source:
        code = compile(source.read(), argv[3], "exec")
    exec(code, module.__dict__)


def alone(opened: Any) -> Any:
    """Wraps os.open as in a private process namespace, where the first process is the sandbox's."""

    def open_there(path: Any, *rest: Any, **words: Any) -> Any:
        outside = isinstance(path, str) and path.startswith("/proc/1/")
        return opened(path.replace("/proc/1/", "/proc/self/", 1) if outside else path, *rest, **words)

    return open_there


def without_privileges(opened: Any, boundary: Boundary) -> Any:
    """Wraps open: in /proc/self/status the capabilities and NoNewPrivs are those of a command in a sandbox."""
    import io

    def line_of(line: str) -> str:
        if line.startswith("NoNewPrivs:"):
            return f"NoNewPrivs:\t{int(not boundary.has('privileges:gained'))}\n"
        if line.startswith(("CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:")):
            return f"{line[:7]}\t{('0' if not boundary.has('capabilities:kept') else 'f') * 16}\n"
        return line

    def open_there(path: Any, *rest: Any, **words: Any) -> Any:
        file = opened(path, *rest, **words)
        return io.StringIO("".join(map(line_of, file))) if path == "/proc/self/status" else file

    return open_there


def confined(run: Any, boundary: Boundary) -> Any:
    """Wraps subprocess.run: what a program made outside is gone afterwards. No audit hook sees what a program does."""
    folder = os.path.join(os.path.dirname(boundary.cwd), "documents")

    def run_there(*words: Any, **named: Any) -> Any:
        if boundary.has("programs:denied"):
            refuse(errno.EACCES)
        before = set(os.listdir(folder))
        try:
            return run(*words, **named)
        finally:
            made = [os.path.join(folder, name) for name in sorted(set(os.listdir(folder)) - before)]
            if made and not boundary.writable(folder):
                run(["rm", "-rf", "--", *made], env={"PATH": os.defpath}, check=False)

    return run_there


def patch(boundary: Boundary, verbs: set[str]) -> None:
    """Patches the operations that no audit hook sees."""
    if "sqlite" in verbs:
        from sqlite_restraint import Databases  # type: ignore[import-not-found]

        Databases(boundary).watch()
    if "status" in verbs and not boundary.full:
        builtins.open = without_privileges(builtins.open, boundary)
    kernel_restraint.patch(boundary)
    if "run" in verbs and not boundary.full:
        import subprocess

        subprocess.run = confined(subprocess.run, boundary)
    if boundary.has("identity:other"):
        os.getresuid = os.getresgid = lambda: (65534, 65534, 65534)
    if not boundary.full and not boundary.has("processes:all"):
        os.open = alone(os.open)
    if boundary.has("socketpair:denies"):
        import _socket

        _socket.socketpair = lambda *words: refuse(errno.EPERM)


class Liar:
    """Reports every act as passed, and does nothing but read."""

    def __init__(self, boundary: Boundary, argv: list[str], nonce: str) -> None:
        self.boundary, self.acts, self.nonce = boundary, plan_of(argv), nonce

    def talk(self) -> None:
        self._say({"ready": {"pid": os.getpid()}})
        sys.stdin.readline()
        for act in self.acts:
            self._say({"row": self._row(act)})
        self._say({"done": len(self.acts)})

    def _say(self, message: dict[str, Any]) -> None:
        sys.stdout.write(f"\x1ecx:{self.nonce}:{json.dumps(message)}\n")
        sys.stdout.flush()

    def _row(self, act: dict[str, Any]) -> dict[str, Any]:
        number, value = self._answer(act["verb"], act.get("path", ""), act.get("params", {}))
        row = {"act": act["id"], "ok": not number, "step": act["verb"] if number else "", "ms": 0.1, "detail": ""}
        return {**row, "errno": errno.errorcode[number] if number else "", "value": value}

    def _answer(self, verb: str, path: str, params: dict[str, Any]) -> tuple[int, str]:
        if verb == "read":
            return 0, self._text(path)
        if verb in ("http", "dns", "socket"):
            value = "192.0.2.7" if verb == "dns" else str(params.get("token", ""))
            return (0, value) if self.boundary.network else (errno.EPERM, "")
        ends = [end for end in (path, params.get("to") if verb in ("rename", "link") else "") if end]
        writes = verb not in ("stat", "list") and not all(
            self.boundary.writable(self.boundary.real(end)) for end in ends
        )
        return errno.EROFS if writes else 0, ""

    def _text(self, path: str) -> str:
        try:
            with open(path, encoding="latin-1") as file:
                return file.read()
        except OSError:
            return ""


def main() -> None:
    order = json.loads(os.environ.pop("CX_RESTRAINT"))
    argv, conduct = order["argv"], order["conduct"]
    sys.dont_write_bytecode = True
    wear(argv)
    boundary = Boundary(order["asked"], order["flaws"])
    if conduct in LIARS:
        return Liar(boundary, argv, argv[4] if conduct == "liar" else argv[4][::-1] + "0").talk()
    patch(boundary, {act["verb"] for act in plan_of(argv)})
    sys.addaudithook(Restraint(boundary, {"codexsandbox.kernel": partial(kernel_restraint.answer, boundary)}))
    return as_the_probe(argv)


if __name__ == "__main__":
    main()
