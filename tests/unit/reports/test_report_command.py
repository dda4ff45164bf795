"""`codexsandbox report` and `codexsandbox schema`: old journals, no Codex, clear errors."""

import json
import os
import stat
from pathlib import Path

import jsonschema
import msgspec
import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.journal import store
from pytest_codexsandbox.reports import html, journal_schema, json_report, markdown
from tests.unit.reports import builders, generator_builders

pytestmark = pytest.mark.usefixtures("results_without_basis")


@pytest.fixture(autouse=True)
def _our_own_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a red run."""
    first, *rest = builders.lines_of(builders.red())
    writer = store.JournalWriter.open(tmp_path / "run", first)  # type: ignore[arg-type]
    for line in rest:
        writer.write(line)
    writer.close()
    return tmp_path / "run"


def test_the_screen_of_an_old_run_is_shown_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run / "journal.ndjson")]) == 0
    shown = capsys.readouterr().out
    assert "72 planned =" in shown
    assert f"evidence: {run}" in shown
    assert "\x1b" not in shown


def test_a_folder_of_a_run_will_do(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run)]) == 0
    assert "F leak: filesystem.outside-refused" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["old.html", "old.md", "old.json"])
def test_the_name_of_the_file_says_the_format(run: Path, name: str) -> None:
    target = run.parent / "new" / name
    assert main(["report", str(run), "-o", str(target)]) == 0
    read = store.read(run)
    made = {"old.html": html, "old.md": markdown, "old.json": json_report}[name].render(read, run)
    assert target.read_text() == made
    assert sorted(path.name for path in target.parent.iterdir()) == [name]


def test_several_formats_go_into_a_folder(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = run.parent / "reports"
    assert main(["report", str(run), "--format", "html,markdown,json,terminal", "-o", str(target)]) == 0
    assert sorted(path.name for path in target.iterdir()) == ["index.html", "report.json", "report.md", "report.txt"]
    assert f"html: {target / 'index.html'}" in capsys.readouterr().out


def test_a_format_goes_to_the_screen_when_no_file_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["planned"] == 72


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--format", "html,markdown"], "several formats need a folder"),
        (["--format", "pdf"], "there is no report format 'pdf'"),
        (["--format", "html,"], "there is no report format ''"),
        (["--format", "html", "-o", "{run}/journal.ndjson/x.html"], "the report cannot be written"),
        (["--format", "html,json", "-o", "{run}/journal.ndjson"], "several formats need a folder"),
    ],
)
def test_an_impossible_request_is_a_clear_error(
    run: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    before = sorted(run.rglob("*"))
    assert main(["report", str(run), *(word.format(run=run) for word in words)]) == 4
    assert said in capsys.readouterr().err
    assert sorted(run.rglob("*")) == before


@pytest.mark.parametrize("place", ["/dev/null", "/dev/stdout", "{run}/pipe"])
@pytest.mark.parametrize("name", ["html", "terminal"])
def test_a_device_or_a_pipe_is_not_replaced(
    run: Path, capsys: pytest.CaptureFixture[str], place: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(run / "pipe")
    monkeypatch.setattr(Path, "replace", None)  # as root, it would succeed
    assert main(["report", str(run), "--format", name, "-o", place.format(run=run)]) == 4
    assert place.format(run=run) in capsys.readouterr().err
    assert stat.S_ISFIFO((run / "pipe").stat().st_mode) and stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_journal_that_is_none_is_a_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.ndjson").write_text("hello\n")
    assert main(["report", str(tmp_path / "x.ndjson")]) == 4
    error = capsys.readouterr().err
    assert "x.ndjson, line 1" in error


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(journal_schema.SHIPPED.read_text())


@pytest.mark.parametrize("command", ["report", "schema"])
def test_help_ends_in_lines_to_paste(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"codexsandbox {command} " in capsys.readouterr().out.split("examples:")[1] + " "


# ---- by generator
@pytest.fixture
def generated(tmp_path: Path) -> Path:
    made = generator_builders.both()
    run, plan, *rest = builders.lines_of(made)
    writer = store.JournalWriter.open(tmp_path / "generated", run)  # type: ignore[arg-type]
    for line in (plan, *made.stories, *made.claims, *rest):
        writer.write(line)
    writer.close()
    return tmp_path / "generated"


def test_a_journal_is_shown_by_generator(generated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(generated), "--by", "generator"]) == 0
    shown = capsys.readouterr().out
    assert "2026-11-18: NOT TRUSTWORTHY, 290 of 323 checks conform" in shown  # these lines lack what a judge needs
    assert "in doubt  NOT RE-JUDGED: 666 of 666 results" in shown
    assert "confined by bubblewrap" in shown


def test_by_generator_as_markdown_and_as_data(generated: Path, tmp_path: Path) -> None:
    assert (
        main(["report", str(generated), "--by", "generator", "--format", "markdown,json", "-o", f"{tmp_path}/o/"]) == 0
    )
    assert (tmp_path / "o" / "report.md").read_text().startswith("## good\n")
    assert [one["name"] for one in json.loads((tmp_path / "o" / "report.json").read_text())] == ["good", "mytool"]


def test_by_generator_has_no_page_of_its_own(generated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(generated), "--by", "generator", "--format", "html"]) == 4
    assert "--by generator" in (error := capsys.readouterr().err) and "markdown, json" in error


def test_every_line_of_a_run_with_generators_is_valid() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(journal_schema.SHIPPED.read_text()))
    for make in generator_builders.KINDS.values():
        made = make()
        for line in (made.run, made.plan, *made.stories, *made.claims):
            validator.validate(json.loads(msgspec.json.encode(line)))
