"""Prose: finds docstrings, pages and texts for users that break the rules of CONTRIBUTING.md.

    python -m tools.prose              name each text that breaks a rule

The rules for pages are in `tools.page_prose`, those for texts of the program in `tools.string_prose`.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tools import page_prose, string_prose

ROOT: Final = Path(__file__).resolve().parents[1]
DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
FOLDERS: Final = ("pytest_codexsandbox", "incidents", "benchmarks", "tools", "scenarios")
PAGES: Final = ("docs", "incidents", "matrix", "pytest_codexsandbox", "scenarios")
_OPENINGS: Final = re.compile(r"(What|Whether|Of|Who|Whose|Whoever|How|Where|Which|As|Why)\b")
_WORDS: Final = re.compile(
    r"\b(nobody|somebody|whoever|to be had|be had|of ours|of theirs|warden|nursery|onlooker|trespass|workbench"
    r"|errand|dear|onlookers|nurseries|warden|trespasses|teller|strain)\b",
    re.IGNORECASE,
)


class Finding(NamedTuple):
    place: str
    rule: str


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    found = [f"{one.place}: {one.rule}" for one in findings()]
    print("\n".join(found) or "no text breaks a rule")
    return 1 if found else 0


def findings() -> Iterator[Finding]:
    """Yields each docstring, each part of a page and each text for users that breaks a rule."""
    for path in _python():
        name = path.relative_to(ROOT).as_posix()
        for line, text in docstrings(ast.parse(path.read_text(encoding="utf-8"))):
            if rule := broken_rule(text):
                yield Finding(f"{name}:{line}", rule)
    yield from page_findings()
    yield from (Finding(place, rule) for place, rule in string_prose.findings(ROOT))


def page_findings() -> Iterator[Finding]:
    """Yields each heading, sentence and table cell of a page that breaks a rule."""
    for path in _pages():
        name = path.relative_to(ROOT).as_posix()
        for part, rule in page_prose.findings(name, path.read_text(encoding="utf-8")):
            yield Finding(f"{name}:{part.line}", rule)


def broken_rule(text: str) -> str:
    """Returns the first rule that a docstring breaks; "" if it breaks none."""
    if opening := _OPENINGS.match(text.strip()):
        return f"a docstring begins with {opening[1]!r}: begin with a verb (Returns, Runs, Checks whether)"
    if word := _WORDS.search(text):
        return f"{word[0]!r}: name the actor or the thing"
    return ""


def _python() -> Iterable[Path]:
    return (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))


def _pages() -> Iterable[Path]:
    """Returns each page that a person reads. Golden recordings of reports are no pages."""
    return (*sorted(ROOT.glob("*.md")), *(path for folder in PAGES for path in sorted((ROOT / folder).rglob("*.md"))))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields each docstring: of modules, classes and functions, and those below an attribute."""
    for node in ast.walk(tree):
        for part in node.body if isinstance(node, DOCUMENTED) else ():
            if (
                isinstance(part, ast.Expr)
                and isinstance(part.value, ast.Constant)
                and isinstance(part.value.value, str)
            ):
                yield part.lineno, part.value.value


if __name__ == "__main__":
    sys.exit(main())
