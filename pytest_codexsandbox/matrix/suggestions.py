"""Suggestions for an unknown name: the nearest spelling first, then a bounded list of what exists."""

from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

LIMIT: Final = 12


def did_you_mean(wrong: str, names: Collection[str], *, limit: int = LIMIT) -> str:
    """Returns a text like `did you mean 'local'? known: local, releases`."""
    ordered = sorted(set(names))
    near = get_close_matches(wrong, ordered, n=3, cutoff=0.5) or _of_near_topic(wrong, ordered)
    rest = [name for name in ordered if name not in near]
    shown = (near + rest)[:limit]
    more = f" and {len(ordered) - len(shown)} more" if len(ordered) > len(shown) else ""
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}known: {', '.join(shown) or 'none'}{more}"


def _of_near_topic(wrong: str, names: list[str]) -> list[str]:
    """Returns, for a glob like `sqlit.*`, names whose first part is similar to the glob's."""
    topics = sorted({name.partition(".")[0] for name in names})
    near = get_close_matches(wrong.partition(".")[0], topics, n=1, cutoff=0.6)
    return [name for name in names if near and name.partition(".")[0] == near[0]][:3]
