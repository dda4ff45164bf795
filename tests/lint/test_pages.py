"""The pages are true: generated parts are current, links lead somewhere, commands and options exist."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from pytest_codexsandbox import cli
from pytest_codexsandbox.commands import NAMES
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.pytest_plugin import options
from pytest_codexsandbox.registry import data_folder
from tests.lint.tracked import ROOT, pages, text
from tools.pages import README, generated

LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```[^\n]*\n(.*?)^```$|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"\bcodexsandbox +([a-z][a-z-]*)\b([^\n]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


each_page = pytest.mark.parametrize("page", pages(), ids=ids)


@pytest.mark.parametrize("path", generated(), ids=ids)
def test_generated_parts_are_current(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == generated()[path], "renew it: python -m tools.pages"


@each_page
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for target in LINK.findall(_prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        led = (page.parent / name).resolve() if name else page
        assert led.exists(), f"{target}: there is no such file"
        assert not anchor or anchor in set(_anchors(led)), f"{target}: there is no such heading"


@each_page
def test_every_command_that_is_named_exists(page: Path) -> None:
    for code in _code(page):
        for name, words in COMMAND.findall(code):
            assert name in NAMES, f"codexsandbox {name}"
            if not getattr(cli.load(name), "PASSES_ON", False):
                unknown = set(OPTION.findall(words.partition("#")[0].partition(" -- ")[0])) - _options_of(name)
                assert not unknown, f"codexsandbox {name} {words}: {unknown}"


@each_page
def test_every_glob_that_is_named_matches_something(page: Path) -> None:
    cell = "debian-trixie~bwrap-distro~docker-default~root~codex-0.163.0"
    names = [
        *(promise.id for promise, _ in promises(data_folder("scenarios"))),
        *POLICIES,
        cell,
        "user.x",
        "version.is-printed",
    ]
    for globs in re.findall(r"--codex-(?:only|skip)[ =]'?([a-z*][\w.*,~-]*)", text(page) or ""):
        unknown = [glob for glob in globs.split(",") if not any(fnmatchcase(name, glob) for name in names)]
        assert not unknown, unknown


@each_page
def test_every_named_option_of_the_plugin_exists(page: Path) -> None:
    known = {f"--codex-{name}" for name, *_ in options._OPTIONS}
    assert set(re.findall(r"--codex-[a-z-]+", text(page) or "")) <= known


def test_the_readme_has_the_two_commands_that_the_gate_runs() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    found = {
        name: [line for line in lines if re.fullmatch(rf".*[^ ] +# {name}", line)]
        for name in ("the matrix", "the tests")
    }
    assert {name: len(commands) for name, commands in found.items()} == {"the matrix": 1, "the tests": 1}
    assert "pytest --codex-matrix" in found["the matrix"][0]
    assert "pytest" in found["the tests"][0]
    assert "--codex-matrix" not in found["the tests"][0]


def test_the_readme_shows_a_matrix_of_80_columns() -> None:
    _, _, rest = README.read_text(encoding="utf-8").partition("<!-- matrix: begin -->\n```\n")
    shown = rest.partition("\n```\n<!-- matrix: end -->")[0].splitlines()
    assert re.search(r"\d+ planned = \d+ conforms", "\n".join(shown))
    assert 10 < len(shown) <= 35
    assert max(map(len, shown)) <= 80


def test_every_page_is_in_the_navigation() -> None:
    named = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    docs = ROOT / "docs"
    assert named == {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}


def test_every_file_that_a_contributor_is_sent_to_exists() -> None:
    rows = re.findall(r"^\| .+ \|$", text(ROOT / "CONTRIBUTING.md") or "", re.MULTILINE)
    named = {path for row in rows for path in re.findall(r"`([\w.]+/[\w./]*)`", row) if not re.search("[A-Z]{3}", path)}
    assert len(named) > 40
    assert {path for path in named if not (ROOT / path).exists()} == set()


ADDITIONS = (
    "distribution", "bubblewrap", "security profile", "user", "preset", "promise", "act of a promise", "bad subject",
    "kill rule", "check of generators", "nasty config", "generator", "fingerprint", "correction of a wrong cause",
    "remedy", "known deviation", "suite", "backend", "door", "report format", "command", "page",
)  # fmt: skip


def test_every_addition_has_a_row_that_names_its_files() -> None:
    table = (text(ROOT / "CONTRIBUTING.md") or "").partition("## I want to add a …")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", table.partition("The program writes")[0], re.MULTILINE)
    named = {addition: files for addition, files, _ in rows[1:]}
    assert [word for word in ADDITIONS if not any(addition.startswith(word) for addition in named)] == []
    vague = [addition for addition, files in named.items() if not re.search(r"`[\w.]+/[\w./-]+`", files)]
    assert vague == [], "name the file in the second column: `folder/NAME.toml`"


def _prose(page: Path) -> str:
    return CODE.sub("", text(page) or "")


def _code(page: Path) -> Iterator[str]:
    for block, span in CODE.findall(text(page) or ""):
        yield from (block or span).splitlines()


def _anchors(page: Path) -> Iterator[str]:
    for heading in re.findall(r"^#+ +(.+)$", text(page) or "", re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _options_of(name: str) -> set[str]:
    parser = cli.command_parser(name, cli.load(name))
    return {word for action in parser._actions for word in action.option_strings}
