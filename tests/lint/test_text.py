"""What is published speaks of the project alone, in files of a size that can be read."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lint import tracked
from tests.lint.tracked import ROOT, files

BINARY = {
    "tests/golden/journals/generators.ndjson.gz",
    "tests/golden/journals/promises.ndjson.gz",
    "tests/golden/readme/journal.ndjson.gz",
}
CORPUS = re.compile(r"scenarios/generator/cases/[^/]+/config\.toml")  # some of them are no text on purpose
LONGEST = {".py": 400, "ARCHITECTURE.md": 75, "README.md": 105}
ALONE = "pytest_codexsandbox/guest/probe.py"  # every call starts it; a comment there says what a second file costs
# Put together here, so that this file does not hold what it looks for.
PIECES = (
    ("/var/", "tmp/cx"), ("/opt/", "pypi"), ("/root", "/"), ("/work/", "main"), ("/work/", "shared"),
    ("Cla", "ude"), ("Anth", "ropic"), ("sub", "-agent"), ("H-", "hand"), ("this ", "session"), ("my ", "session"),
    ("previous ", "session"), ("work", "place"), ("the ", "brief"), ("the ", "lead "), ("a-", "seed-"),
)  # fmt: skip
FORBIDDEN = re.compile("|".join(re.escape("".join(pieces)) for pieces in PIECES), re.IGNORECASE)
HOST = re.compile(r"https?://(?:[^\s/@\"'`]*@)?([a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+)")
# A link leads to documentation that anybody can read; a registry is whatever the user has configured.
HOSTS = re.compile(
    r"(.+\.)?(github\.com|openai\.com|sqlite\.org|ubuntu\.com|debian\.org|docker\.com|deb\.li|kernel\.org|apache\.org|"
    r"json-schema\.org|python\.org|pytest\.org|readthedocs\.io|npmjs\.com|man7\.org|example\.org|example\.com|"
    r"project\.evil|toml\.io|[a-z-]+\.example|127\.0\.0\.1|0\.0\.0\.0|localhost)"
)


def texts() -> Iterator[tuple[str, str]]:
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        if CORPUS.fullmatch(name):
            yield name, path.read_bytes().decode("latin-1")
            continue
        found = tracked.text(path)
        if found is None:
            assert name in BINARY, f"{name} is no text, and nobody looks into it"
            found = gzip.decompress(path.read_bytes()).decode("utf-8")
        yield name, found


def test_there_are_files_to_look_at() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in files()}
    assert {"README.md", "pyproject.toml", "pytest_codexsandbox/plugin.py", "tests/lint/test_text.py"} <= names
    assert len(names) > 300


def test_the_list_is_the_same_without_git() -> None:
    """Where git is missing (an unpacked sdist, a bare machine) nothing is left out."""
    assert tracked._from_git() <= tracked._walked()


def test_no_text_speaks_of_the_machine_or_the_people_that_made_it() -> None:
    checkout = str(ROOT) if len(ROOT.parts) > 3 else ""
    found = [
        f"{name}: {match[0]}"
        for name, text in texts()
        for match in [FORBIDDEN.search(text) or (re.search(re.escape(checkout), text) if checkout else None)]
        if match
    ]
    assert found == []


def test_every_host_in_a_link_is_public() -> None:
    found = {f"{name}: {host}" for name, text in texts() for host in HOST.findall(text) if not HOSTS.fullmatch(host)}
    assert found == set()


@pytest.mark.parametrize("line", ["see /var/" + "tmp/cx/x", "CLA" + "UDE wrote it", "in this " + "session"])
def test_the_pattern_finds_what_it_looks_for(line: str) -> None:
    assert FORBIDDEN.search(line)


def test_a_strange_host_is_found() -> None:
    strange = "registry." + "corp.internal"
    (host,) = HOST.findall(f"https://user:word@{strange}/simple")
    assert host == strange
    assert not HOSTS.fullmatch(host)


@pytest.mark.parametrize("ending", LONGEST)
def test_files_can_be_read_in_one_sitting(ending: str) -> None:
    named = [path for path in files() if path.suffix == ending or path.name == ending]
    assert named
    lengths = {path.relative_to(ROOT).as_posix(): _lines(path) for path in named}
    longest = {ALONE: 634}  # 14 more: how it waits where it has no stdin, which is its start and no verb
    assert {name: lines for name, lines in lengths.items() if lines > longest.get(name, LONGEST[ending])} == {}, (
        f"too long: split the file. {ALONE} cannot be split: shorten it, or raise its limit in this test and say why"
    )


def _lines(path: Path) -> int:
    return len((tracked.text(path) or "").splitlines())
