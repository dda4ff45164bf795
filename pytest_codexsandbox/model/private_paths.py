"""Paths for readers: `@OUTSIDE@/x` stands for a file of a test world, and no text says where that world was. Pure.

A test world lies below the user's cache folder. Its real paths hold the user's name and the run, and the words
`/.cache/` in them look like a program's own state.
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
_LONGER: Final = r"(?![A-Za-z0-9_-]|\.[A-Za-z0-9])"  # the path is not the beginning of another name
T = TypeVar("T", bound=msgspec.Struct)


class PrivatePaths:
    """Replaces real paths by words. `places`: path → word; `worlds`: their folders become placeholders."""

    def __init__(self, worlds: Iterable[World | None] = (), places: Mapping[str, str] | None = None) -> None:
        found = {**(places or {})}
        for world in worlds:
            found |= _of(world) if world is not None else {}
        self._words = {spelled: word for path, word in found.items() for spelled in _spellings(path)}
        longest = sorted(self._words, key=len, reverse=True)
        self._known = re.compile("|".join(map(_pattern, longest))) if longest else None

    def text(self, text: str) -> str:
        return self._known.sub(lambda found: self._words[found[0]], text) if self._known is not None else text

    def of(self, value: T) -> T:
        """Returns the same struct with every text in it replaced."""
        if self._known is None:
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
    """A stream of bytes is kept as Latin-1: there, a path that is not ASCII has other letters."""
    return {path, path.encode("utf-8", "surrogateescape").decode("latin-1")}


def _pattern(path: str) -> str:
    """A path of one name alone, such as /root, is also the end of longer paths: only a whole one counts."""
    return ("" if path.count("/") > 1 else r"(?<![A-Za-z0-9_./-])") + re.escape(path) + _LONGER
