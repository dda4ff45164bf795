"""Required paths: the program of a generator, the folders that it must see, and the place of its module.

Nothing is started or imported here, because a run is planned with this.
"""

import importlib.machinery
import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.generators import placeholders
from pytest_codexsandbox.generators.confinement import is_of_the_system, is_too_wide
from pytest_codexsandbox.generators.function_lookup import check_function
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet
from pytest_codexsandbox.matrix.generator_files import FOLDER
from pytest_codexsandbox.model.generator_spec import Generator

GROUP: Final = "codexsandbox.generators"
GUEST: Final = Path(__file__).parent.parent / "guest"
CODEX: Final = "codex"  # first word of a command: the cell's own Codex
_INTERPRETERS: Final = ("node",)
_LINKS: Final = 20
_SHEBANGS: Final = 3  # how far a chain of interpreters is followed


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """The command or function that starts a generator on this machine."""

    argv: tuple[str, ...] = ()  # with placeholders
    function: tuple[str, str] = ("", "")  # module and name, where it is a Python function
    path: tuple[str, ...] = ()  # where modules are searched
    folders: tuple[str, ...] = ()  # put before the usual search path
    readable: tuple[str, ...] = ()


def made(generator: Generator, *, codex: str = "") -> Invocation:
    """Returns how to start a generator. Raises InputError if its program, module or entry point is missing, or if this
    user may not look at its files.

    `codex`: the program of the cell.
    """
    try:
        return _made(generator, codex)
    except PermissionError as problem:
        raise InputError(
            f"the files that the generator {generator.name} needs cannot be listed",
            where=str(problem.filename or generator.spec),
            why=f"{problem.strerror or problem}: the user of this run may not look there",
            next_step="let this user read that folder, or put a program that this user may read first on PATH",
        ) from problem


def _made(generator: Generator, codex: str) -> Invocation:
    scheme = generator.spec.scheme
    if scheme in ("py", "ep"):
        return _of_function(generator, codex)
    if scheme == "chain":
        raise ValueError("a chain has no command: start its generators")
    return _of_command(generator, codex)


def check(generator: Generator) -> None:
    """Checks, for a plan, whether a generator can be started. Reads the module of a function without importing it."""
    for part in generator.spec.parts or (generator,):
        made(part, codex=sys.executable)  # any program will do: a cell has its own Codex


def need_programs(known: GeneratorSet) -> None:
    """Checks the requested generators that need no installation, so that a missing one is reported before anything
    starts."""
    for name in known.asked:
        one = known.generators[name]
        if not any(part.declaration.install for part in one.spec.parts or (one,)):
            check(one)


# ---- commands
def _of_command(generator: Generator, codex: str) -> Invocation:
    base = Path(generator.base or ".")
    program = codex if generator.spec.words[0] == CODEX and codex else _program(generator, base)
    words = [_absolute(word, base) for word in generator.spec.words[1:]]
    files = [word for word in words if word.startswith("/") and Path(word).is_file()]
    places = {*_of_program(program), *_of_codex(codex), *(_folder_of(file) for file in files)}
    places |= {one for name in _INTERPRETERS if (path := shutil.which(name)) for one in _of_program(path)}
    if any(one.startswith(f"{base.resolve()}/") for one in (program, *files)):
        places.add(str(base.resolve()))
    folders = [str(Path(program).parent), *_folders_of_interpreters()]
    return Invocation(
        argv=(program, *words),
        folders=tuple(dict.fromkeys(folders)),
        readable=_narrow({*places, *_of_python(), *_installed(generator, base)}),
    )


def _program(generator: Generator, base: Path) -> str:
    word = generator.spec.words[0]
    if "/" in word:
        path = base / Path(word).expanduser()
        if not path.is_file():
            why = f"{path} is a folder" if path.is_dir() else f"looked at {path}"
            raise InputError(
                f"there is no program {word}",
                where=str(generator.spec),
                why=why,
                next_step="give the path of a file that can be executed",
            )
        if not os.access(path, os.X_OK):
            raise InputError(
                f"{word} cannot be executed",
                where=str(path),
                why="its mode does not allow it",
                next_step=f"chmod +x {path}",
            )
        _need_interpreter(word, path)
        return str(path.absolute())
    found = shutil.which(word)
    if found is None:
        declared = base / FOLDER / f"{word}.toml"
        why = (
            f"there is no {declared}"
            if not declared.is_file()
            else f"{declared} applies only if it is given by its bare name"
        )
        raise InputError(
            f"there is no program {word!r}",
            where=str(generator.spec),
            why=f"it is not on PATH, and {why}",
            next_step=_NEAR.get(word) or _beside(word, base),
        )
    _need_interpreter(word, Path(found))
    return str(Path(found).absolute())


_NEAR: Final = {"cd": "a command is started without a shell: cmd:sh -c '…'"}
_ELF: Final = b"\x7fELF"


def _beside(word: str, base: Path) -> str:
    """Returns the next step. A file of this name in the current folder is used only if its path is given."""
    if (base / FOLDER / f"{word}.toml").is_file():
        return f"name it without arguments: {word}"
    return f"give its path: ./{word}" if (base / word).is_file() else "install it, or give its path"


def _need_interpreter(word: str, path: Path) -> None:
    """Raises InputError for a missing interpreter or a text file without `#!`. The kernel reports the first like a
    missing program, and the second not at all."""
    try:
        with path.open("rb") as file:
            head = file.read(256)
    except OSError:  # executable, but not readable
        return
    if head.startswith(b"#!"):
        named = head[2:].split(b"\n")[0].decode("utf-8", "replace").strip()
        found = _interpreter(str(path))
        if not found or not os.access(found, os.X_OK):
            raise InputError(
                f"{word} cannot be executed",
                where=str(path),
                why=f"its first line names a missing program: {named or 'none'}",
                next_step="install it, or name another one behind #!",
            )
    elif not head.startswith(_ELF) and b"\0" not in head:
        raise InputError(
            f"{word} cannot be executed",
            where=str(path),
            why="it is a text file without a #! line",
            next_step="begin it with #!/bin/sh, or with the interpreter of its language",
        )


def _absolute(word: str, base: Path) -> str:
    """Makes the name of an existing file absolute. The generator starts in its workspace, where a relative name would
    mean another file."""
    if word.startswith(("-", "/", "@", "~")) or not ("/" in word or Path(word).suffix):
        return word
    try:
        return str((base / word).resolve()) if (base / word).is_file() else word
    except (OSError, ValueError):  # not a valid file name
        return word


def _of_program(path: str, depth: int = 0) -> Iterator[str]:
    """Yields the folders of a program, of every link to it, of its installation and of its interpreter."""
    for place in _hops(path):
        yield _folder_of(place)
        yield from _around(Path(place))
    interpreter = _interpreter(path)
    if interpreter and depth < _SHEBANGS:
        yield from _of_program(interpreter, depth + 1)


def _hops(path: str) -> Iterator[str]:
    """Yields the path, each target of a link on the way, and the real path."""
    hop = path
    for _ in range(_LINKS):
        yield hop
        if not Path(hop).is_symlink():
            break
        hop = os.path.normpath(Path(hop).parent / Path(hop).readlink())
    yield os.path.realpath(path)


def _folder_of(file: str) -> str:
    folder = str(Path(file).parent)
    return file if is_too_wide(folder) else folder


def _around(program: Path) -> Iterator[str]:
    parts = program.parts
    if "node_modules" in parts:
        yield str(Path(*parts[: parts.index("node_modules") + 1]))
    prefix = program.parent.parent
    if program.parent.name != "bin":
        return
    if (prefix / "pyvenv.cfg").is_file():
        yield str(prefix)
        yield from _of_venv(prefix / "pyvenv.cfg")
    elif (prefix / "lib").is_dir():
        yield str(prefix / "lib") if prefix.name == ".local" else str(prefix)


def _of_venv(file: Path) -> Iterator[str]:
    found = re.search(r"^home\s*=\s*(.+)$", file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    if found:
        yield str(Path(os.path.realpath(found[1].strip())).parent)


def _interpreter(path: str) -> str:
    """Returns the interpreter in the first line of a file; for `/usr/bin/env python3` the path of python3."""
    try:
        with Path(path).open("rb") as file:
            first = file.read(256).split(b"\n")[0]
    except OSError:
        return ""
    words = first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        return shutil.which(named[0]) or "" if named else ""
    return words[0] if words else ""


def _of_codex(codex: str) -> Iterator[str]:
    """Yields the folders of Codex, with the resources next to it."""
    if codex:
        yield from _of_program(codex)
        above = Path(os.path.realpath(codex)).parent.parent
        if (above / "codex-resources").is_dir():
            yield str(above)


def _installed(generator: Generator, base: Path) -> Iterator[str]:
    for text in generator.declaration.installed:
        path = base / Path(text).expanduser()
        if not path.exists():
            raise InputError(f"installed: there is no {text}", where=generator.name, why=f"looked at {path}")
        if is_too_wide(str(path)):
            raise InputError(
                f"installed: {text} is not the folder of one tool",
                where=generator.name,
                why="it is a home, contains one, or belongs to the system",
                next_step="name the tool's own folder below it",
            )
        yield str(path.absolute())


# ---- functions
def _of_function(generator: Generator, codex: str) -> Invocation:
    module, _, function = target(generator).partition(":")
    base = Path(generator.base or ".").resolve()
    path = tuple(dict.fromkeys((*(os.path.abspath(one or ".") for one in sys.path), str(base))))  # noqa: PTH100
    origin = _origin(module, path, generator)
    check_function(module, function, path, where=str(generator.spec))
    return Invocation(
        function=(module, function),
        path=path,
        folders=tuple(_folders_of_interpreters()),
        readable=_narrow({*_of_python(), *_of_codex(codex), *path, *origin, *_installed(generator, base)}),
    )


def target(generator: Generator) -> str:
    """Returns `module:function`."""
    if generator.spec.scheme == "py":
        return generator.spec.text
    points = {point.name: point.value for point in importlib.metadata.entry_points(group=GROUP)}
    if generator.spec.text not in points:
        raise InputError(
            f"there is no generator {generator.spec.text!r} among the entry points",
            where=GROUP,
            why=f"known: {', '.join(sorted(points)) or 'none'}",
        )
    return points[generator.spec.text]


def _origin(module: str, path: Iterable[str], generator: Generator) -> tuple[str, ...]:
    """Returns the folder of a module's outermost package, without importing it."""
    name = module.partition(".")[0]
    found = importlib.machinery.PathFinder.find_spec(name, list(path)) or _of_a_finder(name)
    if found is None:
        raise InputError(
            f"there is no module {name!r}",
            where=str(generator.spec),
            why="it is neither installed beside this Python nor in the current folder",
        )
    return tuple(found.submodule_search_locations or ()) or ((found.origin,) if found.origin else ())


def _of_a_finder(name: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def python() -> tuple[str, ...]:
    """Returns the paths that our own programs need in order to run."""
    return _narrow(_of_python())


@cache
def _of_python() -> tuple[str, ...]:
    """Returns the paths of this Python, which runs our own programs and functions."""
    found = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(os.__file__).parent), str(GUEST.parent)}
    return tuple(sorted({*found, *_of_program(sys.executable)}))


def _folders_of_interpreters() -> Iterator[str]:
    yield str(Path(sys.executable).parent)
    for name in _INTERPRETERS:
        if found := shutil.which(name):
            yield str(Path(found).parent)


def _narrow(places: Iterable[str]) -> tuple[str, ...]:
    """Drops paths that the system shows anyway, that are missing or too wide, or that lie in another one."""
    there = sorted({one for one in places if Path(one).exists() and not is_of_the_system(one) and not is_too_wide(one)})
    return tuple(one for one in there if not any(one.startswith(f"{other}/") for other in there))


def filled(argv: Iterable[str], values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(placeholders.fill(word, values) for word in argv)
