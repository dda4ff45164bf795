"""`diagnose` and `report`: 4 for a journal that cannot be read, 11 for one that contradicts itself."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.cli import main
from tests.unit.reports import builders

COMMANDS = (("diagnose",), ("report",), ("report", "--format", "json"), ("report", "--by", "generator"))
Lines = list[bytes]


def lines() -> Lines:
    return [msgspec.json.encode(line) for line in builders.lines_of(builders.red())]


def green() -> Lines:
    return [msgspec.json.encode(line) for line in builders.lines_of(builders.green())]


def _changed(every: Lines, kind: str, **words: object) -> Lines:
    """The last line of a kind with other members."""
    place = max(number for number, line in enumerate(every) if line.startswith(f'{{"line":"{kind}"'.encode()))
    every[place] = msgspec.json.encode({**msgspec.json.decode(every[place]), **words})
    return every


def _without_a_call() -> Lines:
    every = lines()
    wanted = {call.encode() for record in builders.red().records for call in record.calls}
    every.remove(
        next(
            line
            for line in every
            if line.startswith(b'{"line":"call"') and any(b'"id":"' + one + b'"' in line for one in wanted)
        )
    )
    return every


def _with_part_not_measured() -> Lines:
    every = green()
    place = next(number for number, line in enumerate(every) if line.startswith(b'{"line":"plan"'))
    plan = msgspec.json.decode(every[place])
    plan["not_planned"] = [{"what": "codex 9.9.9", "why": "there is none", "kind": "unavailable", "required": True}]
    every[place] = msgspec.json.encode(plan)
    return every


def _without_a_violation() -> Lines:
    return [line.replace(b'"verdict":"violates"', b'"verdict":"conforms"') for line in lines()]


CONTRADICTIONS: dict[str, Callable[[], Lines]] = {
    "other verdicts than the run counted": _without_a_violation,
    "another exit code than its reasons": lambda: _changed(lines(), "end", exit=0),
    "no reason beside red results": lambda: _changed(lines(), "end", exit=0, reasons=[]),
    "a violation and exit code 12": lambda: _changed(lines(), "end", exit=12, reasons=["12 stale"]),
    "a result against its record": lambda: _changed(lines(), "result", verdict="n/a"),
    "a result twice": lambda: [*lines()[:-1], lines()[-2], lines()[-1]],
    "lines after its end": lambda: [*lines(), lines()[-1]],
    "a second head": lambda: [lines()[0], *lines()],
    "a call that is lost": _without_a_call,
    "exit code 0 beside a leak": lambda: _changed(green(), "end", leaks=["a process"]),
    "exit code 0 beside a part that was not measured": _with_part_not_measured,
    "results that are lost": lambda: [*green()[:-2], green()[-1]],
    "no end": lambda: green()[:-1],
}
UNREADABLE: dict[str, Callable[[], Lines]] = {
    "nothing in it": list,
    "no journal": lambda: [b"a text of somebody"],
    "another schema": lambda: _changed(lines(), "run", schema=9),
    "a line that is no JSON": lambda: [*lines()[:3], b"{", *lines()[3:]],
    "no plan": lambda: lines()[:1],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.ndjson"


def _put(path: Path, every: Lines) -> str:
    path.write_bytes(b"".join(line + b"\n" for line in every))
    return str(path)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("kind", CONTRADICTIONS)
def test_a_contradictory_journal_exits_11(path: Path, command: tuple[str, ...], kind: str) -> None:
    assert main([*command, _put(path, CONTRADICTIONS[kind]())]) == 11


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("kind", UNREADABLE)
def test_an_unreadable_journal_exits_4(path: Path, command: tuple[str, ...], kind: str) -> None:
    assert main([*command, _put(path, UNREADABLE[kind]())]) == 4


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_file_that_is_not_there_is_4(path: Path, command: tuple[str, ...]) -> None:
    assert main([*command, str(path)]) == 4


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_whole_journal_is_0(path: Path, command: tuple[str, ...]) -> None:
    assert main([*command, _put(path, green())]) == 0


def test_a_run_that_was_interrupted_and_says_so_is_no_contradiction(path: Path) -> None:
    every = green()
    counts = {"conforms": builders.green().counts()["conforms"] - 1, "broken": 1}
    ended = {**msgspec.json.decode(every[-1]), "exit": 2, "reasons": ["2 pytest was interrupted"]}
    ended["counts"] |= counts
    last = max(number for number, line in enumerate(every) if b'"verdict":"conforms"' in line)
    every[-1] = msgspec.json.encode(ended)
    assert main(["report", _put(path, [*every[:last], *every[last + 1 :]])]) == 0


def test_a_report_in_a_file_is_made_and_the_fault_is_said(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoiled, target = _put(path, _without_a_violation()), path.with_name("report.md")
    assert main(["report", spoiled, "-o", str(target)]) == 11
    assert "CHANGED: " in capsys.readouterr().err
    assert "CHANGED" in target.read_text()


@pytest.mark.parametrize("command", ["diagnose", "report"])
def test_the_help_names_the_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "Exit code: 0 " in words and "; 4 the journal" in words and "; 11 the" in words
