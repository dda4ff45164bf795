"""Name the families of bubblewrap that need different remedies: before 0.12, each later minor release, Codex's own.

Before 0.12 Codex goes on without a fresh /proc where the engine masks the old one; from 0.12 on it does not start.
bubblewrap 0.13 calls mount_setattr(2), which no earlier release does.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from packaging.version import Version

from pytest_codexsandbox.diagnosis.fact_conditions import version_in

OWN: Final = "Codex's own bubblewrap"
_BEFORE: Final = "bubblewrap before 0.12"
_CHANGED: Final = Version("0.12")


def family_of(version: str) -> str:
    """Returns the family of a release; "" if the text holds no version."""
    found = version_in(version)
    if found is None:
        return ""
    return _BEFORE if found < _CHANGED else f"bubblewrap {found.major}.{found.minor}"


def family_in(facts: Mapping[str, str]) -> str:
    """Returns the bubblewrap family of an environment from its flat facts; "" if it is unknown."""
    words = (facts.get(name, "") for name in ("bwrap.version", "bwrap_asked.version"))
    found = next((family for family in map(family_of, words) if family), "")
    if facts.get("bwrap_asked.source") == "none" or ("kernel" in facts and not found and "bwrap.path" not in facts):
        return OWN
    return found


def listed(families: Iterable[str]) -> str:
    """Joins the names of families: `bubblewrap before 0.12, 0.12 and Codex's own`."""
    names = dict.fromkeys(families)
    releases = [name.removeprefix("bubblewrap ") for name in names if name != OWN]
    if OWN not in names:
        return f"bubblewrap {', '.join(releases)}"
    return f"bubblewrap {', '.join(releases)} and {OWN.removesuffix(' bubblewrap')}" if releases else OWN
