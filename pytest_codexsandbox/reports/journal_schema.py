"""Journal schema: the published JSON Schema of a journal's lines, derived from the structs that write and read them."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.model.journal_lines import SCHEMA, Line

SHIPPED: Final = Path(__file__).parent / "journal.schema.json"
_ABOUT: Final = (
    "One line of a codexsandbox journal (NDJSON); `line` says which. First comes `run`, then `plan`. Every key of "
    "the plan has one state: the worst of its results, or `broken` when there is none. A journal without `end` is of "
    "a run that did not end by itself. Readers ignore members that they do not know."
)


def journal_schema() -> dict[str, Any]:
    (root,), components = msgspec.json.schema_components((Line,), ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:codexsandbox:journal:{SCHEMA}",
        "title": f"codexsandbox journal, schema {SCHEMA}",
        "description": _ABOUT,
        **root,
        "$defs": _with_its_number(components),
    }


def _with_its_number(components: dict[str, Any]) -> dict[str, Any]:
    """Makes the schema's own number a constant of this version."""
    run = components["RunLine"]["properties"]
    run["schema"] = {"const": SCHEMA, "default": SCHEMA}
    return components


def text() -> str:
    return json.dumps(journal_schema(), indent=1, ensure_ascii=False) + "\n"
