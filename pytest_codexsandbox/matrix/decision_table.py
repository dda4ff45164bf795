"""The rows of an author's decision matrix: which of them decides, and each as a case of its own. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from pytest_codexsandbox.matrix.where_clause import in_range, is_range
from pytest_codexsandbox.model.generator import ROW, Case, DecisionRow, Declaration, Intent

CAPABILITIES: Final = ("userns", "uid_map", "netns", "landlock", "seccomp")
_NETWORK: Final = {"off": False, "on": True, "unsaid": None}
_SAID: Final = {network: word for word, network in _NETWORK.items()}
WORDS: Final[Mapping[str, tuple[str, ...]]] = {  # what `when` may name, beside the version; the ordinary first
    "platform": ("linux", "darwin", "windows", "wsl", "unknown"),
    "network": tuple(_NETWORK),
    "roots": ("none", "some"),
    **dict.fromkeys(CAPABILITIES, ("yes", "no")),
}
_ROOTS: Final = {"none": (), "some": ("@ROOT0@",)}
_NO_VERSION: Final = ("", "unknown")


def matches(when: Mapping[str, str], wish: Intent, version: str) -> bool:
    """Whether a row speaks of what is asked. `version`: of the cell; what the wish says instead goes before it."""
    told = version if wish.version is None else wish.version
    return _facts_fit(when, wish) and ("version" not in when or _version_fits(when["version"], told))


def _facts_fit(when: Mapping[str, str], wish: Intent) -> bool:
    facts = {"platform": wish.platform, "network": _SAID[wish.network], "roots": "some" if wish.roots else "none"}
    for name, value in when.items():
        if name in facts:
            if facts[name] != value:
                return False
        elif name != "version" and wish.capabilities.get(name, True) is not (value == "yes"):
            return False
    return True


def _version_fits(text: str, version: str) -> bool:
    """`unknown` is what has no place in ranges: nothing, or nonsense."""
    if text in _NO_VERSION:
        return not in_range(">=0", version)
    return in_range(text if is_range(text) else f"=={text}", version)


def row(declaration: Declaration, wish: Intent, version: str) -> DecisionRow | None:
    """The first row of the author's matrix that fits; None where none does."""
    place = _deciding(declaration.semantics, wish, version)
    return None if place is None else declaration.semantics[place]


def _deciding(rows: Sequence[DecisionRow], wish: Intent, version: str) -> int | None:
    return next((place for place, one in enumerate(rows) if matches(one.when, wish, version)), None)


# ---- each of them as a case
def cases(declaration: Declaration, version: str) -> tuple[Case, ...]:
    """Where there is no file, what the row speaks of is asked, such that this row decides and no earlier one."""
    return tuple(
        Case(
            id=name_of(place),
            why=one.why or "a row of the generator's own decision matrix",
            config=None,
            group="rows",
            wish=wish_for(declaration, place, version) or next(_wishes(declaration, one)),
        )
        for place, one in enumerate(declaration.semantics)
    )


def name_of(place: int) -> str:
    return f"{ROW}{place + 1:02d}"


def wish_for(declaration: Declaration, place: int, version: str) -> Intent | None:
    """What it is asked for, as ordinary as can be; None where this row never decides for this release."""
    asked = _wishes(declaration, declaration.semantics[place])
    return next((wish for wish in asked if _deciding(declaration.semantics, wish, version) == place), None)


def ruled_out(declaration: Declaration, case: str, version: str) -> str:
    """Why a row says nothing of this release; "" where it decides something. Every other case is asked."""
    place = next((place for place in range(len(declaration.semantics)) if name_of(place) == case), None)
    if place is None or wish_for(declaration, place, version) is not None:
        return ""
    one = declaration.semantics[place]
    told = [_deciding(declaration.semantics, wish, version) for wish in _wishes(declaration, one)]
    before = sorted({name_of(other) for other in told if other is not None and other < place})
    if before and all(other is not None and other < place for other in told):
        return f"for Codex {version or 'of this build'} {' and '.join(before)} decides, whatever else is asked"
    return f"the row speaks of Codex {one.when.get('version', '')}, and this is {version or 'a build'}"


def shadowed(declaration: Declaration, place: int) -> str:
    """The earlier rows that take all that this one speaks of, in every release; "" where it may decide."""
    one, found = declaration.semantics[place], set()
    for wish in _wishes(declaration, one):
        first = next((at for at, other in enumerate(declaration.semantics[:place]) if _hides(other, one, wish)), None)
        if first is None:
            return ""
        found.add(first + 1)
    return ", ".join(map(str, sorted(found)))


def _hides(earlier: DecisionRow, later: DecisionRow, wish: Intent) -> bool:
    """Of two different ranges nobody says here what they have in common: a plan does, release by release."""
    version = earlier.when.get("version")
    return (version is None or version == later.when.get("version")) and _facts_fit(earlier.when, wish)


def _wishes(declaration: Declaration, one: DecisionRow) -> Iterator[Intent]:
    """All that the row speaks of: what it is silent about first as ordinary as can be, then in every other way."""
    there = tuple(name for name in WORDS["platform"] if name in declaration.platforms) or WORDS["platform"][:1]
    known = {**WORDS, "platform": there}
    choices = [(one.when[name],) if name in one.when else words for name, words in known.items()]
    version = "" if one.when.get("version") in _NO_VERSION else None
    yield _wish(known, [first for first, *_ in choices], version)
    rest = sorted(product(*choices), key=lambda chosen: sum(map(str.__ne__, chosen, (first for first, *_ in choices))))
    yield from (_wish(known, chosen, version) for chosen in rest[1:])


def _wish(names: Mapping[str, Any], chosen: Sequence[str], version: str | None) -> Intent:
    said: Any = dict(zip(names, chosen, strict=True))
    return Intent(
        platform=said["platform"],
        network=_NETWORK[said["network"]],
        roots=_ROOTS[said["roots"]],
        version=version,
        capabilities={name: False for name in CAPABILITIES if said[name] == "no"},
    )
