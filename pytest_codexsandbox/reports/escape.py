"""Escaping: a program under test chooses the bytes that a report shows, so every format escapes them by one rule.

In every format, invisible characters and characters that change their neighbours (terminal escapes, right-to-left
overrides, zero-width characters) are spelled out: `\\x1b`, `\\u202e`.
"""

import re
import unicodedata
from typing import Final

_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_ORNAMENTS: Final = str.maketrans({
    "·": "|", "×": "x", "—": "-", "–": "-", "…": "...", "→": "->", "≤": "<=", "≥": ">=", "“": '"', "”": '"', "’": "'",
})  # fmt: skip
# Characters with a meaning inside a line: for Markdown, GitHub's additions (mentions, references, addresses, emoji,
# mathematics), templates or HTML. Round brackets mean nothing without square ones.
_MARKDOWN = re.compile(r"[#$&*<>@\[\\\]`{|}~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//|\w)|(?<=[wW]{3})\.")


def visible(text: str) -> str:
    """Returns one line that shows every character of `text`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def visible_lines(text: str) -> list[str]:
    """Returns lines as `visible` shows them; line ends stay line ends."""
    return [visible(line.removesuffix("\r")) for line in text.split("\n")]


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _UNSEEN:
        return character
    return _SHORT.get(character) or spelled(character)


def spelled(character: str) -> str:
    point = ord(character)
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def ascii_only(text: str) -> str:
    """Returns ASCII for CI logs: our own symbols have ASCII forms, all other characters are spelled out."""
    if text.isascii():
        return text
    twinned = text.translate(_ORNAMENTS)
    return "".join(character if character.isascii() else spelled(character) for character in twinned)


def clipped(text: str, limit: int) -> str:
    """Returns at most about `limit` characters, and how many are missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… (and {len(text) - limit:,} more characters)"


def markdown(text: str) -> str:
    """Returns inline text without meaning to Markdown: no emphasis, link, mention, reference, HTML or table bar."""
    return _MARKDOWN.sub(lambda found: f"&#{ord(found[0])};", visible(text))


def markdown_code(text: str) -> str:
    """Returns inline code as HTML, because a bar inside backticks still ends a table cell."""
    return f"<code>{markdown(text)}</code>"


def markdown_block(text: str, info: str = "text") -> str:
    """Returns a fenced block. Its fence is longer than any run of backticks inside. `info`: a trusted word."""
    lines = "\n".join(visible_lines(text))
    longest = max((len(run) for run in re.findall(r"`+", lines)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{info}\n{lines}\n{fence}"


def width_of(text: str) -> int:
    """Returns how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
