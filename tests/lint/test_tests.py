"""Tests: each name states plainly what holds, and an assert compares facts, not sentences of the product."""

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.lint.tracked import ROOT, files

_OPENINGS: Final = re.compile(
    r"test_(what|whatever|whether|of|who|whose|whom|whoever|how|where|which|whichever|as|why|that)(_|$)"
)
_WORDS: Final = re.compile(
    r"(?<![a-z])((no|some|any|every)bodys?|whoever|whatever|one_who|those_who|told|tells|tellers?|dear|errands?|laid"
    r"|be_had|ours|theirs|wish(es)?|stor(y|ies)|stands|strain(s|ed)?|warden|nursery|onlookers?|trespass|workshop"
    r"|workbench)(?![a-z])"
)


def broken_rule(name: str) -> str:
    """Returns the first rule that the name of a test breaks; "" if it breaks none."""
    if opening := _OPENINGS.match(name):
        return f"begins with {opening[1]!r}: begin with the subject (a_missing_file_is_reported)"
    if word := _WORDS.search(name):
        return f"{word[0]!r}: name the actor or the thing"
    return ""


def names() -> Iterator[tuple[str, str]]:
    """Yields the place and the name of each test, of the contract suites and the scenarios too."""
    for path in files():
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                    yield f"{path.relative_to(ROOT).as_posix()}:{node.lineno}", node.name


def test_no_name_of_a_test_breaks_a_rule() -> None:
    found = dict(names())
    assert len(found) > 3000
    assert [f"{place}: {name} {rule}" for place, name in found.items() if (rule := broken_rule(name))] == []


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("test_what_is_gone_is_named", "begins with 'what'"),
        ("test_who_waits_gets_a_line", "begins with 'who'"),
        ("test_nobody_is_woken", "'nobody'"),
        ("test_a_leak_of_ours_is_named", "'ours'"),
        ("test_a_full_disk_is_told_as_one", "'told'"),
        ("test_whole_files_are_read", ""),
        ("test_stored_files_are_outside_of_the_home", ""),
        ("test_strace_is_missing", ""),
    ],
)
def test_a_rule_is_seen_if_a_name_breaks_it(name: str, rule: str) -> None:
    found = broken_rule(name)
    assert rule in found if rule else found == ""
