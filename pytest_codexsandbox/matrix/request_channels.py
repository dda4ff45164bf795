"""Request channels: how a generator learns the requested roots and network: placeholders, variables, the request file.

A command without such a placeholder, whose program never mentions the harness's variables, receives no request. It is
checked only for what it can know. Its files are searched for the variables' names. A program that cannot be searched
counts as one that receives the request.
"""

import importlib.machinery
import mmap
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_codexsandbox.model.generator import DecisionRow, ExpectedPolicy
from pytest_codexsandbox.model.generator_spec import Generator

UNTOLD: Final = DecisionRow(
    expect=ExpectedPolicy(keeps=True),
    why="this generator receives no roots and no network setting, so the policy in force must stay",
)
_PLACEHOLDERS: Final = ("@ROOTS_JSON@", "@ROOT0@", "@NETWORK@", "@REQUEST@")
_VARIABLES: Final = b"CXG_"
_FILES: Final = 3000
_LARGEST: Final = 256 << 20  # bytes of one file
_BESIDE: Final = (".js", ".mjs", ".cjs", ".ts", ".rb", ".pl")  # scripts that load files beside them
_SYSTEM: Final = ("/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/")  # the distribution's programs never mention the harness
_SEPARATORS: Final = re.compile(r"[\s;|&()'\"<>`=]+")
_IMPORTED: Final = re.compile(rb"^\s*(?:from|import)\s+([A-Za-z_]\w*)", re.MULTILINE)


def is_told(generator: Generator) -> bool:
    spec, declaration = generator.spec, generator.declaration
    if spec.parts:
        return any(is_told(part) for part in spec.parts)
    if not spec.words or declaration.install:  # a function gets the request; a missing tool cannot be searched
        return True
    texts = (*spec.words, *declaration.env.values(), *declaration.setup.values(), *declaration.setup)
    if any(sign in text for text in texts for sign in (*_PLACEHOLDERS, _VARIABLES.decode())):
        return True
    if spec.words[0] == "codex":
        return False
    return _mentions(generator)


def _mentions(generator: Generator) -> bool:
    base = Path(generator.base or ".").resolve()
    program = _program(generator.spec.words[0], base)
    if program is None:
        return True
    try:
        named = [one for word in generator.spec.words[1:] for one in _named(word, base)]
        installed = [base / folder for folder in generator.declaration.installed]
        for number, file in enumerate(_searched([program, *named, *installed], base)):
            if number >= _FILES or file.stat().st_size > _LARGEST or _has(file):
                return True
    except (OSError, ValueError):
        return True
    return False


def _program(word: str, base: Path) -> Path | None:
    path = base / Path(word).expanduser() if "/" in word else Path(shutil.which(word) or "/nonexistent")
    return path.resolve() if path.is_file() else None


def _named(text: str, base: Path) -> Iterator[Path]:
    """Yields the files and programs that an argument, or the text of a shell script, names."""
    for word in dict.fromkeys((text, *_SEPARATORS.split(text))):
        try:
            found = base / word if word and (base / word).is_file() else _program(word, base)
        except (OSError, ValueError):  # not a valid file name
            continue
        if found is not None and not str(found).startswith(_SYSTEM):
            yield found


def _searched(places: list[Path], base: Path) -> Iterator[Path]:
    """Yields each file once, with the files that it is likely to load."""
    waiting, seen = [place.resolve() for place in places], set[Path]()
    while waiting:
        place = waiting.pop(0)
        if place in seen:
            continue
        seen.add(place)
        if place.is_dir():
            waiting += sorted(one for one in place.rglob("*") if one.is_file() and one not in seen)
        elif place.is_file():
            yield place
            waiting += [one.resolve() for one in _loaded(place, base)]


def _loaded(program: Path, base: Path) -> Iterator[Path]:
    """Yields the program's package in node_modules, the scripts beside it, or the modules and programs that it
    names."""
    parts = program.parts
    if "node_modules" in parts:
        end = len(parts) - 1 - parts[::-1].index("node_modules")
        yield Path(*parts[: end + (3 if parts[end + 1].startswith("@") else 2)])
        return
    own = program.is_relative_to(base) and "site-packages" not in parts
    if program.suffix in _BESIDE and own:
        yield from (one for one in program.parent.iterdir() if one.suffix in _BESIDE)
    with program.open("rb") as file:
        text = file.read(1 << 16)
    first = text.partition(b"\n")[0] if text.startswith(b"#!") else b""
    if b"python" in first or (program.suffix == ".py" and own):
        yield from _modules(program, text)
    elif first.endswith(b"sh") or program.suffix == ".sh":
        yield from _named(text.decode("utf-8", "replace"), base)


def _modules(program: Path, text: bytes) -> Iterator[Path]:
    """Yields the packages that a Python program imports, if they are its own or installed beside it. Raises ValueError
    for one that is elsewhere, such as an editable installation: it cannot be searched."""
    beside = [str(program.parent), *map(str, (program.parent.parent / "lib").glob("python*/site-packages"))]
    for name in sorted({found.decode() for found in _IMPORTED.findall(text)}):
        spec = importlib.machinery.PathFinder.find_spec(name, beside)
        if spec is not None:
            yield from map(Path, spec.submodule_search_locations or ([spec.origin] if spec.origin else []))
        elif name not in sys.stdlib_module_names:
            raise ValueError(name)


def _has(file: Path) -> bool:
    if not file.stat().st_size:
        return False
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(_VARIABLES) >= 0
