"""`report --by generator --readme`: a block that a maintainer pastes, with every word of its line explained."""

from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.reports import by_generator
from pytest_codexsandbox.reports.readme_block import ASKED, block
from pytest_codexsandbox.reports.readme_line import NOT_TOLD, SIGNS, Summary, line
from tests.unit.reports import builders, generator_builders


def summary(**changes: object) -> Summary:
    return msgspec.structs.replace(by_generator.blocks(generator_builders.bad())[0].summary, **changes)


def test_every_word_of_the_line_is_explained_with_its_sign() -> None:
    told = summary()
    text = block(told)
    assert line(told).split(" — ")[0].split(" · ")[0] in text
    assert told.answers.keys() == ASKED.keys()
    for word, answer in told.answers.items():
        assert f"| {word} | {SIGNS[answer]} | " in text
    assert {"✔", "✘"} <= {SIGNS[answer] for answer in told.answers.values()}
    assert "pytest --codex-matrix --codex-generator 'cmd:mytool render --out @CONFIG@'" in text


def test_unmeasured_and_unbelievable_results_are_named() -> None:
    assert NOT_TOLD.split(":")[0] not in block(summary())
    told = block(summary(receives_request=False, doubt="trust.x: it was misjudged"))
    assert NOT_TOLD.split(":")[0] in told
    assert ASKED["effective"] not in told
    assert ": trust.x: it was misjudged" in told


def test_a_red_word_is_explained_by_what_makes_it_red() -> None:
    """Example: `codex mcp add` changes nothing in a second run and writes the file anew, so `idempotent` is red."""
    assert "no file anew" in ASKED["idempotent"]
    assert ASKED["effective"] not in block(summary(receives_request=False))


def test_no_folder_of_this_machine_is_in_it() -> None:
    text = block(summary(spec="/home/me/secret/generators/mytool.toml"))
    assert "/home/me" not in text
    assert "--codex-generator ./mytool.toml" in text


def test_the_command_prints_the_blocks_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "journal.ndjson"
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in builders.lines_of(generator_builders.both())))
    assert main(["report", str(path), "--by", "generator", "--readme"]) == 0
    assert capsys.readouterr().out.count("### Codex configuration") == 2
    assert main(["report", str(path), "--readme"]) == 4
    assert "--by generator" in capsys.readouterr().err
    assert main(["report", str(path), "--by", "generator", "--readme", "--format", "json"]) == 4
