"""Terminal style: fits text to a screen of a given width: wrapped, coloured, in ASCII if requested."""

import shlex
from collections.abc import Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.model.verdict import SIGNS, Verdict
from pytest_codexsandbox.reports.diff_lines import SIGNS as SIGNS_OF
from pytest_codexsandbox.reports.diff_lines import Kind
from pytest_codexsandbox.reports.escape import ascii_only, clipped, visible, width_of

_COLOURS: Final = {
    Verdict.CONFORMS: "32", Verdict.UNCONFINED: "36", Verdict.VIOLATES: "1;31", Verdict.BLOCKED: "33",
    Verdict.BROKEN: "1;35", Verdict.NOT_APPLICABLE: "2", Verdict.EXPECTED: "34", Verdict.STALE: "1;31",
}  # fmt: skip
_KINDS: Final[dict[Kind, str]] = {"user": "31", "generator": "34", "both": "0", "place": "2"}
LONGEST: Final = 700  # characters of one text on a screen; the journal has all of it


class Paint(msgspec.Struct, frozen=True, kw_only=True):
    width: int
    color: bool
    ascii: bool

    def text(self, text: str) -> str:
        """Returns text of any origin as one line that is safe for this screen."""
        shown = visible(clipped(text, LONGEST))
        return ascii_only(shown) if self.ascii else shown

    def sign(self, verdict: Verdict | None) -> str:
        if verdict is None:
            return " "
        return self._coloured(SIGNS[verdict], _COLOURS[verdict])

    def coloured(self, text: str, verdict: Verdict) -> str:
        return self._coloured(text, _COLOURS[verdict])

    def dim(self, text: str) -> str:
        return self._coloured(text, "2")

    def bold(self, text: str) -> str:
        return self._coloured(text, "1")

    def _coloured(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text.strip() else text

    def diff(self, kind: Kind, text: str, *, margin: int) -> str:
        """Returns one line of a diff, cut at the edge of the screen."""
        room = max(8, self.width - margin - 2)
        shown = visible(text[: 4 * room])  # no tab, and no colour from the program
        shown = ascii_only(shown) if self.ascii else shown
        if width_of(shown) > room:
            shown = _pieces(shown, room - 1)[0] + ("~" if self.ascii else "…")
        return f"{' ' * margin}{self._coloured(f'{SIGNS_OF[kind]} {shown}', _KINDS[kind])}"

    def wrapped(self, text: str | Sequence[str], *, indent: str = "  ", first: str = "") -> list[str]:
        """Returns lines no wider than the screen. Text given as parts breaks only between parts. A word (a part) wider
        than the screen is cut into pieces."""
        lines, line = [], first
        empty = True
        for word in self.text(text).split(" ") if isinstance(text, str) else map(self.text, text):
            for piece in _pieces(word, max(8, self.width - width_of(indent))):
                gap = "" if empty else " "
                if not empty and width_of(line) + len(gap) + width_of(piece) > self.width:
                    lines.append(line.rstrip())
                    line, gap = indent, ""
                line += gap + piece
                empty = False
        return [*lines, line.rstrip()]

    def labelled(self, label: str, text: str | Sequence[str]) -> list[str]:
        """Returns ` because …`, with the following lines aligned below the text."""
        lines = self.wrapped(text, indent=" " * 13, first=f"   {label:<10}")
        return [self.dim(lines[0][:13]) + lines[0][13:], *lines[1:]]

    def command(self, label: str, argv: Sequence[str], *, margin: str = "   ") -> list[str]:
        """Returns a command to paste. If it is too wide, it continues after a backslash, as a shell permits."""
        lines, line = [], f"{margin}{label:<10}"
        indent = " " * len(line)
        for place, word in enumerate(map(shlex.quote, argv)):
            word = ascii_only(visible(word)) if self.ascii else visible(word)
            if place and width_of(line) + 1 + width_of(word) + 2 > self.width:
                lines.append(f"{line} \\")
                line = indent + word
            else:
                line += word if not place else f" {word}"
        lines.append(line)
        return [self.dim(lines[0][: len(indent)]) + lines[0][len(indent) :], *lines[1:]]


def _pieces(word: str, width: int) -> list[str]:
    if width_of(word) <= width:
        return [word]
    pieces, piece, wide = [], "", 0
    for character in word:
        if wide + width_of(character) > width:
            pieces.append(piece)
            piece, wide = "", 0
        piece += character
        wide += width_of(character)
    return [*pieces, piece]
