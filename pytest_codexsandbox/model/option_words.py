"""Option words: splits Codex's own options into name and value. Pure."""

from typing import Final

_SHORT: Final = ("-a", "-c", "-m", "-p", "-s")


def cut(word: str) -> tuple[str, str, str]:
    """Splits `--name=value`, `-n=value` or `-nvalue`. The part in the middle says whether there is a value."""
    glued = word[:2] in _SHORT and len(word) > 2 and word[2] != "="
    return (word[:2], "=", word[2:]) if glued else word.partition("=")
