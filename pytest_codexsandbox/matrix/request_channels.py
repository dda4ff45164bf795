"""Ways by which a generator can learn the requested roots and network: placeholders, variables, the request file.

A command that has no such placeholder, and whose program never mentions our variables, is told nothing. It is asked
only what it can know. Files are searched for the name of the variables; where that cannot be done it counts as told.
"""

import importlib.machinery
import mmap
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_codexsandbox.model.generator import Expect, Row
from pytest_codexsandbox.model.generator_spec import Generator

UNTOLD: Final = Row(
    expect=Expect(keeps=True),
    why="nothing tells this generator which roots and network are asked for, so the policy in force must stay",
)
_PLACEHOLDERS: Final = ("@ROOTS_JSON@", "@ROOT0@", "@NETWORK@", "@REQUEST@")
_VARIABLES: Final = b"CXG_"
_FILES: Final = 3000
_LARGEST: Final = 256 << 20  # bytes of one file
_IMPORTED: Final = re.compile(rb"^\s*(?:from|import)\s+([A-Za-z_]\w*)", re.MULTILINE)


def is_told(generator: Generator) -> bool:
    spec, declaration = generator.spec, generator.declaration
    if spec.parts:
        return any(is_told(part) for part in spec.parts)
    if not spec.words or declaration.install:  # a function gets the request; what is not brought yet cannot be searched
        return True
    texts = (*spec.words, *declaration.env.values(), *declaration.setup.values(), *declaration.setup)
    if any(sign in text for text in texts for sign in (*_PLACEHOLDERS, _VARIABLES.decode())):
        return True
    if spec.words[0] == "codex":
        return False
    return _mentions(generator)


def _mentions(generator: Generator) -> bool:
    base = Path(generator.base or ".")
    program = _program(generator.spec.words[0], base)
    if program is None:
        return True
    try:
        files = [program, *(base / word for word in generator.spec.words[1:] if _is_file(base / word))]
        places = [*files, *(base / folder for folder in generator.declaration.installed)]
        for number, file in enumerate(_searched(places)):
            if number >= _FILES or file.stat().st_size > _LARGEST or _has(file):
                return True
    except (OSError, ValueError):
        return True
    return False


def _program(word: str, base: Path) -> Path | None:
    path = base / Path(word).expanduser() if "/" in word else Path(shutil.which(word) or "/nonexistent")
    return path.resolve() if path.is_file() else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no name of a file
        return False


def _searched(places: list[Path]) -> Iterator[Path]:
    """Each file with what it is likely to load: its package of node_modules, modules beside it or installed."""
    seen: set[Path] = set()
    for place in places:
        for one in (place.resolve(), *_loaded(place.resolve())):
            for file in sorted(one.rglob("*")) if one.is_dir() else (one,):
                if file not in seen and file.is_file():
                    seen.add(file)
                    yield file


def _loaded(program: Path) -> Iterator[Path]:
    parts = program.parts
    if program.is_dir():
        return
    if "node_modules" in parts:
        end = len(parts) - 1 - parts[::-1].index("node_modules")
        yield Path(*parts[: end + (3 if parts[end + 1].startswith("@") else 2)])
    with program.open("rb") as file:
        text = file.read(1 << 16)
    first = text.partition(b"\n")[0]
    if program.suffix == ".py" or (first.startswith(b"#!") and b"python" in first):
        yield from _modules(program, text)


def _modules(program: Path, text: bytes) -> Iterator[Path]:
    """The packages that a Python program names, where they are its own or installed beside it."""
    beside = [str(program.parent), *map(str, (program.parent.parent / "lib").glob("python*/site-packages"))]
    for name in sorted({found.decode() for found in _IMPORTED.findall(text)}):
        spec = importlib.machinery.PathFinder.find_spec(name, beside)
        if spec is not None:
            yield from map(Path, spec.submodule_search_locations or ([spec.origin] if spec.origin else []))


def _has(file: Path) -> bool:
    if not file.stat().st_size:
        return False
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(_VARIABLES) >= 0
