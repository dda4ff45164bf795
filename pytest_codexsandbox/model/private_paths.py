"""Private paths: replaces real paths by words, so that no text says where a test world was. `@OUTSIDE@/x` stands for a
file of a world. Pure.

A test world is below the user's cache folder. Its real paths hold the user's name and the run, and the words `/.cache/`
in them look like a program's own state.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from pytest_codexsandbox.model.world import World

RUN: Final = "@RUN@"  # the folder of a run's environments
CACHE: Final = "@CACHE@"
HOME: Final = "~"
_OWN: Final = ("WORLD", "HOME", "CODEX_HOME", "WORKSPACE", "OUTSIDE", "ROOT0", "SIBLING", "TMPDIR", "UNIX")
_GOES_ON: Final = re.compile(r"[A-Za-z0-9_-]|\.[A-Za-z0-9]")  # the path is the beginning of another name
_BEFORE: Final = re.compile(r"[A-Za-z0-9_./-]")
T = TypeVar("T", bound=msgspec.Struct)


class PrivatePaths:
    """Replaces real paths by words. `places`: path → word; `worlds`: their folders become placeholders."""

    def __init__(self, worlds: Iterable[World | None] = (), places: Mapping[str, str] | None = None) -> None:
        found = {**(places or {})}
        for world in worlds:
            found |= _of(world) if world is not None else {}
        self._words = {spelled: word for path, word in found.items() for spelled in _spellings(path)}
        self._longest = sorted(self._words, key=len, reverse=True)
        # Worlds of one environment share their roots: `re` keeps the pattern, and compiles none for each world.
        roots = sorted(path for path in self._words if not any(path.startswith(f"{one}/") for one in self._words))
        self._roots = re.compile("|".join(map(re.escape, roots))) if roots else None

    def text(self, text: str) -> str:
        pieces, end = [], 0
        for found in self._roots.finditer(text) if self._roots is not None else ():
            path = self._path_at(text, found.start()) if found.start() >= end else ""
            if path:
                pieces += [text[end : found.start()], self._words[path]]
                end = found.start() + len(path)
        return "".join((*pieces, text[end:])) if pieces else text

    def _path_at(self, text: str, start: int) -> str:
        """Returns the longest known path that is there as a whole; "" for none."""
        paths = (path for path in self._longest if text.startswith(path, start) and _is_whole(text, start, path))
        return next(paths, "")

    def of(self, value: T) -> T:
        """Returns the same struct with every text in it replaced."""
        if self._roots is None:
            return value
        return msgspec.convert(self.plain(msgspec.to_builtins(value)), type(value))

    def plain(self, value: Any) -> Any:
        """Returns the same JSON value with every text in it replaced."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.plain(name): self.plain(member) for name, member in value.items()}
            case list() | tuple():
                return [self.plain(member) for member in value]
        return value


def _of(world: World) -> dict[str, str]:
    parent = world.folder.rstrip("/").rpartition("/")[0]
    places = {parent: RUN, world.folder: "@WORLD@"}
    places |= {world.values[name]: f"@{name}@" for name in _OWN if name in world.values}
    return {path.rstrip("/"): word for path, word in places.items() if path.startswith("/") and len(path) > 1}


def _spellings(path: str) -> set[str]:
    """Returns the spellings of a path. A stream of bytes is kept as Latin-1, in which a path that is not ASCII has
    other letters."""
    return {path, path.encode("utf-8", "surrogateescape").decode("latin-1")}


def _is_whole(text: str, start: int, path: str) -> bool:
    """Checks whether the path is no part of a longer one. A path of one name alone, such as that of root's home, may
    also be the end of a longer path."""
    inside = path.count("/") == 1 and start > 0 and _BEFORE.match(text[start - 1])
    return not inside and not _GOES_ON.match(text, start + len(path))
