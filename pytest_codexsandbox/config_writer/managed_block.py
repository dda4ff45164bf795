"""Managed block: our lines in the user's file, and how they are found after other programs have changed the file.

A block is at the root of the file and uses dotted keys. So no table above captures it, and it opens none. A key that
must be in the user's own `[sandbox_workspace_write]` has its marker on the same line, so the two cannot be separated.
"""

from typing import Final

import msgspec

from pytest_codexsandbox.config_writer.request import OWNED, WORKSPACE, Path, Value, as_key, as_toml
from pytest_codexsandbox.config_writer.toml_statements import TomlStatement

_HEAD: Final = "written by a program; edits in here are lost"
_IN_TABLE: Final = frozenset(path[1:] for path in OWNED if path[0] == WORKSPACE)


class Marks(msgspec.Struct, frozen=True):
    """The comments that mark an owner's lines."""

    owner: str

    @property
    def begin(self) -> str:
        return f"# >>> {self.owner}: {_HEAD} >>>"

    @property
    def end(self) -> str:
        return f"# <<< {self.owner}: end of what is written by a program <<<"

    @property
    def line(self) -> str:
        return f"# {self.owner}: written by a program"

    @property
    def was(self) -> str:
        return f"# {self.owner}, before: "

    @property
    def aside(self) -> str:
        return f"# {self.owner}, set aside: "

    def begins(self, piece: TomlStatement) -> bool:
        """Checks for a begin marker, by the owner's name and the arrows: another release may have used other words."""
        return _is_mark(piece, f"# >>> {self.owner}: ", " >>>")

    def ends(self, piece: TomlStatement) -> bool:
        return _is_mark(piece, f"# <<< {self.owner}: ", " <<<")


def _is_mark(piece: TomlStatement, begin: str, end: str) -> bool:
    return piece.kind == "comment" and piece.comment.startswith(begin) and piece.comment.endswith(end)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Our lines in a file. All of them are removed before the block is written again."""

    pieces: tuple[TomlStatement, ...] = ()
    place: int = 0  # where the block was, if a block can be there; else the top
    before: tuple[str, ...] = ()  # our notes of the user's old values


def find(pieces: tuple[TomlStatement, ...], marks: Marks, own: frozenset[Path]) -> Found:
    """Finds our markers anywhere, and our keys between them. Other text between the markers stays."""
    ours: list[TomlStatement] = []
    inside = False
    for number, piece in enumerate(pieces):
        if marks.begins(piece):
            inside = True
            closed = _closed(pieces[number + 1 :], marks)
        elif piece.kind == "header":
            inside = False
        own_key = piece.pair is not None and piece.pair.key in own
        if inside and not closed and not (own_key or _ours_anywhere(piece, marks)):
            inside = False  # the end marker is lost: only what directly follows the begin marker is certainly ours
        if _ours_anywhere(piece, marks) or (inside and own_key):
            ours.append(piece)
        if marks.ends(piece):
            inside = False
    return Found(pieces=tuple(ours), place=_place(ours, marks), before=tuple(_notes(ours, marks)))


def _closed(following: tuple[TomlStatement, ...], marks: Marks) -> bool:
    """Checks whether an end marker comes before the next begin marker."""
    edges = (marks.ends(piece) for piece in following if marks.ends(piece) or marks.begins(piece))
    return next(edges, False)


def _ours_anywhere(piece: TomlStatement, marks: Marks) -> bool:
    if piece.kind == "pair":
        key = piece.pair.key if piece.pair else ()
        return piece.comment == marks.line and piece.table == (WORKSPACE,) and key in _IN_TABLE
    return marks.begins(piece) or marks.ends(piece) or (piece.kind == "comment" and piece.comment.startswith(marks.was))


def _place(ours: list[TomlStatement], marks: Marks) -> int:
    first = next((piece for piece in ours if marks.begins(piece)), None)
    if first is None or first.table:
        return 0
    return first.start - sum(piece.stop - piece.start for piece in ours if piece.stop <= first.start)


def _notes(ours: list[TomlStatement], marks: Marks) -> list[str]:
    return [piece.comment for piece in ours if piece.comment.startswith(marks.was)]


def render(values: dict[Path, Value], notes: tuple[str, ...], marks: Marks) -> tuple[str, ...]:
    """Returns the block's lines, without line ends."""
    keys = (f"{as_key(path)} = {as_toml(value)}" for path, value in values.items())
    return (marks.begin, *notes, *keys, marks.end)


def others(pieces: tuple[TomlStatement, ...], marks: Marks, own: frozenset[Path]) -> str:
    """Returns the owner of another block of this kind that holds one of our keys; "" if there is none."""
    mark = f": {_HEAD} >>>"
    owner = ""
    for piece in pieces:
        if piece.kind == "comment" and piece.comment.endswith(mark) and not marks.begins(piece):
            owner = piece.comment.removeprefix("# >>> ").removesuffix(mark)
        elif piece.kind == "header" or (piece.kind == "comment" and piece.comment.startswith("# <<< ")):
            owner = ""
        elif owner and piece.pair and piece.pair.key in own:
            return owner
    return ""
