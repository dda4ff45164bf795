"""From the bytes of a file to the bytes that it shall have, or to a refusal. Nothing is read or written here.

What the user wrote stays, byte for byte, but for the values of the keys that were asked for; those are changed where
they stand, and the block remembers what they were. The result is parsed before anybody gets it: it holds exactly what
was asked, and everything else means what it meant.
"""

import codecs
from collections.abc import Iterable
from typing import Any, Final

import msgspec
import tomli

from pytest_codexsandbox.config_writer.conflicts import obstacle
from pytest_codexsandbox.config_writer.edits import (
    Edit,
    Edits,
    NoPlace,
    applied,
    at,
    edits,
    line_end,
    plain,
    same,
    set_aside,
)
from pytest_codexsandbox.config_writer.managed_block import Found, Marks, find, others, render
from pytest_codexsandbox.config_writer.request import VOIDING, Path, PolicyRequest, Refusal, asked, impossible, owned
from pytest_codexsandbox.config_writer.toml_statements import NotToml, TomlStatement, cut

_BOM: Final = codecs.BOM_UTF8.decode()


class PlannedEdit(msgspec.Struct, frozen=True, kw_only=True):
    content: bytes
    changed: bool
    replaced: tuple[str, ...] = ()  # keys of the user's that say something else now
    set_aside: tuple[str, ...] = ()  # keys of the user's that are comments now


def plan(content: bytes | None, wanted: PolicyRequest) -> PlannedEdit | Refusal:
    """The same bytes again where they already say, in our words, what is asked."""
    refusal = impossible(wanted)
    if refusal:
        return refusal
    try:
        return _planned((content or b"").decode("utf-8"), wanted, new=content is None)
    except UnicodeDecodeError as problem:
        return Refusal(what="the file is not UTF-8", why=str(problem), next_step="save it as UTF-8")
    except NoPlace as problem:
        return Refusal(what="this file has no place for these keys", why=str(problem))
    except (NotToml, tomli.TOMLDecodeError, RecursionError) as problem:
        return Refusal(what="the file is not TOML", why=str(problem), next_step="mend it: no Codex reads it as it is")


def _planned(text: str, wanted: PolicyRequest, *, new: bool) -> PlannedEdit | Refusal:
    marks = Marks(wanted.owner)
    bom = _BOM if text.startswith(_BOM) else ""
    body = text.removeprefix(bom)
    pieces = cut(body)
    stranger = others(pieces, marks, frozenset(asked(wanted)))
    if stranger:
        next_step = f"take that block out, or use the owner {stranger!r}"
        return Refusal(what=f"{stranger!r} manages the same keys in this file", next_step=next_step)
    found = find(pieces, marks, owned(wanted))
    rest = without(body, found.pieces)
    data = tomli.loads(rest)
    refusal = obstacle(data, wanted)
    if refusal:
        return refusal
    todo = edits(rest, data, asked(wanted), marks, eol=line_end(body))
    replaced = tuple(edit.key for edit in todo.edits if edit.key)
    if replaced and wanted.conflicts == "refuse":
        return Refusal(what=f"the file says something else itself: {', '.join(replaced)}", next_step="agree with it")
    aside = set_aside(rest, marks) if wanted.take_over else ()
    result = bom + _composed(rest, found, todo, aside, marks, eol=line_end(body))
    if body and not body.endswith("\n") and result.rstrip().endswith((marks.end, marks.line)):
        result = result.removesuffix(line_end(body))  # the last line was not ended, and the last one is ours
    return _proved(result, data, wanted, marks) or PlannedEdit(
        content=result.encode(),
        changed=new or result != text,
        replaced=replaced,
        set_aside=tuple(edit.key for edit in aside),
    )


def without(text: str, pieces: Iterable[TomlStatement]) -> str:
    kept, reached = [], 0
    for piece in pieces:
        kept.append(text[reached : piece.start])
        reached = piece.stop
    return "".join((*kept, text[reached:]))


def _composed(rest: str, found: Found, todo: Edits, aside: tuple[Edit, ...], marks: Marks, *, eol: str) -> str:
    lines = render(todo.left, _notes(found.before, todo.edits), marks)
    block = Edit(begin=found.place, end=found.place, text="".join(line + eol for line in lines))
    return applied(rest, (block, *todo.edits, *aside))


def _notes(before: tuple[str, ...], made: tuple[Edit, ...]) -> tuple[str, ...]:
    """The oldest note of each key: what the user had said before any of us came."""
    notes: dict[str, str] = {}
    for note in (*before, *(note for edit in made for note in edit.notes)):
        notes.setdefault(note.partition(" = ")[0], note)
    return tuple(notes.values())


def _proved(result: str, before: dict[str, Any], wanted: PolicyRequest, marks: Marks) -> Refusal | None:
    """The last look before anything is written: where a file has no place for a key, it ends here."""
    body = result.removeprefix(_BOM)
    try:
        after, pieces = tomli.loads(body), cut(body)
    except tomli.TOMLDecodeError as problem:
        return Refusal(what="this file has no place for these keys", why=str(problem))
    sound = (
        all(same(at(after, path), plain(v)) for path, v in asked(wanted).items())
        and same(_theirs(before, wanted), _theirs(after, wanted))
        and [sum(map(count, pieces)) for count in (marks.begins, marks.ends)] == [1, 1]
        and obstacle(after, msgspec.structs.replace(wanted, take_over=False)) is None
    )
    return None if sound else Refusal(what="this file cannot be changed without changing what it means")


def _theirs(data: dict[str, Any], wanted: PolicyRequest) -> dict[str, Any]:
    """What is the user's alone."""
    aside = [(key,) for key in VOIDING] if wanted.take_over else []
    left = data
    for path in (*asked(wanted), *aside):
        left = _less(left, path)
    return left


def _less(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """Without the value at a path, and without the tables that it alone was in."""
    word, below = path[0], path[1:]
    if word not in data or (below and not isinstance(data[word], dict)):
        return data
    left = {key: value for key, value in data.items() if key != word}
    inside = _less(data[word], below) if below else {}
    return {**left, word: inside} if inside else left
