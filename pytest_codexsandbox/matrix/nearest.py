"""How an unknown name is answered: the nearest spelling first, then a bounded list of what exists."""

from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

LIMIT: Final = 12


def known(wrong: str, names: Collection[str], *, limit: int = LIMIT) -> str:
    """`did you mean 'local'? known: local, releases`."""
    ordered = sorted(set(names))
    near = get_close_matches(wrong, ordered, n=3, cutoff=0.5)
    rest = [name for name in ordered if name not in near]
    shown = (near + rest)[:limit]
    more = f" and {len(ordered) - len(shown)} more" if len(ordered) > len(shown) else ""
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}known: {', '.join(shown) or 'none'}{more}"
