"""Plan content: the digest of everything in a plan that results are judged by. Pure.

A reader compares it with the plan that it read. It covers named members only, so that a later version may add others.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from pytest_codexsandbox.model.journal_lines import PlanLine
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.printed_text import spelled
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.redact import redact_json

_OF_ROWS: Final[dict[str, tuple[str, ...]]] = {
    "cells": ("id", "environment", "subject", "axes", "provenance", "synthetic", "arch", "as_version",
              "release"),
    "promises": ("id", "kind", "severity", "needs", "suite", "policies", "cases", "requires", "asked"),
    "keys": ("cell", "door", "policy", "promise", "case"),
    "not_planned": ("what", "why", "kind", "required"),
    "generators": ("name", "spec", "version", "rows", "told"),
    "suites": ("name", "policies", "judges", "cases_alone"),
    "expectations": (
        "id", "promise", "direction", "issue", "owner", "until", "reason", "where", "case", "fingerprint",
        "intermittent",
    ),
}  # fmt: skip
_PLAIN: Final = ("digest", "not_applicable")


def plan_digest(keys: Iterable[Key], asks: Mapping[str, str]) -> str:
    """Returns the digest of keys, acts and calls. Two runs with the same digest made the same checks. `asks`: promise →
    digest of its acts and its call."""
    return hashlib.sha256(redact_json(_encoded({"keys": list(keys), "asks": list(asks.items())}))).hexdigest()


def asks_digest(promise: Promise) -> str:
    """Returns the digest of what a promise asks: its acts and its own call."""
    asked = msgspec.json.encode([promise.acts, promise.call], order="deterministic")
    return hashlib.sha256(asked).hexdigest()[:16]


def content_digest(plan: PlanLine) -> str:
    """Returns the digest of a plan's line, whatever its own member `content` says."""
    parts: dict[str, Any] = {name: getattr(plan, name) for name in _PLAIN}
    for table, names in _OF_ROWS.items():
        parts[table] = [[getattr(row, name) for name in names] for row in getattr(plan, table)]
    return hashlib.sha256(redact_json(_encoded(parts))).hexdigest()


def _encoded(parts: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(parts, order="deterministic")
    except UnicodeEncodeError:  # a name that is not UTF-8, which the journal spells out
        return msgspec.json.encode(spelled(msgspec.to_builtins(parts)), order="deterministic")
