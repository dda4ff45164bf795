"""Diff lines: marks each line of a diff as the user's, the generator's, or both. Pure."""

from collections.abc import Iterator
from typing import Literal

Kind = Literal["user", "generator", "both", "place"]
SIGNS: dict[Kind, str] = {"user": "-", "generator": "+", "both": " ", "place": " "}
"""The sign in front of a line. Colour only repeats it."""
WORDS: dict[Kind, str] = {"user": "the user's", "generator": "the generator's", "both": "", "place": ""}


def lines_of(diff: str) -> list[tuple[Kind, str]]:
    """Returns the lines without file names and without the sign in front."""
    return list(_lines(diff)) if diff else []


def _lines(diff: str) -> Iterator[tuple[Kind, str]]:
    lines = diff.split("\n")
    if [line[:4] for line in lines[:2]] == ["--- ", "+++ "]:
        lines = lines[2:]
    for line in lines:
        match line[:1]:
            case "-":
                yield "user", line[1:]
            case "+":
                yield "generator", line[1:]
            case " ":
                yield "both", line[1:]
            case _:
                yield "place", line
