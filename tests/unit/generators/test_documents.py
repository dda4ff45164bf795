"""Generated documents: a generator that does no harm passes every check on them, and each kind of harm is caught."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from pytest_codexsandbox.contract.config_documents import Broken, case_of, documents, hunt, paste
from pytest_codexsandbox.generators.checks import CHECKS, Check
from pytest_codexsandbox.generators.checks.codex_toml import leaves, read, written
from pytest_codexsandbox.generators.checks.comments import comments_kept
from pytest_codexsandbox.generators.checks.line_endings import line_ends_kept
from pytest_codexsandbox.generators.checks.toml_lexer import bytes_of, document
from pytest_codexsandbox.generators.checks.toml_syntax import parses
from pytest_codexsandbox.generators.checks.user_values import values_kept
from pytest_codexsandbox.model.generator import Case, CaseRun, Declaration
from tests.unit.generators.builders import BLOCK, case_run

ANY = Declaration(run="cmd:x")
OF_THE_TEXT = (parses, values_kept, comments_kept, line_ends_kept)
BOM = b"\xef\xbb\xbf"
quick = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def on_top(text: bytes) -> bytes:
    """A good generator for documents that say nothing of its keys."""
    crlf = b"\r\n" in text and b"\n" not in text.replace(b"\r\n", b"")
    block = BLOCK.replace(b"\n", b"\r\n") if crlf else BLOCK
    return (BOM if text.startswith(BOM) else b"") + block + text.removeprefix(BOM)


def told(change: Callable[[bytes], bytes]) -> Callable[[Case], CaseRun]:
    return lambda case: case_run(case.config, change(case.config or b""), case=case)


@given(documents())
@quick
def test_every_document_is_toml(text: bytes) -> None:
    assert read(text).loads, read(text)


@given(documents())
@quick
def test_the_lexer_finds_what_the_parser_finds(text: bytes) -> None:
    """Every key of the parser's is a statement's, or lies in a value; and every statement is known to the parser."""
    found = document(text)
    keys = {one.path for one in found.statements if one.kind == "key"}
    headers = {one.path for one in found.statements if one.kind == "header"}
    there = leaves(read(text).data)
    assert not [one for one in found.statements if one.kind == "broken"]
    for path in there:
        assert any(path[: len(key)] == key for key in keys) or path in headers or _is_array(there[path]), written(path)
    for key in keys:
        assert any(path[: len(key)] == key or _is_array(there.get(key[: len(path)])) for path in there), written(key)


def _is_array(value: object) -> bool:
    return isinstance(value, list)


@given(documents())
@quick
def test_comments_are_those_that_a_parser_passes_over(text: bytes) -> None:
    """Blanked out, nothing that the file says has changed; anything else of it blanked out would have been noticed."""
    found = document(text)
    blank = found.text
    for one in sorted(found.comments, key=lambda comment: -comment.start):
        blank = blank[: one.start] + "#" + blank[one.end :]
    assert repr(read(bytes_of(blank)).data) == repr(read(text).data)


@pytest.mark.parametrize("change", [lambda text: text, on_top], ids=["nothing", "a block on top"])
def test_a_generator_that_does_no_harm_passes(change: Callable[[bytes], bytes]) -> None:
    checks = OF_THE_TEXT if change is not on_top else tuple(CHECKS.values())
    hunt(told(change), checks, ANY, examples=60)


def _cut(text: bytes) -> bytes:
    keys = [one for one in document(text).statements if one.kind == "key"]
    source = document(text).text
    return bytes_of(source[: keys[-1].start] + source[keys[-1].end :]) if keys else text


HARM: dict[str, tuple[Callable[[bytes], bytes], Check]] = {
    "LF for CRLF": (lambda text: on_top(text).replace(b"\r\n", b"\n"), line_ends_kept),
    "no mark": (lambda text: on_top(text).removeprefix(BOM), line_ends_kept),
    "a newline at the end": (lambda text: on_top(text).rstrip(b"\r\n") + b"\n", line_ends_kept),
    "a mark in the middle": (lambda text: BLOCK + text, parses),
    "comments eaten": (
        lambda text: re.sub(rb"(?m)^[ \t]*# (?!BEGIN x|END x)[^\r\n]*\r?\n", b"", on_top(text)),
        comments_kept,
    ),
    "block between": (lambda text: re.sub(rb"(?m)^(# [^\r\n]*\r?\n)", rb"\1" + BLOCK, text, count=1), comments_kept),
    "a key lost": (_cut, values_kept),
    "floats for numbers": (lambda text: re.sub(rb"(?m)= ([0-9]+)(\r?)$", rb"= \1.0\2", on_top(text)), values_kept),
    "before the first bracket": (lambda text: re.sub(rb"(?m)^\[", BLOCK + b"[", text, count=1), parses),
    "appended": (lambda text: text + b"\n" + BLOCK, CHECKS["generator.keys-at-their-own-place"]),
    "a table of its own again": (lambda text: on_top(text) + b"\n[tui]\n", parses),
    "strings edited": (lambda text: text.replace(b"network_access = true", b"network_access = false"), values_kept),
}


@pytest.mark.parametrize("name", HARM)
def test_each_kind_of_harm_is_caught_and_made_small(name: str) -> None:
    change, check = HARM[name]
    with pytest.raises(Broken) as broken:
        hunt(told(change), (check,), ANY, examples=5000)  # hypothesis draws on the constants of loaded modules
    assert all(one.control_held for one in broken.value.findings), broken.value
    assert len(broken.value.document) < 200
    assert "To paste:" in str(broken.value)


def test_the_pasted_text_is_the_document(tmp_path: Path) -> None:
    for text in (b"a = 1\n", b"a = 1", BOM + b"a = 1\r\n", b"a = '$HOME `x`'\n", b"a = 'EOF'\n", b""):
        subprocess.run(["sh", "-c", paste(text)], cwd=tmp_path, check=True)
        assert (tmp_path / "config.toml").read_bytes() == text


def test_a_case_is_named_by_its_text() -> None:
    assert case_of(b"a").id != case_of(b"b").id
    assert case_of(b"a").config == b"a"
