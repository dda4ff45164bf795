"""String prose: finds strings of the product, and texts and comments of data, that break the rules of CONTRIBUTING.md.

A string of four words or more counts as a text for users. `PACKAGES` lists the packages that follow the rules.
"""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

PACKAGES: Final = (
    *("commands", "config_writer", "contract", "diagnosis", "doors", "environments", "generators", "guest", "harness"),
    *("journal", "matrix", "model", "pytest_plugin", "releases", "reports", "selftest", "system"),
    ".",  # the modules beside the packages
)
DATA: Final = (
    "pytest_codexsandbox/diagnosis/**/*.toml",
    "matrix/**/*.toml",
    "incidents/**/*.toml",
    "scenarios/**/case.toml",
)
COMMENTED: Final = (*DATA, "pyproject.toml", "mkdocs.yml", "ci/**/*", "pytest_codexsandbox/generators/scaffold/*.sh")
KEYS: Final = frozenset(
    {
        *("also", "cause", "decide", "description", "do", "notes", "price"),
        *("reason", "remedy", "shown", "summary", "voids", "why"),
    }
)
LEAST: Final = 4  # words of a text for users
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_OPENINGS: Final = re.compile(r"(What|Whether|Of|Who|Whose|Whoever|How|Which|Why)\b", re.IGNORECASE)
_BANNED: Final = re.compile(
    r"\b(nobody|somebody|anybody|everybody|whoever|to be had|be had|of ours|of theirs|dear|errand|onlooker|trespass)\b",
    re.IGNORECASE,
)


class Text(NamedTuple):
    place: str
    text: str


def findings(root: Path) -> Iterator[tuple[str, str]]:
    """Yields the place and the rule of each text that breaks one."""
    for one in (*texts(root), *comments(root)):
        if rule := broken_rule(one.text):
            yield one.place, rule


def texts(root: Path) -> Iterator[Text]:
    """Yields each text for users: of the packages, then of the data."""
    for package in PACKAGES:
        folder = root / "pytest_codexsandbox" / package
        for path in sorted(folder.glob("*.py") if package == "." else folder.rglob("*.py")):
            name = path.relative_to(root).as_posix()
            for line, text in strings(ast.parse(path.read_text(encoding="utf-8"))):
                yield Text(f"{name}:{line}", text)
    for pattern in DATA:
        for path in sorted(root.glob(pattern)):
            name = path.relative_to(root).as_posix()
            for text in _values(tomllib.loads(path.read_text(encoding="utf-8"))):
                yield Text(name, text)


def comments(root: Path) -> Iterator[Text]:
    """Yields each block of whole-line comments, and each comment behind a value, of data and of shell programs."""
    for pattern in COMMENTED:
        for path in sorted(one for one in root.glob(pattern) if one.is_file()):
            block: list[str] = []
            start = 1
            for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
                before, _, comment = line.partition("# ")
                is_whole = bool(comment) and not before.strip()
                if block and not is_whole:
                    yield Text(f"{path.relative_to(root).as_posix()}:{start}", " ".join(block))
                    block = []
                if is_whole:
                    start = start if block else number
                    block.append(comment)
                elif comment and not before.count('"') % 2:
                    yield Text(f"{path.relative_to(root).as_posix()}:{number}", comment)


def broken_rule(text: str) -> str:
    """Returns the first rule that a text for users breaks; "" if it breaks none."""
    if opening := _OPENINGS.match(text.strip()):
        return f"a text begins with {opening[1]!r}: name the actor or the thing first"
    if word := _BANNED.search(text):
        return f"{word[0]!r}: name the actor or the thing"
    return ""


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields each string of a module that has enough words, without docstrings. A value in an f-string is `…`."""
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) not in inside | alone and (text := _text(node)) and len(_WORD.findall(text)) >= LEAST:
            yield getattr(node, "lineno", 1), text


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _values(node: object) -> Iterator[str]:
    """Yields each value of a key that holds a text."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in KEYS and isinstance(value, str) and len(_WORD.findall(value)) >= LEAST:
                yield value
            else:
                yield from _values(value)
    elif isinstance(node, list):
        for one in node:
            yield from _values(one)
