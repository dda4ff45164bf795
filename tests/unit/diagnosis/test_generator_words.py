"""Every word that a check of generators has for what it found leads to a cause, and that word decides."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox import generators
from pytest_codexsandbox.diagnosis.explain import ENFORCES, FOUND, diagnose
from pytest_codexsandbox.diagnosis.match import fingerprints
from pytest_codexsandbox.generators.checks import codex_toml, line_endings
from pytest_codexsandbox.generators.checks.codex_toml import read
from pytest_codexsandbox.model.generator_suite import AS_ASKED
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Evidence, Record
from pytest_codexsandbox.model.verdict import Direction, Verdict
from tests.unit.diagnosis.builders import died

FOLDER = Path(generators.__file__).parent
FILES = (
    *FOLDER.glob("checks/*.py"),
    *FOLDER.glob("stress/*.py"),
    FOLDER / "effective_policy.py",
    FOLDER / "deciding_key.py",
)
NAMES = ("word", "reason")  # variables that hold one before it is told
KNOWN = {
    text.removeprefix("generator found: ").rstrip(".")
    for one in fingerprints()
    for text in one.texts
    if text.startswith("generator found: ")
}
MADE = ("because",)  # of outcomes that a check makes for its own control
# The parser's places are no words of ours; how a run ended is (`outcome.ended`).
ENDED = ("timeout", "signal", "not-started")


def _texts(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def _words(file: Path) -> Iterator[str]:
    """What stands behind `reason=`, in a variable of that name, or is returned by a function that finds one."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "reason":
            if isinstance(node.value, ast.Constant | ast.IfExp):
                branches = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
                yield from (text for one in branches if isinstance(one, ast.Constant) for text in _texts(one))
        elif isinstance(node, ast.Assign) and any(isinstance(at, ast.Name) and at.id in NAMES for at in node.targets):
            if isinstance(node.value, ast.IfExp):
                branches = [node.value.body, node.value.orelse]
                yield from (text for one in branches if isinstance(one, ast.Constant) for text in _texts(one))
            elif isinstance(node.value, ast.Subscript) and isinstance(node.value.value, ast.Dict):
                yield from (text for value in node.value.value.values for text in _texts(value))


def words() -> set[str]:
    found = {word for file in FILES for word in _words(file) if word}
    return found | {word for _, word in codex_toml._WORDS} | set(line_endings._LOST.values()) | set(ENDED) - set(MADE)


def test_words_are_found_at_all() -> None:
    assert {"captured", "duplicate-key", "comment-lost", "crlf-lost", "grew", "did-nothing", "root-missing"} <= words()
    assert len(words()) > 60


def test_every_word_of_a_check_has_a_cause() -> None:
    assert words() - set(MADE) - KNOWN == set()


@pytest.mark.parametrize(
    "content",
    [b"a = 1\na = 2", b"[a]\n[a]", b"a = {}\n[a.b]", b"a = \xff", b"a = '\x01'", b"a", b"a = 99999999999999999999"],
)
def test_every_word_of_the_reader_has_a_cause(content: bytes) -> None:
    assert read(content).reason in KNOWN


def record(reason: str, direction: Direction = "wrong-claim", promise: str = "generator.parses") -> Record:
    row = Evidence(
        claim="it is TOML",
        act="",
        nonce="n",
        call="story",
        control="a torn line is refused",
        control_held=True,
        saw="Cannot overwrite a value",
        held=False,
        reason=reason,
        direction=direction,
    )
    key = Key(cell="c", door="generator", policy=AS_ASKED, promise=promise, case="01-empty")
    return Record(key=key, verdict=Verdict.VIOLATES, direction=direction, evidence=(row,), reason="promised: …")


@pytest.mark.parametrize("word", sorted(KNOWN))
def test_the_reason_word_decides_over_other_output(word: str) -> None:
    said = diagnose(record(word), (died("bwrap: setting up uid map: Permission denied"),), {}, named=True)
    assert said is not None
    assert said.fingerprint == f"generator-{word}"
    assert said.quote == "Cannot overwrite a value"


def test_the_start_of_a_sandbox_is_explained_by_its_own_fingerprint() -> None:
    said = diagnose(record("uid-map-refused", "denied", ENFORCES), (), {}, named=True)
    assert said is not None
    assert said.fingerprint == "uid-map-refused"


@pytest.mark.parametrize(("direction", "word"), [("leak", "more-than-asked"), ("denied", "less-than-asked")])
@pytest.mark.parametrize("errno", ["EROFS", ""])
def test_an_act_under_a_generators_policy_is_no_finding_about_codex(
    direction: Direction, word: str, errno: str
) -> None:
    said = diagnose(record(errno, direction, ENFORCES), (), {}, named=True)
    assert said is not None
    assert said.fingerprint == f"generator-{word}"


def test_the_row_that_the_verdict_comes_from_is_asked_first() -> None:
    made = record("captured", "leak")
    other = record("comment-lost", "litter").evidence
    both = Record(key=made.key, verdict=Verdict.VIOLATES, direction="leak", evidence=(*other, *made.evidence))
    assert both.deciding is made.evidence[0]
    said = diagnose(both, (), {}, named=True)
    assert said is not None
    assert said.fingerprint == "generator-captured"


def test_the_word_of_a_check_means_nothing_in_a_text() -> None:
    from pytest_codexsandbox.diagnosis.match import match

    assert all(match(word) is None or not match(word).fingerprint.startswith("generator-") for word in KNOWN)  # type: ignore[union-attr]
    assert match(FOUND.format("captured")) is not None
