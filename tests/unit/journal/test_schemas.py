"""Journals of schema 1 and schema 2: the same journal is read from both, and tools take either."""

import contextlib
import io
import json
import re
from pathlib import Path

import jsonschema
import msgspec
import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.journal import store
from pytest_codexsandbox.model.contents import Writer as ContentsWriter
from pytest_codexsandbox.model.journal_lines import Line
from pytest_codexsandbox.reports import journal_schema
from tests.unit.journal import builders
from tests.unit.journal.builders import content_of
from tools import compare_journals

pytestmark = pytest.mark.usefixtures("results_without_basis")

ROOT = Path(__file__).resolve().parents[3]
FIRST = ROOT / "tests" / "golden" / "schema-1" / "journal.ndjson"
PAGE = ROOT / "docs" / "reference" / "journal.md"


def lines_of(path: Path) -> list[Line]:
    return [msgspec.json.decode(line, type=Line) for line in path.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden journal, written in schema 2."""
    contents = ContentsWriter()
    run, *rest, end = lines_of(FIRST)
    writer = store.JournalWriter.open(tmp_path_factory.mktemp("run"), run)  # type: ignore[arg-type]
    for line in rest:
        writer.write(contents.thin(line))
    writer.write_end(end)  # type: ignore[arg-type]
    writer.close()
    assert not writer.fault
    return writer.path


def test_a_journal_of_schema_1_is_read_as_before() -> None:
    read = store.read(FIRST)
    assert (read.run.schema, len(read.calls), len(read.records)) == (1, 12, 7)
    assert {record.verdict.value for record in read.records} == {"conforms"}
    assert read.end is not None and read.end.counts == read.counts()
    assert all(call.observation.before and call.observation.world for call in read.calls)


def test_both_schemas_give_the_same_journal(second: Path) -> None:
    assert content_of(store.read(second)) == content_of(store.read(FIRST))


def test_schema_2_is_smaller(second: Path) -> None:
    assert second.stat().st_size < FIRST.stat().st_size * 0.7


def test_journals_of_both_schemas_are_compared(
    second: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["compare", str(FIRST), str(second)])
    assert compare_journals.main() == 0
    assert "7 results, " in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["no end", "contradicted"])
def test_two_equal_journals_that_show_nothing_are_not_the_same(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    monkeypatch.setattr("sys.argv", ["compare", str(path), str(path)])
    builders.read(found, path)
    assert compare_journals.main() == 0
    if kind == "no end":
        found.pop()
    else:
        builders.one(found, "end")["counts"]["conforms"] += 1
    builders.read(found, path)
    assert compare_journals.main() == 1
    shown = capsys.readouterr().out
    assert "the first journal: " in shown and "the second journal: " in shown


@pytest.mark.parametrize("command", [("report",), ("report", "--format", "json"), ("diagnose",)], ids=" ".join)
def test_reports_do_not_tell_the_schemas_apart(
    second: Path, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    said = []
    for path in (FIRST, second):
        assert main([*command, str(path)]) == 0
        said.append(capsys.readouterr().out.replace(str(path.parent), "@").replace('"schema": 2', '"schema": 1'))
    assert said[0] == said[1]


# ---- for readers in other languages
def _example(heading: str) -> str:
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1]
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_example_of_the_page_resolves_every_reference(second: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(second.parent)
    code = _example("References")
    assert set(re.findall(r"^import (.*)$", code, re.MULTILINE)) == {"json"}
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(code, "example", "exec"), names)
    resolved = [json.loads(line) for line in said.getvalue().splitlines()]
    read = [msgspec.json.decode(json.dumps(line), type=Line) for line in resolved]
    first, *rest = lines_of(FIRST)
    assert read == [msgspec.structs.replace(first, schema=2), *rest]


def test_the_example_of_the_page_checks_every_sum(
    second: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = _example("Sums")
    monkeypatch.chdir(second.parent)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(code, "example", "exec"), {})
    assert said.getvalue() == ""
    monkeypatch.chdir(tmp_path)
    lines = second.read_bytes().splitlines(keepends=True)
    Path("journal.ndjson").write_bytes(b"".join([*lines[:4], *lines[5:]]))
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(code, "example", "exec"), {})
    assert said.getvalue().splitlines()[0] == "line 5 was changed"


def test_every_line_of_a_journal_is_valid_as_it_is(second: Path) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(journal_schema.SHIPPED.read_text()))
    kinds = set()
    for line in map(json.loads, second.read_text(encoding="utf-8").splitlines()):
        validator.validate(line)
        kinds.add(line["line"])
    assert "part" in kinds


def test_a_run_of_schema_1_that_was_interrupted_keeps_what_data_ruled_out(tmp_path: Path) -> None:
    """Its plan does not say what a promise requires."""
    written = [json.loads(line) for line in FIRST.read_text(encoding="utf-8").splitlines()]
    last = store.read(FIRST).records[-1].key
    (plan,) = [line for line in written if line["line"] == "plan"]
    plan["not_applicable"] = {str(last): "needs an ordinary user; this is root"}
    results = [place for place, line in enumerate(written) if line["line"] == "result"]
    kept = [line for place, line in enumerate(written) if place != results[-1] and line["line"] != "end"]
    path = tmp_path / "journal.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
    read = store.read(path)
    assert (read.contradicted, read.states()[last].verdict.value) == ((), "n/a")
