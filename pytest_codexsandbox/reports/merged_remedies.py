"""Merged remedies: joins the remedies of several environments when one block reports the cause of all of them.

A remedy that helps in one environment and not in another names both, and follows those that help in all.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.model.record import Diagnosis, RemedyHere

_ORDER: Final = ("green", "not proved", "no sandbox", "no better")


def merged(diagnoses: Iterable[Diagnosis]) -> Diagnosis:
    """Returns the first diagnosis, with its remedies as known for all of them."""
    every = list(dict.fromkeys(diagnoses))
    first = every[0]
    alike = [one for one in every if one.fingerprint == first.fingerprint and one.remedies]
    if len({one.remedies for one in alike}) < 2:
        return first
    ways: dict[str, list[tuple[str, RemedyHere]]] = {}
    for one in alike:
        for text, remedy in zip(one.ways, one.remedies, strict=False):
            ways.setdefault(remedy.name, []).append((text, remedy))
    joined = sorted((_joined(found) for found in ways.values()), key=lambda pair: _ORDER.index(pair[1].turns))
    return msgspec.structs.replace(
        first, ways=tuple(text for text, _ in joined), remedies=tuple(remedy for _, remedy in joined)
    )


def _joined(found: Sequence[tuple[str, RemedyHere]]) -> tuple[str, RemedyHere]:
    """Returns one text and the worst outcome of one remedy."""
    text, first = found[0]
    proof = "; ".join(dict.fromkeys(remedy.proof for _, remedy in found))
    price = " / ".join(dict.fromkeys(remedy.price for _, remedy in found))
    turns = max((remedy.turns for _, remedy in found), key=_ORDER.index)
    do = text.removesuffix(f" ({first.proof}). Price: {first.price}")
    return f"{do} ({proof}). Price: {price}", RemedyHere(name=first.name, turns=turns, proof=proof, price=price)
