"""`codexsandbox generator try` before anything is started, and its screen."""

import argparse
import re
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox import cli
from pytest_codexsandbox.cli import command_parser, main
from pytest_codexsandbox.commands import generator_try
from pytest_codexsandbox.commands.generator_text import Case, screen
from pytest_codexsandbox.environments.container import planned_availability
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.corpus import shipped_cases
from pytest_codexsandbox.matrix.generator_cells import writers
from pytest_codexsandbox.matrix.load import load
from pytest_codexsandbox.model.generator import Claim
from pytest_codexsandbox.model.story_log import anonymous
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports.terminal_style import Paint
from tests.unit.commands.screen_builders import HEAD, case, key
from tests.unit.reports import builders, generator_builders

PAINT = Paint(width=80, color=False, ascii=False)


def options(*words: str) -> argparse.Namespace:
    return command_parser("generator", cli.load("generator")).parse_args(["try", *words])


def cases(*words: str) -> list[str]:
    asked = writers(["good"], beside=None, base=Path.cwd())
    return [one.id for one in generator_try._cases(options(*words, "--", "good"), asked)]


# ---- what is asked
def test_without_a_case_three_telling_ones_are_tried_and_they_exist() -> None:
    assert cases() == list(generator_try.TELLING)
    assert set(generator_try.TELLING) <= {case.id for case in shipped_cases()}


def test_several_cases_may_be_named() -> None:
    assert cases("--case", "34-bom,01-empty", "--case", "32-crlf") == ["34-bom", "01-empty", "32-crlf"]


def test_a_case_that_is_not_there_is_named_with_its_neighbours() -> None:
    with pytest.raises(InputError, match="34-bomb"):
        cases("--case", "34-bomb")


def test_a_file_of_ones_own_is_a_case(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b"a = 1\n")
    asked = options("--config", str(tmp_path / "mine.toml"), "--wish", "roots,network", "--", "good")
    (found,) = generator_try._cases(asked, writers(["good"], beside=None, base=tmp_path))
    assert (found.id, found.config) == (generator_try.OWN, b"a = 1\n")
    assert found.intent is not None
    assert (found.intent.roots, found.intent.network) == (("@ROOT0@",), True)


def test_a_container_is_named_by_a_cell_of_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned_availability, "silent_engines", lambda hosts: {})

    def inside(*words: str) -> str:
        found = generator_try._inside(options(*words, "--", "good"))
        return found.id if found else ""

    assert inside() == ""
    matrix = load(generator_try.CONTAINERS)
    there = next(one for one in generator_try._cells(matrix) if one.environment.container)
    assert inside("--codex-generator-in", there.environment.id) == there.environment.id
    assert inside("--codex-generator-in", there.id) == there.environment.id
    with pytest.raises(InputError, match="'nowhere'"):
        inside("--codex-generator-in", "nowhere")
    with pytest.raises(InputError, match=r" local "):
        inside("--codex-generator-in", "x", "--codex-matrix", "local")
    with pytest.raises(InputError, match="exclude each other"):
        inside("--codex-generator-in", there.id, "--codex-generator-unconfined")


def test_the_line_that_shows_all_cases_names_the_container() -> None:
    head = msgspec.structs.replace(HEAD, which=("--codex-generator-in", "debian~root"), matrix="pull-request")
    inside, here = (
        " ".join(" ".join(screen(one, [], PAINT, every=False)).replace("\\", "").split()) for one in (head, HEAD)
    )
    assert "pytest --codex-matrix=pull-request --codex-generator-in 'debian~root' --codex-generator" in inside
    assert "pytest --codex-matrix --codex-generator" in here


def test_the_real_codex_home_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    (tmp_path / "config.toml").write_text("secret = 1\n")
    with pytest.raises(InputError, match="never read"):
        cases("--config", str(tmp_path / "config.toml"))
    (tmp_path.parent / "link.toml").symlink_to(tmp_path / "config.toml")
    with pytest.raises(InputError, match="never read"):
        cases("--config", str(tmp_path.parent / "link.toml"))


def test_an_unknown_intent_is_an_error() -> None:
    with pytest.raises(InputError, match="everything"):
        cases("--wish", "everything")


@pytest.mark.parametrize("words", [["try"], ["try", "--"], ["try", "--bogus", "--", "good"], ["tri", "good"]])
def test_wrong_words_end_with_4(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["generator", *words])
    assert ended.value.code == 4
    assert "codexsandbox generator" in capsys.readouterr().err


def test_the_command_follows_the_dashes() -> None:
    asked = options("--case", "34-bom", "--", "sh", "-c", "echo $0 > $1", "--case", "@CONFIG@")
    assert asked.words == ["sh", "-c", "echo $0 > $1", "--case", "@CONFIG@"]
    assert asked.case == ["34-bom"]


def test_several_generators_at_once_are_none() -> None:
    assert main(["generator", "try", "--", "real"]) == 4


# ---- the screen
def test_the_screen_shows_what_was_asked_done_said_and_found() -> None:
    bad = generator_builders.found(key("generator.comments-stay"), "comment-lost")
    again = msgspec.structs.replace(bad, key=key("generator.parses"))
    leak = generator_builders.found(key("effective.says-what-was-asked"), "injected-root", "leak")
    absent = builders.record(key("managed-block.one-balanced-pair"), Verdict.NOT_APPLICABLE, reason="it has no markers")
    held = builders.record(key("generator.second-run-changes-nothing"))
    text = "\n".join(screen(HEAD, [case(bad, held, leak, absent, again)], PAINT, every=False))
    assert re.search(r"mytool · Codex 0\.163\.0 · [a-z ]+ bubblewrap\n", text)
    assert "request   roots @ROOT0@, network on" in text
    assert "             + sandbox_mode = 'workspace-write'" in text
    assert "codex     says: workspace-write, network on, roots @ROOT0@" in text
    assert text.index("F effective.says-what-was-asked leak (injected-root)") < text.index("comment-lost")
    assert text.count("comment-lost means") == 1
    assert "P 1 promise hold " in text
    assert re.search(r"^ *- 1 [a-z ]+: managed-block\.one-balanced-pair: ", text, re.MULTILINE)
    assert "1 of 205 cases" in text
    assert "pytest --codex-matrix --codex-generator 'mytool render @CONFIG@'" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_an_unconfined_run_is_reported() -> None:
    head = msgspec.structs.replace(HEAD, confined="")
    assert "WITHOUT confinement" in screen(head, [case()], PAINT, every=False)[0]


def test_output_of_a_generator_is_shown_and_not_obeyed() -> None:
    made = generator_builders.hostile()
    told = Case(
        name="x",
        why=builders.HOSTILE,
        records=tuple(one for one in made.records if one.verdict is Verdict.VIOLATES),
        case_line=made.stories[0],
        claim=Claim(loads=False, error=builders.HOSTILE),
    )
    text = "".join(screen(HEAD, [told], PAINT, every=True))
    assert not any(sign in text for sign in "\x1b\x00\x07\u202e\u2028\n")


def test_private_folders_have_no_names_on_the_screen() -> None:
    world = {"HOME": "/x/stage/home", "ROOT0": "/x/stage/home/r"}
    told = anonymous(
        case(builders.record(key("generator.parses"), reason="/x/stage/home/r and /x/stage/home/.codex")), world
    )
    assert told.records[0].reason == "@ROOT0@ and @HOME@/.codex"
    assert told.records[0].verdict is Verdict.CONFORMS
