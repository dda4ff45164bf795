"""Fact conditions: facts as flat text, the conditions of a fingerprint on them, and text prepared for a search."""

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

NO_FACTS: Final[Mapping[str, str]] = MappingProxyType({})
HALF: Final = 512 * 1024  # of a longer text, this much of its head and of its tail is searched
_OPERATORS: Final = ("<", ">", "=", "!=", "~")
_NUMBERS = re.compile(r"\d{1,9}(?:\.\d{1,9}){1,3}(?:-(?:alpha|beta|rc)\.?\d{1,9})?")
_COLOUR = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
# A pasted text has been through web pages and chats: their quotes and spaces are read as the plain ones.
_PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " ", "\t": " ", "\r": "\n"})


def flatten(facts: Mapping[str, Any]) -> dict[str, str]:
    """Returns nested facts with dotted names: `{"sysctls": {"a.b": 1}}` becomes `{"sysctls.a.b": "1"}`."""
    return dict(_pairs("", facts))


def _pairs(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _pairs(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        yield name, ",".join(str(item) for item in value)
    elif isinstance(value, bool):
        yield name, "1" if value else "0"
    elif value is not None:
        yield name, str(value)


def holds(when: Mapping[str, str], facts: Mapping[str, str]) -> bool:
    """Checks whether every condition is met; a condition on an unknown fact is not met."""
    return all(_meets(wanted, _fact(name, facts)) for name, wanted in when.items())


def contradicted(unless: Mapping[str, str], facts: Mapping[str, str]) -> bool:
    """Checks whether at least one of these facts is known and holds; an unknown fact contradicts nothing."""
    return any(_meets(wanted, _fact(name, facts)) for name, wanted in unless.items())


def _fact(name: str, facts: Mapping[str, str]) -> str | None:
    if name in facts:
        return facts[name]
    inner = sorted(key for key in facts if key.endswith(f".{name}"))
    return facts[inner[0]] if inner else None


def _meets(wanted: str, fact: str | None) -> bool:
    if fact is None:
        return False
    if not wanted.startswith(_OPERATORS):
        if wanted.startswith("!"):  # anything else, but not nothing
            return bool(fact) and not fnmatchcase(fact.lower(), wanted[1:].lower())
        return fnmatchcase(fact.lower(), wanted.lower())
    version = version_in(fact)
    return version is not None and SpecifierSet(wanted).contains(version, prereleases=True)


def version_in(text: str) -> Version | None:
    """Returns the first version number in the text, if any."""
    found = _NUMBERS.search(text)
    try:
        return Version(found[0]) if found else None
    except InvalidVersion:
        return None


def wrong_condition(wanted: str) -> str:
    """Returns why a condition cannot be parsed; "" if it can."""
    if wanted.startswith(_OPERATORS):
        try:
            SpecifierSet(wanted)
        except InvalidSpecifier as problem:
            return str(problem)
    return ""


def searchable(text: str) -> str:
    """Returns the text in which fingerprints are searched: without colours, with plain quotes, bounded."""
    if len(text) > 2 * HALF:
        text = f"{text[:HALF]}\n{text[-HALF:]}"
    return _COLOUR.sub("", text).translate(_PLAIN)


def unwrapped(text: str) -> str:
    """Returns the text as one line, for a text that a terminal has broken into lines."""
    return " ".join(line.strip() for line in text.split("\n"))
