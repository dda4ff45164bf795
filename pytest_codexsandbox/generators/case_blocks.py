"""Case blocks: replace `@BLOCK@` and similar tokens in a case by what the generator writes where there is no file.

`@BLOCK@` is the whole block, `@BEGIN@` and `@END@` are its marker lines, `@BODY@` is the text between them. A word
after a colon changes the block: `@BLOCK:crlf@`, `@BLOCK:indented@`, `@BLOCK:spaces@` (behind its markers),
`@BLOCK:uncommented@` (markers without their `# `), `@BLOCK:edited@` (the user changed values in it). With
`@BLOCK:tables@` the case applies only if the block opens tables, with `@BLOCK:keys@` only if it opens none.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from pytest_codexsandbox.generators.checks.ownership import marker_lines
from pytest_codexsandbox.generators.checks.toml_lexer import document
from pytest_codexsandbox.generators.managed_block import CaseNotApplicable
from pytest_codexsandbox.model.generator import Case, Marker

_TOKEN: Final = re.compile(rb"@(?P<part>BLOCK|BEGIN|END|BODY)(?::(?P<how>[a-z]+))?@")


def filled(case: Case, alone: bytes | None, markers: tuple[Marker, ...]) -> Case:
    """Returns the case with its tokens replaced. Raises CaseNotApplicable where this generator lacks the needed part.

    `alone`: what the generator writes for the same intent where there is no file.
    """
    if not case.needs_block or case.config is None:
        return case
    if not alone or not alone.strip():
        raise CaseNotApplicable("it writes nothing if there is no file, so there is no block to insert")
    parts = _parts(alone, markers)

    def replaced(found: re.Match[bytes]) -> bytes:
        part, how = found["part"].decode(), (found["how"] or b"").decode()
        if part not in parts:
            raise CaseNotApplicable("it writes no marks around its block")
        return _spoilt(parts[part], how, [parts[name] for name in ("BEGIN", "END") if name in parts])

    return msgspec.structs.replace(case, config=_TOKEN.sub(replaced, case.config), needs_block=False)


def _parts(alone: bytes, markers: tuple[Marker, ...]) -> dict[str, bytes]:
    block = alone.strip(b"\r\n")
    for marker in markers:
        found = document(block)
        begins, ends = marker_lines(found, marker.begin), marker_lines(found, marker.end)
        if begins and ends:
            begin, end = marker.begin.encode(), marker.end.encode()
            body = block.partition(begin)[2].partition(end)[0].strip(b"\r\n")
            return {"BLOCK": block, "BEGIN": begin, "END": end, "BODY": body}
    return {"BLOCK": block}


def _spoilt(text: bytes, how: str, marks: list[bytes]) -> bytes:
    if not how:
        return text
    done = _WAYS[how](text, marks)
    if done is None:
        raise CaseNotApplicable(_WHY.get(how, f"its block cannot be {how}"))
    return done


def _marks_changed(text: bytes, marks: list[bytes], change: Callable[[bytes], bytes]) -> bytes | None:
    changed = b"\n".join(change(line) if line.strip() in marks else line for line in text.split(b"\n"))
    return changed if changed != text else None


def _edited(text: bytes, marks: list[bytes]) -> bytes | None:
    """Changes values that a user could have changed: flips booleans, and turns workspace-write into read-only."""
    swaps = {b"true": b"false", b"false": b"true", b'"workspace-write"': b'"read-only"'}
    pattern = re.compile(rb'(?m)(?<== )(true|false|"workspace-write")$')
    changed = pattern.sub(lambda found: swaps[found[1]], text)
    return changed if changed != text else None


def _opens_tables(text: bytes) -> bool:
    return any(one.kind == "header" for one in document(text).statements)


_WAYS: Final[dict[str, Callable[[bytes, list[bytes]], bytes | None]]] = {
    "crlf": lambda text, marks: text.replace(b"\n", b"\r\n"),
    "indented": lambda text, marks: b"\n".join(b"  " + line if line else line for line in text.split(b"\n")),
    "spaces": lambda text, marks: _marks_changed(text, marks, lambda line: line + b"  "),
    "uncommented": lambda text, marks: _marks_changed(text, marks, lambda line: line.removeprefix(b"# ")),
    "edited": _edited,
    "tables": lambda text, marks: text if _opens_tables(text) else None,
    "keys": lambda text, marks: None if _opens_tables(text) else text,
}
_WHY: Final = {
    "tables": "its block opens no tables",
    "keys": "its block opens tables: they would contain the user's keys below it",
}
