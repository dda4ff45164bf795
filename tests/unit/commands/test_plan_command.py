"""`codexsandbox plan`: what would be done, said before anything is."""

import json
from typing import Any

import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.commands.plan import as_json, calls
from pytest_codexsandbox.commands.plan_text import Shown, as_text
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.releases.forecast import Forecast
from tests.unit.matrix.making import cell, plan, promise

PLAN = plan(
    promise("start.is-on"), promise(), promise("process.alone", call=Call(copies=16), policies=("read-only",)),
    promise("dns.by-name", requires=("resolver:ours",)), cells=(cell("0.136.0"), cell("0.163.0")),
)  # fmt: skip


def shown_with(downloads: dict[str, Forecast], **changed: Any) -> Shown:
    words: dict[str, Any] = {"plan": PLAN, "downloads": downloads, "seconds": dict.fromkeys(IDS, 4.0)}
    return Shown(**(words | changed))


IDS = tuple(one.id for one in PLAN.cells)


def test_calls_are_batteries_and_calls_of_their_own() -> None:
    assert calls(PLAN) == 2 * (2 + 16)  # cells x (policies + copies): what is not applicable costs nothing


def test_the_text_says_cells_promises_downloads_and_what_is_left_out() -> None:
    downloads = {"0.136.0": Forecast(megabytes=87, source="pypi"), "0.163.0": Forecast(source="cache", cached=True)}
    shown = as_text(shown_with(downloads))
    assert shown.startswith("local: 2 cells, 4 promises, 14 checks in 36 Codex calls\n")
    assert "codex 0.136.0 0.163.0" in shown
    assert "filesystem     1 promise, 4 checks" in shown
    assert "would download about 87 MB" in shown
    assert "pypi" in shown
    assert "dns.by-name: not applicable: needs a resolver of ours" in " ".join(shown.split())
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_every_promise_is_listed_when_asked_for() -> None:
    there = Forecast(source="cache", cached=True)
    shown = as_text(shown_with({"0.136.0": there, "0.163.0": there}), verbose=True)
    assert all(one.id in shown for one in PLAN.promises)


def test_what_cannot_be_had_is_said_with_what_to_do() -> None:
    downloads = {"0.136.0": Forecast(why_not="install npm"), "0.163.0": Forecast(source="cache", cached=True)}
    shown = as_text(shown_with(downloads))
    assert "0.136.0" in shown
    assert "cannot be had here: install npm" in shown
    assert "would download" not in shown


def test_a_download_of_unknown_size_is_not_called_0_mb() -> None:
    unknown = Forecast(source="npm")
    assert "would download 2 releases whose size nobody says\n" in as_text(
        shown_with({"0.136.0": unknown, "0.163.0": unknown})
    )
    shown = as_text(shown_with({"0.136.0": unknown, "0.163.0": Forecast(megabytes=162, source="npm")}))
    assert "would download about 162 MB and 1 release whose size nobody says\n" in shown


def test_with_everything_there_nothing_is_downloaded() -> None:
    there = Forecast(source="cache", cached=True)
    assert "nothing to download" in as_text(shown_with({"0.136.0": there, "0.163.0": there}))


def test_programs_get_every_key_and_reason() -> None:
    shown = json.loads(as_json(shown_with({"0.136.0": Forecast(megabytes=87, source="pypi")})))
    assert len(shown["keys"]) == len(PLAN.keys)
    assert shown["downloads"]["0.136.0"]["megabytes"] == 87
    assert len(shown["not_applicable"]) == 4
    assert len(shown["digest"]) == 64


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lokal",), "did you mean 'local'?"),
        (("local", "--codex-release", "0.163.0", "--codex-only", "nothing.like-it"), "matches no cell"),
        (("local", "--codex-release", "0.163.0", "--codex-skip", "start.*"), "in every plan"),
        (("local", "--codex-release", "0.163.0,0.163.0"), "two Codex binaries"),
        (("./none.toml",), "no matrix file"),
    ],
)
def test_wrong_words_are_answered(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *words]) == 4
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown
