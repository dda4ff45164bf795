"""Tests: each name states plainly what holds, and an assert compares facts, not sentences of the product."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
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


# ---- sentences of the product in asserts

QUOTED: Final = 4  # words of a sentence
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_IN_A_ROW: Final = re.compile(r"(?<![\w/.@=$-])([A-Za-z][A-Za-z'’]*)(?: [A-Za-z][A-Za-z'’-]*){2,}")
_PROGRAMS: Final = frozenset(
    {"apt", "cmd", "codex", "codexsandbox", "docker", "launch", "pip", "pytest", "ran", "usermod"}
)
_READS_TEXT: Final = frozenset(
    {
        *("count", "endswith", "find", "fnmatch_lines", "fullmatch", "index", "match", "partition", "re_match_lines"),
        *("removeprefix", "removesuffix", "rpartition", "search", "split", "startswith"),
    }
)

_SQLITE: Final = "texts of SQLite"
_ERRNO: Final = "a text of the C library"
_TOY: Final = "texts of the package under tests/plugin"
ALLOWED: Final = {  # file: how many texts of other programs, or of names and places, it compares, and whose they are
    "tests/contract/test_syscall_answers.py": (1, _ERRNO),
    "tests/docker/test_doctor.py": (3, "the name of a finding"),
    "tests/lint/test_prose.py": (1, "a text of the test"),
    "tests/live/test_codex_calls.py": (1, "a text of Codex"),
    "tests/live/test_generator_try.py": (1, "a text of bubblewrap"),
    "tests/live/test_incidents.py": (3, _SQLITE),
    "tests/live/test_recreated_generators.py": (2, _SQLITE),
    "tests/live/test_shown_again.py": (1, _ERRNO),
    "tests/plugin/test_third_party_backend.py": (2, _TOY),
    "tests/plugin/test_third_party_suite.py": (4, _TOY),
    "tests/unit/commands/test_diagnose_command.py": (1, "the three verdicts of a fingerprint"),
    "tests/unit/doors/support/test_observe.py": (1, "a text of bubblewrap"),
    "tests/unit/environments/bubblewrap/test_bwrap_provider.py": (1, "a text of pip"),
    "tests/unit/harness/test_failing_backends.py": (
        4,
        "the place of an entry point, and an error of the test's backend",
    ),
    "tests/unit/incidents/test_hermes.py": (2, "lines of Hermes"),
    "tests/unit/incidents/test_molecule.py": (1, "a line of molecule"),
}


def quoted(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields each sentence that an assert or a `match` compares, unless the test itself is its source.

    A sentence has four words, three of them in a row. A command is none.
    """
    compared = {id(part): part for node in ast.walk(tree) for part in _compared(node)}
    inside = {id(part) for node in compared.values() for part in ast.walk(node)}
    given = [_text(node) for node in ast.walk(tree) if id(node) not in inside]
    for node in compared.values():
        text = _text(node)
        run = _IN_A_ROW.search(text)
        if not run or run[1] in _PROGRAMS or len(_WORD.findall(text)) < QUOTED:
            continue
        if not any(run[0] in other for other in given):
            yield node.lineno, text


def _compared(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assert):
        for part in ast.walk(node.test):
            if isinstance(part, ast.Compare):
                for side in (part.left, *part.comparators):
                    yield from _strings(side)
            elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _READS_TEXT:
                for argument in part.args:
                    yield from _strings(argument)
    elif isinstance(node, ast.Call):
        yield from (part for word in node.keywords if word.arg == "match" for part in _strings(word.value))


def _strings(node: ast.expr) -> Iterator[ast.expr]:
    """Yields the strings that a value consists of; arguments of a call are no part of it."""
    if isinstance(node, ast.Constant | ast.JoinedStr):
        yield node
    elif not isinstance(node, ast.Call | ast.Lambda):
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                yield from _strings(part)


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


@pytest.mark.parametrize("path", [one for one in files() if one.is_relative_to(ROOT / "tests") and one.suffix == ".py"])
def test_no_assert_quotes_a_sentence_of_the_product(path: Path) -> None:
    """An assert compares a class, `where`, a code, a key, a number, a name or a constant; a screen has its golden."""
    name = path.relative_to(ROOT).as_posix()
    found = [f"{name}:{line}: {text}" for line, text in quoted(ast.parse(path.read_text(encoding="utf-8")))]
    allowed, _ = ALLOWED.get(name, (0, ""))
    assert len(found) == allowed, "\n".join(found)


def test_each_file_with_texts_of_others_exists() -> None:
    assert [name for name in ALLOWED if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("assert 'the sandbox was not on' in text", 1),
        ("assert text.startswith('the sandbox was not on')", 1),
        ("assert why == f'the sandbox of {name} was on in it'", 1),
        ("assert (name, ['the sandbox was not on']) == found", 1),
        ("pytest.raises(InputError, match='the sandbox was not on')", 1),
        ("given = 'why: the sandbox was not on'\nassert 'the sandbox was not on' in text", 0),
        ("assert found('the sandbox was not on') == []", 0),
        ("assert 'codex exec the work now' in text", 0),
        ("assert 'sandbox: @HOME@/x, exit 3, start.sandbox-is-on' in text", 0),
        ("assert not on, 'the sandbox was not on'", 0),
    ],
)
def test_a_sentence_is_seen_in_an_assert_and_its_own_input_is_none(line: str, count: int) -> None:
    assert len(list(quoted(ast.parse(line)))) == count
