"""Prose: a text that is written or changed follows the rules; older ones are exempt until they change."""

import pytest

from tools import prose


def test_no_text_breaks_a_rule_but_those_from_before() -> None:
    new = [f"{one.place}: {one.rule}" for one in prose.findings() if one.digest not in prose.exemptions()]
    assert new == []


def test_no_exemption_is_left_over() -> None:
    """`python -m tools.prose --prune` removes it."""
    assert prose.exemptions() - {one.digest for one in prose.findings()} == set()


@pytest.mark.parametrize(
    ("text", "is_docstring", "rule"),
    [
        ("Whether it is there.", True, "begins with 'Whether'"),
        ("Returns whether it is there.", True, ""),
        ("What is dear is made once.", True, "begins with 'What'"),
        ("What is new in this release.", False, ""),
        ("An engine where\nnobody answers.", False, "'nobody'"),
        ("Checks an engine without an answer.", True, ""),
    ],
)
def test_a_rule_is_seen_where_it_is_broken(text: str, is_docstring: bool, rule: str) -> None:
    found = prose.broken_rule(text, is_docstring=is_docstring)
    assert rule in found if rule else found == ""


def test_wrapping_a_text_anew_is_no_change() -> None:
    assert prose.digest("one two\nthree") == prose.digest("one\n    two three") != prose.digest("one two")
