"""Journal schema: the published JSON Schema of a journal's lines, derived from the structs that write and read them."""

import inspect
import json
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.model.journal_lines import SCHEMA, Line

SHIPPED: Final = Path(__file__).parent / "journal.schema.json"
_ABOUT: Final = (
    "One line of a codexsandbox journal (NDJSON); `line` says which. First comes `run`, then `plan`. Every key of "
    "the plan has one state: the worst of its results, or `broken` when there is none. A journal without `end` is of "
    "a run that did not end by itself. Readers ignore members that they do not know. A member that is left out has its "
    "default. A member of a line may be a reference to parts (docs/reference/journal.md); lines whose references are "
    "resolved, and lines of schema 1, fit as well."
)
# Members that may stand in a part to which the line's own "$" refers.
_IN_PARTS: Final = {
    "CallLine": ("environment", "subject", "cell"),
    "ResultLine": ("environment", "subject", "cell", "door", "policy"),
}
_ID: Final = {"type": "string", "pattern": "^[0-9a-f]{12,64}$"}
_SUM: Final = {"type": "string", "pattern": "^[0-9a-f]{8}$", "description": "over all bytes of the file before it"}
_IDS: Final = {"type": "array", "items": _ID, "minItems": 1}
_OF_EACH: Final = {
    "$": _IDS | {"description": "parts that hold further members of the line"},
    "args": {"type": "array", "description": "fill the holes of the parts that the line refers to"},
    "plain": {"const": True, "description": "the line has no reference, whatever it looks like"},
    "sum": _SUM,
}
_OF_ONE: Final[dict[str, dict[str, Any]]] = {
    "PlanLine": {"keys_digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
    "EndLine": {"lines": {"type": "object", "additionalProperties": {"type": "integer"}}},
}
_PARTS: Final[dict[str, Any]] = {
    "Reference": {
        "title": "Reference",
        "type": "object",
        "properties": {"$": _IDS, "args": {"type": "array", "items": {"type": "string"}}},
        "required": ["$"],
        "additionalProperties": False,
    },
    "PartLine": {
        "title": "PartLine",
        "type": "object",
        "properties": {"line": {"enum": ["part"]}, "id": _ID, "value": {}, "sum": _SUM},
        "required": ["line", "id", "value"],
    },
}


def journal_schema() -> dict[str, Any]:
    (root,), components = msgspec.json.schema_components((Line,), ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:codexsandbox:journal:{SCHEMA}",
        "title": f"codexsandbox journal, schema {SCHEMA}",
        "description": _ABOUT,
        "anyOf": [*root["anyOf"], {"$ref": "#/$defs/PartLine"}],
        "discriminator": {
            "propertyName": "line",
            "mapping": {**root["discriminator"]["mapping"], "part": "#/$defs/PartLine"},
        },
        "$defs": _as_written(components, {one["$ref"].rpartition("/")[2] for one in root["anyOf"]}) | _PARTS,
    }


def _as_written(components: dict[str, Any], lines: set[str]) -> dict[str, Any]:
    """Adds what a line has beside its own members: references, arguments and its sum."""
    components["RunLine"]["properties"]["schema"] = {"enum": [1, SCHEMA], "default": 1}
    described = {name: _described(kind) for name, kind in components.items()}
    return {name: _line(name, kind) if name in lines else kind for name, kind in described.items()}


def _described(kind: dict[str, Any]) -> dict[str, Any]:
    """Takes the indentation out of a docstring: Python before 3.13 leaves it in, and the schema is one text."""
    return kind | {"description": inspect.cleandoc(kind["description"])} if "description" in kind else kind


def _line(name: str, kind: dict[str, Any]) -> dict[str, Any]:
    reference = {"$ref": "#/$defs/Reference"}
    members = {
        member: held if member == "line" else {"anyOf": [held, reference], **_default(held)}
        for member, held in kind["properties"].items()
    }
    apart = _IN_PARTS.get(name, ())
    choice = {"anyOf": [{"required": list(apart)}, {"required": ["$"]}]} if apart else {}
    required = [member for member in kind["required"] if member not in apart]
    return {**kind, "properties": {**members, **_OF_EACH, **_OF_ONE.get(name, {})}, "required": required, **choice}


def _default(held: dict[str, Any]) -> dict[str, Any]:
    return {"default": held["default"]} if "default" in held else {}


def text() -> str:
    return json.dumps(journal_schema(), indent=1, ensure_ascii=False) + "\n"
