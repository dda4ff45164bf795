"""Evidence is hostile: a program under test chooses the bytes that a report shows. One rule for each format.

Whatever the format, characters that cannot be seen, or that change how their neighbours are seen (terminal escapes,
right-to-left overrides, zero-width signs), are spelled out: `\\x1b`, `\\u202e`.
"""

import re
import unicodedata
from typing import Final

_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_ORNAMENTS: Final = str.maketrans({
    "·": "|", "×": "x", "—": "-", "–": "-", "…": "...", "→": "->", "≤": "<=", "≥": ">=", "“": '"', "”": '"', "’": "'",
})  # fmt: skip
# What could mean something inside a line to Markdown, to GitHub's additions to it (mentions, references, addresses,
# emoji, mathematics), to a template or to HTML. Rounded brackets mean nothing without the square ones.
_MARKDOWN = re.compile(r"[#$&*<>@\[\\\]`{|}~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//|\w)|(?<=[wW]{3})\.")


def visible(text: str) -> str:
    """One line that shows every character of `text`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def visible_lines(text: str) -> list[str]:
    """Like `visible`, but line ends stay line ends."""
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
    """For CI logs: our own ornaments have twins, everything else beyond ASCII is spelled."""
    if text.isascii():
        return text
    twinned = text.translate(_ORNAMENTS)
    return "".join(character if character.isascii() else spelled(character) for character in twinned)


def clipped(text: str, limit: int) -> str:
    """At most about `limit` characters, and how much is missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… (and {len(text) - limit:,} more characters)"


def markdown(text: str) -> str:
    """Inline text that means nothing to Markdown: no emphasis, link, mention, reference, HTML, nor table bar."""
    return _MARKDOWN.sub(lambda found: f"&#{ord(found[0])};", visible(text))


def markdown_code(text: str) -> str:
    """Inline code. As HTML, because a bar inside backticks still ends a table cell."""
    return f"<code>{markdown(text)}</code>"


def markdown_block(text: str, info: str = "text") -> str:
    """A fenced block whose fence is longer than any run of backticks inside. `info`: a word of ours."""
    lines = "\n".join(visible_lines(text))
    longest = max((len(run) for run in re.findall(r"`+", lines)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{info}\n{lines}\n{fence}"


def width_of(text: str) -> int:
    """How many columns of a terminal it takes."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
