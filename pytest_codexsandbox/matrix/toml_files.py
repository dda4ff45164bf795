"""TOML files that people write: every error names file, line, column and key."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.suggestions import did_you_mean

T = TypeVar("T")
_PARSER_PLACE = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
_VALIDATOR_PLACE = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_FIELD = re.compile(r"(?:unknown|missing required) field `(?P<field>[^`]+)`")
_STEP = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>\d*|\.\.\.)\]")
_KEY = re.compile(r"^\s*[\"']?(?P<key>[A-Za-z0-9_-]+)[\"']?\s*=")


class TomlFile(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    text: str
    data: dict[str, Any]

    def place(self, key: str = "", *, table: str = "", index: int = 0) -> str:
        """Returns `file:line:column (key)` of a key, searched below the index-th `[[table]]` if a table is named."""
        start = self._header(table, index) if table else 0
        for number, line in enumerate(self.text.splitlines()[start:], start=start + 1):
            found = re.match(rf"^(\s*)[\"']?{re.escape(key)}[\"']?\s*=", line) if key else None
            if found:
                return f"{self.path}:{number}:{len(found[1]) + 1} ({key})"
            if table and number > start + 1 and line.startswith("[[") and key:
                break
        label = f" ({key})" if key else ""
        return f"{self.path}:{max(start, 0) + 1}:1{label}"

    def _header(self, table: str, index: int) -> int:
        header = re.compile(rf"^\s*\[\[\s*{re.escape(table)}\s*\]\]")
        lines = [number for number, line in enumerate(self.text.splitlines()) if header.match(line)]
        return lines[index] if index < len(lines) else 0


def read(path: Path) -> TomlFile:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}", why=str(error)) from error
    try:
        return TomlFile(path=path, text=text, data=tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise _broken(path, text, str(error)) from error


def _broken(path: Path, text: str, message: str) -> InputError:
    found = _PARSER_PLACE.search(message)
    lines = text.splitlines() or [""]
    line = int(found["line"]) if found and found["line"] else len(lines)
    column = int(found["column"]) if found and found["column"] else len(lines[-1]) + 1
    key = _key_at(lines, line)
    where = f"{path}:{line}:{column}" + (f" (key {key})" if key else "")
    why = message[: found.start()] if found else message
    return InputError("the TOML is broken", where=where, why=why, next_step=f"look at: {lines[line - 1].strip()[:80]}")


def _key_at(lines: list[str], line: int) -> str:
    """Returns the key of a line, or of the nearest line above: an unclosed list is reported further down."""
    for text in reversed(lines[:line]):
        if found := _KEY.match(text):
            return found["key"]
    return ""


def convert(file: TomlFile, kind: type[T]) -> T:
    """Converts the data strictly: no unknown key, no wrong type, no coercion."""
    try:
        return msgspec.convert(file.data, kind)
    except msgspec.ValidationError as error:
        raise _misfit(file, kind, str(error)) from error


def _misfit(file: TomlFile, kind: type[Any], message: str) -> InputError:
    found = _VALIDATOR_PLACE.search(message)
    steps = list(_STEP.finditer(found["path"])) if found else []
    keys = [step["key"] for step in steps if step["key"]]
    indices = [int(step["index"]) for step in steps if step["index"] and step["index"].isdigit()]
    what = message[: found.start()] if found else message
    field = _FIELD.search(what)
    missing = "missing required" in what
    table = keys[0] if indices and steps[1:] and steps[1]["index"] and file.text.find(f"[[{keys[0]}]]") >= 0 else ""
    key = field["field"] if field and not missing else (keys[-1] if keys and keys[-1] != table else "")
    where = file.place(key, table=table, index=indices[0] if indices else 0)
    why = "the file was read strictly: no unknown keys, no other types"
    if field and not missing:
        why = did_you_mean(field["field"], _keys(kind, [step["key"] or "" for step in steps]))
    return InputError(_lower(what), where=where, why=why)


def _keys(kind: type[Any], steps: Sequence[str]) -> tuple[str, ...]:
    """Returns the keys of the table at a place of the file. A step is a key, or "" for an item of a list."""
    at = [msgspec.inspect.type_info(kind)]
    for step in steps:
        at = [below for one in at for flat in _flat(one) for below in _below(flat, step)]
    tables = [one for found in at for one in _flat(found) if isinstance(one, msgspec.inspect.StructType)]
    return tuple(field.encode_name for table in tables for field in table.fields)


def _flat(found: msgspec.inspect.Type) -> tuple[msgspec.inspect.Type, ...]:
    return found.types if isinstance(found, msgspec.inspect.UnionType) else (found,)


def _below(found: msgspec.inspect.Type, step: str) -> Iterator[msgspec.inspect.Type]:
    if isinstance(found, msgspec.inspect.StructType):
        yield from (field.type for field in found.fields if field.encode_name == step)
    elif isinstance(found, msgspec.inspect.DictType):
        yield found.value_type
    elif isinstance(found, msgspec.inspect.VarTupleType | msgspec.inspect.ListType) and not step:
        yield found.item_type


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
