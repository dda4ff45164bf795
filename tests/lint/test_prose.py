"""Prose: every docstring, every page and every text for users follows the rules."""

import ast
import re
from pathlib import Path

import pytest

from tests.lint.tracked import ROOT, pages
from tools import page_prose, prose, string_prose

GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
LONG = "The agent creates the world, starts Codex and looks at each path of the world " + "again and " * 5 + "again."


def test_no_text_breaks_a_rule() -> None:
    assert [f"{one.place}: {one.rule}" for one in prose.findings()] == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Whether it is there.", "begins with 'Whether'"),
        ("Returns whether it is there.", ""),
        ("What is dear is made once.", "begins with 'What'"),
        ("Asks an engine where\nnobody answers.", "'nobody'"),
        ("Checks an engine without an answer.", ""),
    ],
)
def test_a_rule_is_seen_where_a_docstring_breaks_it(text: str, rule: str) -> None:
    found = prose.broken_rule(text)
    assert rule in found if rule else found == ""


def test_a_docstring_below_an_attribute_is_checked() -> None:
    source = "class A:\n    'One.'\n    x: int = 0\n    'Why it is so.'\n\ndef f():\n    'Two.'\n    return 'three'\n"
    assert [text for _, text in prose.docstrings(ast.parse(source))] == ["One.", "Why it is so.", "Two."]


def test_every_page_is_checked() -> None:
    assert set(pages()) <= set(prose._pages())


@pytest.mark.parametrize(
    ("page", "rule"),
    [
        ("An engine where\nnobody answers.", "'nobody'"),
        ("| a | whoever reads |", "'whoever'"),
        ("- It is laid into the container.", "'laid'"),
        ("## What it needs", "begins with 'What'"),
        ("# Less than everything", "begins with 'Less'"),
        ("Short. What is gone is named.", "begins with 'What'"),
        (LONG, "has 26 words"),
        (f"1. {LONG}", "has 26 words"),
        (f"Short. {LONG} Short.", "has 26 words"),
    ],
)
def test_a_rule_is_seen_where_a_page_breaks_it(page: str, rule: str) -> None:
    ((_, found),) = page_prose.findings("docs/page.md", page)
    assert rule in found


@pytest.mark.parametrize(
    "page",
    [
        LONG.replace("again and ", "", 1),
        f"```\n{LONG}\nnobody\n```",
        "The engine prints `nobody answers`.",
        f"<!-- run: begin -->\n{LONG}\n<!-- run: end -->",
        "| a | " + LONG + " |",
        "The keys are " + ", ".join(["`one`"] * 40) + ".",
        "A [stand-in](page.md) for one program.",
        "## Select a subset",
    ],
)
def test_a_page_that_follows_the_rules_is_let_through(page: str) -> None:
    assert list(page_prose.findings("docs/page.md", page)) == []


def test_the_line_of_a_finding_is_that_of_its_part() -> None:
    page = f"# Page\n\n```\ncode\n```\n\nShort.\n\n- item\n- {LONG}\n"
    assert [part.line for part, _ in page_prose.findings("docs/page.md", page)] == [10]


@pytest.mark.parametrize("name", ["docs/reference/promises.md", "docs/reference/cli.md"])
def test_the_head_of_a_page_from_the_program_is_checked(name: str) -> None:
    page = f"# Page\n\n{LONG}\n\n## a.promise\n\n{LONG}\n"
    assert [part.line for part, _ in page_prose.findings(name, page)] == [3]


def test_the_glossary_has_at_most_25_words_each_once() -> None:
    words = re.findall(r"^\| ([a-z ]+) \| .+ \|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)[1:]
    assert 15 < len(words) <= 25
    assert words == sorted(set(words))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("nobody could see the file", "'nobody'"),
        ("a process of ours still runs", "'of ours'"),
        ("whether a sandbox was on is not known", "begins with 'whether'"),
        ("What Codex does with it", "begins with 'What'"),
        ("the effect could not be seen from outside", ""),
        ("where the engine masks /proc it stays masked", ""),
    ],
)
def test_a_rule_is_seen_where_a_text_for_users_breaks_it(text: str, rule: str) -> None:
    found = string_prose.broken_rule(text)
    assert rule in found if rule else found == ""


def test_strings_for_users_differ_from_docstrings_and_short_strings() -> None:
    source = """def f(x):
    'Nobody reads this docstring here.'
    return f'nobody has seen {x} at all', 'nobody', 'two of ' 'two pieces'
"""
    found = [text for _, text in string_prose.strings(ast.parse(source))]
    assert found == ["nobody has seen … at all", "two of two pieces"]


def test_a_text_of_the_data_is_found_by_its_key(tmp_path: Path) -> None:
    (tmp_path / "matrix").mkdir()
    data = """id = 'nobody is one id'
why = 'nobody has one'
[[row]]
reason = 'nobody reads it aloud'
texts = ['nobody said this pattern']
"""
    (tmp_path / "matrix" / "x.toml").write_text(data, encoding="utf-8")
    assert [one.text for one in string_prose.texts(tmp_path)] == ["nobody reads it aloud"]
    assert [place for place, _ in string_prose.findings(tmp_path)] == ["matrix/x.toml"]


def test_a_history_keeps_its_length_and_no_subject_without_a_name() -> None:
    found = page_prose.findings("CHANGELOG.md", f"- {LONG}\n- Nobody is asked.\n")
    assert [part.line for part, _ in found] == [2]


def test_a_comment_of_the_data_is_checked(tmp_path: Path) -> None:
    (tmp_path / "matrix").mkdir()
    data = '# Of the user:\n# nobody reads it.\nx = 1  # whoever asks\ny = "a # b"\n\n# A short one.\n'
    (tmp_path / "matrix" / "x.toml").write_text(data, encoding="utf-8")
    found = [(one.place, one.text) for one in string_prose.comments(tmp_path)]
    texts = ["Of the user: nobody reads it.", "whoever asks", "A short one."]
    assert found == [(f"matrix/x.toml:{line}", text) for line, text in zip((1, 3, 6), texts, strict=True)]
    assert [place for place, _ in string_prose.findings(tmp_path)] == ["matrix/x.toml:1", "matrix/x.toml:3"]


def test_each_listed_package_and_each_pattern_has_texts_for_users() -> None:
    places = {one.place.partition(":")[0] for one in string_prose.texts(ROOT)}
    modules = [place.removeprefix("pytest_codexsandbox/") for place in places if place.endswith(".py")]
    assert {name.partition("/")[0] if "/" in name else "." for name in modules} == set(string_prose.PACKAGES)
    assert [pattern for pattern in string_prose.DATA if not places & _files(pattern)] == []


def _files(pattern: str) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern)}
