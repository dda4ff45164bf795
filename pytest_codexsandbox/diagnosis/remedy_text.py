"""Remedy text: describes the known effect of a remedy in one environment, and its price there.

A remedy is called proved only for the cause, the family of bubblewrap and the profile in which it was. Elsewhere the
text says that it is not proved there, and then where it is. If the environment is unknown, as with a pasted text, every
family is named.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.diagnosis.bubblewrap_family import family_in, listed
from pytest_codexsandbox.diagnosis.fact_conditions import NO_FACTS
from pytest_codexsandbox.diagnosis.remedies import ORDER, Proof, Remedy, Turns, remedies
from pytest_codexsandbox.model.record import RemedyHere

_NAMED: Final = 2  # profiles
_BARE: Final = (
    "the parts of /proc and /sys that the engine hides from the container's root are exposed: kernel memory layout, "
    "keys, timers, and /proc/sys can be written by root, in Codex' sandbox too"
)
_SEEN: Final = "/proc stays masked, so that a sandboxed command sees the container's processes"
_IF_MASKED: Final = (
    "where the engine masks /proc it stays masked, and a sandboxed command sees the container's processes"
)
_NO_HELP: Final = "does not help"
_WORDS: Final = {
    "green": "proved in {}",
    "no sandbox": "then there is no sandbox; tried in {}",
    "no better": f"{_NO_HELP}: tried in {{}}",
}


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Known properties of the environment that needs a remedy."""

    family: str = ""  # of its bubblewrap
    profile: str = ""
    masked: bool | None = None  # whether the engine hides parts of /proc


ANYWHERE: Final = Where()


def where_of(facts: Mapping[str, str]) -> Where:
    """Returns the properties of an environment from its flat facts."""
    masked = facts.get("masked")
    return Where(
        family=family_in(facts), profile=facts.get("profile", ""), masked=None if masked is None else bool(masked)
    )


def remedies_here(cause: str, facts: Mapping[str, str] = NO_FACTS) -> tuple[tuple[str, RemedyHere], ...]:
    """Returns each remedy for this cause, as text and as data: first those that help in this environment.

    A remedy that helps wherever it was tried comes before one that helps only with some families of bubblewrap.
    """
    where = where_of(facts)
    found = [(one, here(one, cause, where)) for one in remedies() if cause in one.causes]
    found.sort(key=lambda pair: (ORDER.index(pair[1].turns), _NO_HELP in pair[1].proof))
    return tuple((sentence(one, known), known) for one, known in found)


def here(remedy: Remedy, cause: str, where: Where = ANYWHERE) -> RemedyHere:
    turns, proof = shown(remedy, cause, where)
    return RemedyHere(name=remedy.name, turns=turns, proof=proof, price=price(remedy, where))


def sentence(remedy: Remedy, known: RemedyHere) -> str:
    return f"{remedy.do} ({known.proof}). Price: {known.price}"


def shown(remedy: Remedy, cause: str, where: Where = ANYWHERE) -> tuple[Turns | Literal["not proved"], str]:
    """Returns the effect of a remedy in this environment, and the words for it."""
    if remedy.shown:
        return "green", f"proved {remedy.shown}"
    proofs = remedy.proofs_for(cause)
    if not proofs:
        return "not proved", "not proved for this cause" if remedy.proofs else "not proved"
    of_family = [proof for proof in proofs if where.family in ("", proof.family)]
    exact = [proof for proof in of_family if where.profile in ("", proof.before.profile)]
    if exact:
        return _best(exact), _told(exact)
    lacking = f"with {where.family}" if not of_family else f"in {where.profile}"
    return "not proved", f"not proved {lacking}; {_told(of_family or proofs)}"


def _best(proofs: Iterable[Proof]) -> Turns:
    return min((proof.turns for proof in proofs), key=ORDER.index)


def _told(proofs: Sequence[Proof]) -> str:
    """Joins the words for each kind of outcome; names each profile with the families that it was tried with."""
    by_turns: dict[Turns, list[Proof]] = {}
    for proof in sorted(proofs, key=lambda one: ORDER.index(one.turns)):
        by_turns.setdefault(proof.turns, []).append(proof)
    return "; ".join(_WORDS[turns].format(_places(members)) for turns, members in by_turns.items())


def _places(proofs: Sequence[Proof]) -> str:
    families: dict[str, dict[str, None]] = {}
    for proof in proofs:
        families.setdefault(proof.before.profile, {})[proof.family] = None
    named = [f"{profile} with {listed(found)}" for profile, found in families.items()]
    more = [f"{len(named) - _NAMED} more profiles"] if len(named) > _NAMED else []
    return " and ".join((*named[:_NAMED], *more))


def price(remedy: Remedy, where: Where = ANYWHERE) -> str:
    """Returns the price of a remedy in this environment; its effect on /proc depends on the profile."""
    return "; ".join(filter(None, (remedy.price, _price_of_proc(remedy, where))))


def _price_of_proc(remedy: Remedy, where: Where) -> str:
    match remedy.proc, where.masked:
        case "bare", True | None:
            return _BARE
        case "stays", True:
            return _SEEN
        case "stays", None:
            return _IF_MASKED
        case _:
            return ""
