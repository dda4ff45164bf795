"""Edit plan: computes the new bytes of a file from the old ones, or a refusal. It reads and writes no files.

What the user wrote stays, byte for byte, except for the values of the requested keys. Those are changed in place, and
the block notes their old values. The result is parsed before it is returned: it holds exactly what was requested, and
everything else keeps its meaning.
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
    replaced: tuple[str, ...] = ()  # keys of the user's that have another value now
    set_aside: tuple[str, ...] = ()  # keys of the user's that are comments now


def plan(content: bytes | None, wanted: PolicyRequest) -> PlannedEdit | Refusal:
    """Returns the planned bytes, or a refusal. They equal the old ones if our block already contains what is
    requested."""
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
        return Refusal(what="the file is not TOML", why=str(problem), next_step="fix it: Codex cannot read it")


def _planned(text: str, wanted: PolicyRequest, *, new: bool) -> PlannedEdit | Refusal:
    marks = Marks(wanted.owner)
    bom = _BOM if text.startswith(_BOM) else ""
    body = text.removeprefix(bom)
    pieces = cut(body)
    stranger = others(pieces, marks, frozenset(asked(wanted)))
    if stranger:
        next_step = f"remove that block, or use the owner {stranger!r}"
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
        return Refusal(
            what=f"the file already sets other values: {', '.join(replaced)}",
            next_step="remove those settings, or request the same values",
        )
    aside = set_aside(rest, marks) if wanted.take_over else ()
    result = bom + _composed(rest, found, todo, aside, marks, eol=line_end(body))
    if body and not body.endswith("\n") and result.rstrip().endswith((marks.end, marks.line)):
        result = result.removesuffix(line_end(body))  # the user's last line had no end, so our last line gets none
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
    """Returns the oldest note of each key: the value that the user had set before any writer of this kind ran."""
    notes: dict[str, str] = {}
    for note in (*before, *(note for edit in made for note in edit.notes)):
        notes.setdefault(note.partition(" = ")[0], note)
    return tuple(notes.values())


def _proved(result: str, before: dict[str, Any], wanted: PolicyRequest, marks: Marks) -> Refusal | None:
    """Checks the result before anything is written. A file that has no place for a key is refused here."""
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
    """Returns the settings that belong to the user alone."""
    aside = [(key,) for key in VOIDING] if wanted.take_over else []
    left = data
    for path in (*asked(wanted), *aside):
        left = _less(left, path)
    return left


def _less(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """Removes the value at a path, and the tables that held nothing else."""
    word, below = path[0], path[1:]
    if word not in data or (below and not isinstance(data[word], dict)):
        return data
    left = {key: value for key, value in data.items() if key != word}
    inside = _less(data[word], below) if below else {}
    return {**left, word: inside} if inside else left
