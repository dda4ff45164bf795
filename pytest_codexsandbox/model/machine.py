"""Machine state: the facts of an environment that decide about a sandbox, and how two readings of them differ. Pure.

Results of one cell may share one sign only where these facts were the same for all of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pytest_codexsandbox.model.journal_lines import EnvironmentLine

CHANGED: Final = "changed"  # of facts: what a later look at the same environment found
BWRAP: Final = "bwrap_of_calls"  # of facts: the bubblewrap on the PATH that calls of Codex have
_PARTS: Final = ("path", "sha256", "mode", "capability")  # of that one; a digest may be `unreadable` in both looks
_NONE: Final = "none"
_WHOLE_MACHINE: Final = "kernel."  # a sysctl that no namespace has of its own
_SHOWN: Final = 12  # characters of a digest
_LONGEST: Final = {"sha256": _SHOWN}


def identity(facts: Mapping[str, Any]) -> dict[str, str]:
    """Returns the facts that make one sandbox differ from another, by name, as text. A fact that was not read has no
    name."""
    found = {name: str(value) for name, value in _mapping(facts.get("sysctls")).items()}
    if BWRAP in facts:
        found["bwrap"] = _bwrap(_mapping(facts[BWRAP])) or _NONE
    if "etc_codex" in facts:
        found["/etc/codex"] = ", ".join(
            f"{path} {str(digest)[:_SHOWN]}" for path, digest in _mapping(facts["etc_codex"]).items()
        )
    if "image" in facts:
        found["image"] = str(facts["image"])
    return found


def _mapping(fact: Any) -> Mapping[str, Any]:
    """Returns a fact that has members; no members where a journal has another value there."""
    return fact if isinstance(fact, Mapping) else {}


def _bwrap(bwrap: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (str(bwrap.get(name, ""))[: _LONGEST.get(name)] for name in _PARTS)))


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """Compares the facts of two readings of the same environment. A fact that is missing in one of them is not
    compared."""
    before, after = identity(one), identity(other)
    names = [name for name in sorted(before.keys() | after.keys()) if _both(name, one, other)]
    return tuple(
        f"{name} was {before.get(name) or _NONE}, and is {after.get(name) or _NONE}"
        for name in names
        if before.get(name, "") != after.get(name, "")
    )


def _both(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    key = {"bwrap": BWRAP, "/etc/codex": "etc_codex", "image": "image"}.get(name, "sysctls")
    return key in one and key in other


def changes(lines: Iterable[EnvironmentLine]) -> dict[str, tuple[str, ...]]:
    """Returns what changed while the run went on, by the environment that has cells before and after the change."""
    every = tuple(lines)
    found: dict[str, dict[str, None]] = {}
    first: dict[str, EnvironmentLine] = {}
    for line in every:
        changed = found.setdefault(line.spec, {})
        known = first.setdefault(line.spec, line)
        later = line.facts.get(CHANGED, ())
        named = map(str, later if isinstance(later, list | tuple) else [later])
        changed |= dict.fromkeys((*differences(known.facts, line.facts), *named))
    for here, there, word in _elsewhere(first.values()):
        for spec in (here, there):
            found[spec][word] = None
    return {spec: tuple(changed) for spec, changed in found.items() if changed}


def _elsewhere(lines: Iterable[EnvironmentLine]) -> Iterator[tuple[str, str, str]]:
    """Yields settings of one kernel in which two environments on it differ."""
    seen: dict[tuple[str, str], tuple[str, str]] = {}
    for line in lines:
        boot = str(line.facts.get("boot_id", ""))
        for name, value in _mapping(line.facts.get("sysctls")).items():
            if not boot or not name.startswith(_WHOLE_MACHINE):
                continue
            spec, known = seen.setdefault((boot, name), (line.spec, str(value)))
            if known != str(value):
                yield spec, line.spec, f"{name} was {known} at {spec}, and {value} at {line.spec}"
