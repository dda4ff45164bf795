"""Decision table: the rows of an author's decision matrix: which row decides, and each row as a case. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from pytest_codexsandbox.matrix.where_clause import in_range, is_range
from pytest_codexsandbox.model.generator import ROW, Case, DecisionRow, Declaration, Intent

CAPABILITIES: Final = ("userns", "uid_map", "netns", "landlock", "seccomp")
_NETWORK: Final = {"off": False, "on": True, "unsaid": None}
_SAID: Final = {network: word for word, network in _NETWORK.items()}
WORDS: Final[Mapping[str, tuple[str, ...]]] = {  # names in `when` besides the version; the ordinary value first
    "platform": ("linux", "darwin", "windows", "wsl", "unknown"),
    "network": tuple(_NETWORK),
    "roots": ("none", "some"),
    **dict.fromkeys(CAPABILITIES, ("yes", "no")),
}
_ROOTS: Final = {"none": (), "some": ("@ROOT0@",)}
_NO_VERSION: Final = ("", "unknown")


def matches(when: Mapping[str, str], intent: Intent, version: str) -> bool:
    """Checks whether a row applies to an intent. `version`: of the cell; a version in the intent takes precedence."""
    asked_version = version if intent.version is None else intent.version
    return _facts_fit(when, intent) and ("version" not in when or _version_fits(when["version"], asked_version))


def _facts_fit(when: Mapping[str, str], intent: Intent) -> bool:
    facts = {"platform": intent.platform, "network": _SAID[intent.network], "roots": "some" if intent.roots else "none"}
    for name, value in when.items():
        if name in facts:
            if facts[name] != value:
                return False
        elif name != "version" and intent.capabilities.get(name, True) is not (value == "yes"):
            return False
    return True


def _version_fits(text: str, version: str) -> bool:
    """Checks whether a version fits. `unknown` fits versions that have no place in ranges: empty or invalid ones."""
    if text in _NO_VERSION:
        return not in_range(">=0", version)
    return in_range(text if is_range(text) else f"=={text}", version)


def row(declaration: Declaration, intent: Intent, version: str) -> DecisionRow | None:
    """Returns the first row of the author's matrix that applies; None if none does."""
    place = _deciding(declaration.semantics, intent, version)
    return None if place is None else declaration.semantics[place]


def _deciding(rows: Sequence[DecisionRow], intent: Intent, version: str) -> int | None:
    return next((place for place, one in enumerate(rows) if matches(one.when, intent, version)), None)


# ---- each row as a case
def cases(declaration: Declaration, version: str) -> tuple[Case, ...]:
    """Returns one case without a file for each row, with an intent for which this row decides and no earlier one."""
    return tuple(
        Case(
            id=name_of(place),
            why=one.why or "a row of the generator's own decision matrix",
            config=None,
            group="rows",
            intent=intent_for(declaration, place, version) or next(_intents(declaration, one)),
        )
        for place, one in enumerate(declaration.semantics)
    )


def name_of(place: int) -> str:
    return f"{ROW}{place + 1:02d}"


def intent_for(declaration: Declaration, place: int, version: str) -> Intent | None:
    """Returns the most ordinary intent for which the row decides; None if it never decides for this release."""
    asked = _intents(declaration, declaration.semantics[place])
    return next((intent for intent in asked if _deciding(declaration.semantics, intent, version) == place), None)


def ruled_out(declaration: Declaration, case: str, version: str) -> str:
    """Returns why a row never applies to this release; "" if it does, and for every other case."""
    place = next((place for place in range(len(declaration.semantics)) if name_of(place) == case), None)
    if place is None or intent_for(declaration, place, version) is not None:
        return ""
    one = declaration.semantics[place]
    deciding = [_deciding(declaration.semantics, intent, version) for intent in _intents(declaration, one)]
    before = sorted({name_of(other) for other in deciding if other is not None and other < place})
    if before and all(other is not None and other < place for other in deciding):
        return f"for Codex {version or 'of this build'} {' and '.join(before)} decides, whatever else is requested"
    return f"the row applies to Codex {one.when.get('version', '')}, and this is {version or 'a build'}"


def shadowed(declaration: Declaration, place: int) -> str:
    """Returns the earlier rows that match everything this row matches, in every release; "" if it may decide."""
    one, found = declaration.semantics[place], set()
    for intent in _intents(declaration, one):
        first = next((at for at, other in enumerate(declaration.semantics[:place]) if _hides(other, one, intent)), None)
        if first is None:
            return ""
        found.add(first + 1)
    return ", ".join(map(str, sorted(found)))


def _hides(earlier: DecisionRow, later: DecisionRow, intent: Intent) -> bool:
    """Checks whether an earlier row matches this intent too. Two different version ranges are not compared here: a plan
    compares them for each release."""
    version = earlier.when.get("version")
    return (version is None or version == later.when.get("version")) and _facts_fit(earlier.when, intent)


def _intents(declaration: Declaration, one: DecisionRow) -> Iterator[Intent]:
    """Yields every intent that the row matches: first the most ordinary one, then all others."""
    there = tuple(name for name in WORDS["platform"] if name in declaration.platforms) or WORDS["platform"][:1]
    known = {**WORDS, "platform": there}
    choices = [(one.when[name],) if name in one.when else words for name, words in known.items()]
    version = "" if one.when.get("version") in _NO_VERSION else None
    yield _intent(known, [first for first, *_ in choices], version)
    rest = sorted(product(*choices), key=lambda chosen: sum(map(str.__ne__, chosen, (first for first, *_ in choices))))
    yield from (_intent(known, chosen, version) for chosen in rest[1:])


def _intent(names: Mapping[str, Any], chosen: Sequence[str], version: str | None) -> Intent:
    said: Any = dict(zip(names, chosen, strict=True))
    return Intent(
        platform=said["platform"],
        network=_NETWORK[said["network"]],
        roots=_ROOTS[said["roots"]],
        version=version,
        capabilities={name: False for name in CAPABILITIES if said[name] == "no"},
    )
