"""Markdown, JSON and the published schema."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from pytest_codexsandbox.model.journal_lines import CallLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports import html, journal_schema, json_report, markdown, terminal
from tests.unit.reports import builders, container_builders

GOLDEN = Path(__file__).parents[2] / "golden" / "reports"


def terminal_text(journal: ReadJournal, folder: Path | None) -> str:
    return terminal.render(journal, width=100, color=False, ascii=True)


# ---- Markdown
@pytest.mark.parametrize("kind", ["green", "red", "blocked", "hostile"])
def test_the_markdown_is_the_golden_one(kind: str) -> None:
    assert markdown.render(container_builders.KINDS[kind](), None) == (GOLDEN / f"{kind}.md").read_text()


@pytest.mark.parametrize("render", [markdown.render, html.render, terminal_text])
def test_a_run_names_one_exit_code_and_further_reasons_beside_it(render: Callable[..., str]) -> None:
    found = container_builders.KINDS["red"]()
    assert found.end is not None
    codes = [reason.partition(" ")[0] for reason in found.end.reasons]
    text = render(found, None)
    assert re.findall(r"\bexit (\d+):", text) == codes[:1]
    assert re.findall(r"\balso (\d+):", text) == codes[1:]
    assert len(codes) > 1


@pytest.mark.parametrize("kind", sorted(container_builders.KINDS))
def test_a_row_has_as_many_fields_as_its_table(kind: str) -> None:
    width = 0
    for line in markdown.render(container_builders.KINDS[kind](), None).splitlines():
        bars = line.count("|")
        if not line.startswith("|"):
            assert not bars
            width = 0
            continue
        assert not width or bars == width
        width = bars


def known_refusal(exit: int, *, cells: int) -> str:
    """In the first cell no sandbox starts, as is known; the others are as promised."""
    every = [builders.cell(f"0.{number}.0") for number in range(cells)]

    def state(key: Key) -> Record:
        if key.cell != every[0].id:
            return builders.usual(key)
        if key.promise != "start.sandbox-is-on":
            return builders.record(key, Verdict.BLOCKED, reason="the sandbox does not start")
        return builders.record(key, Verdict.EXPECTED, direction="denied", deviation="no-namespaces-here")

    keys = builders.keys_of(every, policies=("read-only", "workspace-write"))
    made = builders.journal(map(state, keys), cells=every, exit=exit, reasons=("11 nothing",) if exit else ())
    return markdown.render(made, None).splitlines()[0]


def test_a_run_that_is_no_success_has_no_green_sign() -> None:
    assert "✅" not in known_refusal(11, cells=1)


def test_a_headline_says_where_no_sandbox_was() -> None:
    assert re.search(r"; no sandbox [a-z]+ 1 of 3 cells$", known_refusal(0, cells=3))


def test_hostile_text_means_nothing_to_markdown() -> None:
    text = markdown.render(builders.hostile(), None)
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL).replace("<br>", "")
    assert not re.search(r"<(?!code>|/code>)[a-z/!]", outside)
    assert "@everyone" not in outside
    assert "](" not in outside
    assert "https://" not in outside
    assert "\x1b" not in text


def test_the_longest_table_is_split() -> None:
    tables = [line for line in markdown.render(builders.hundred_cells(), None).splitlines() if line.startswith("|---")]
    assert len(tables) > 1
    assert max(line.count(":-:") for line in tables) == markdown.WIDEST


# ---- JSON
@pytest.mark.parametrize("kind", sorted(container_builders.KINDS))
def test_the_document_has_every_planned_key_once(kind: str) -> None:
    made = container_builders.KINDS[kind]()
    document = json.loads(json_report.render(made, Path("runs/1")))
    assert (document["schema"], document["kind"]) == (1, "codexsandbox-report")
    assert document["planned"] == len(document["results"]) == len(made.plan.keys) == sum(document["counts"].values())
    keys = {(r["cell"], r["door"], r["policy"], r["promise"], r["case"]) for r in document["results"]}
    assert len(keys) == len(made.plan.keys)
    assert document["complete"] is (kind != "incomplete")


def test_the_document_shows_the_diagnosis() -> None:
    document = json.loads(json_report.render(builders.red(), None))
    found = [result["diagnosis"]["fingerprint"] for result in document["results"] if result["diagnosis"]]
    assert set(found) == {"network-still-unshared"}
    assert document["exit"] == 1


# ---- the schema
VALIDATOR = jsonschema.Draft202012Validator(json.loads(journal_schema.SHIPPED.read_text()))


def lines(kind: str) -> list[dict[str, Any]]:
    return [json.loads(msgspec.json.encode(line)) for line in builders.lines_of(container_builders.KINDS[kind]())]


def test_the_shipped_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(journal_schema.SHIPPED.read_text()))


@pytest.mark.parametrize("kind", ["red", "blocked", "incomplete", "hostile"])
def test_every_line_that_is_written_is_valid(kind: str) -> None:
    seen = set()
    for line in lines(kind):
        VALIDATOR.validate(line)
        seen.add(line["line"])
    assert {"run", "plan", "environment", "subject", "call", "result"} <= seen


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("run", {"schema": 3}),
        ("run", {"started": None}),
        ("plan", {"keys": "all"}),
        ("plan", {"cells": [{"id": "x"}]}),
        ("environment", {"facts": []}),
        ("subject", {"digest": 1}),
        ("call", {"observation": {}}),
        ("result", {"verdict": 1}),
        ("result", {"record": {}}),
        ("result", {"line": "results"}),
        ("end", {"counts": {"conforms": "many"}}),
        ("end", {"exit": "1"}),
    ],
)
def test_a_line_that_says_something_else_is_not_valid(kind: str, change: dict[str, Any]) -> None:
    line = next(line for line in lines("red") if line["line"] == kind)
    VALIDATOR.validate(line)
    assert not VALIDATOR.is_valid(line | change)


@pytest.mark.parametrize(
    "member",
    [
        "cell",
        "door",
        "policy",
        "promise",
        "verdict",
        "environment",
        "subject",
        "record",
    ],
)
def test_a_result_without_a_member_of_its_key_is_not_valid(member: str) -> None:
    line = next(line for line in lines("red") if line["line"] == "result")
    del line[member]
    assert not VALIDATOR.is_valid(line)


def test_a_member_that_is_not_known_is_no_error() -> None:
    assert VALIDATOR.is_valid(lines("red")[0] | {"later": 1})


def test_the_schema_describes_every_member_of_a_call() -> None:
    described = json.loads(journal_schema.SHIPPED.read_text())["$defs"]["CallLine"]["properties"]
    assert set(CallLine.__struct_fields__) | {"line", "$", "args", "plain", "sum"} == set(described)
