"""`where` clauses: which cells `where = { codex = ">=0.115,<0.155", distro = "debian-*" }` matches. Pure."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

AXES: Final = (
    "distro",
    "kernel",
    "profile",
    "user",
    "engine",
    "arch",
    "environment",
    "codex",
    "bwrap",
    "generator",
)
Where = Mapping[str, str | tuple[str, ...]]
_RANGE = re.compile(r"\s*[<>=!~]")


def values(where: Where, name: str) -> tuple[str, ...]:
    value = where.get(name, ())
    return (value,) if isinstance(value, str) else value


def is_range(text: str) -> bool:
    return _RANGE.match(text) is not None


def range_fault(texts: tuple[str, ...]) -> str:
    """Returns what is wrong with the values of `codex`; "" if nothing is."""
    if not any(is_range(text) for text in texts):
        return ""
    if len(texts) > 1:
        return "codex is a list with a range in it: a range stands alone, its parts joined by commas"
    try:
        SpecifierSet(texts[0])
    except InvalidSpecifier as error:
        return f"codex = {texts[0]!r} is not a version range ({error})"
    return ""


def needs_place(where: Where) -> bool:
    """Checks whether only a version can decide if the clause matches."""
    return any(is_range(text) for text in values(where, "codex"))


def fits(where: Where, axes: Mapping[str, str], *, version: str) -> bool:
    """Checks that all names match. A name that the cell lacks never matches, nor does a range without a version."""
    return all(_fits(name, values(where, name), axes.get(name, ""), version) for name in where)


def _fits(name: str, texts: tuple[str, ...], value: str, version: str) -> bool:
    if name == "codex" and texts and is_range(texts[0]):
        return in_range(texts[0], version)
    return any(value != "" and fnmatchcase(value, text) for text in texts)


@cache
def in_range(text: str, version: str) -> bool:
    """Checks a version by PEP 440, with pre-releases. Codex's `0.155.0-alpha.3` is read as 0.155.0a3."""
    parsed = parse(version)
    return parsed is not None and SpecifierSet(text).contains(parsed, prereleases=True)


@cache
def parse(version: str) -> Version | None:
    """Returns a version that has a place in ranges. A local build that reports 0.0.0 has none."""
    try:
        parsed = Version(version)
    except InvalidVersion:
        return None
    return None if parsed.release == (0, 0, 0) else parsed
