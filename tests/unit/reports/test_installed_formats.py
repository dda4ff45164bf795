"""Report formats that are installed: our own reporters follow the protocol that they publish."""

import json
from pathlib import Path

import pytest

from pytest_codexsandbox.contract.reporter import ReporterContract
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.protocols import Reporter
from pytest_codexsandbox.reports.installed_formats import format_for, known_formats, load_format, load_formats
from pytest_codexsandbox.reports.writer import reports, write
from tests.unit.reports import builders, generator_builders

SHOW_THE_FOLDER = ("html", "json", "markdown")
FILES = {one.name: one.file_name for one in load_formats(known_formats())}


class TestInstalledFormat(ReporterContract):
    @pytest.fixture(params=sorted(FILES))
    def reporter(self, request: pytest.FixtureRequest) -> Reporter:
        return load_format(request.param).reporter

    @pytest.fixture(
        params=[builders.red, builders.hostile, generator_builders.both], ids=["red", "hostile", "generators"]
    )
    def journal(self, request: pytest.FixtureRequest) -> ReadJournal:
        made: ReadJournal = request.param()
        return made


class Odd:
    """A folder with a link in it."""

    name, file_name = "odd", "odd.txt"

    def render(self, journal: ReadJournal, out_dir: Path, *, run_dir: Path) -> None:
        (out_dir / self.file_name).mkdir()
        (out_dir / self.file_name / "latest").symlink_to("first")
        (out_dir / self.file_name / "first").mkdir()


def test_our_own_formats_are_entry_points_like_any_other() -> None:
    assert {"html": "index.html", "json": "report.json", "markdown": "report.md"}.items() <= FILES.items()


def test_no_two_shipped_formats_share_a_suffix() -> None:
    """`codexsandbox report -o FILE` selects the format by the suffix of FILE."""
    shared = {Path(file).suffix for file in FILES.values()}
    assert len(shared) == len(FILES), f"choose another suffix for file_name: {FILES}"


@pytest.mark.parametrize("name", FILES)
def test_a_format_writes_its_file_and_nothing_else(tmp_path: Path, name: str) -> None:
    for _ in range(2):
        assert write(load_format(name), builders.hostile(), tmp_path, run_dir=Path("run")) == tmp_path / FILES[name]
        assert [path.name for path in tmp_path.iterdir()] == [FILES[name]]


def test_a_folder_whose_name_is_no_utf_8_is_spelled(tmp_path: Path) -> None:
    for name in SHOW_THE_FOLDER:
        write(load_format(name), builders.red(), tmp_path, run_dir=Path("r\udce9sum\udce9"))
        assert "sum" in (tmp_path / FILES[name]).read_text(encoding="utf-8")
    json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))


def test_links_in_a_folder_of_pages_stay_links(tmp_path: Path) -> None:
    form = type(load_format("json"))(Odd(), "a test")
    for _ in range(2):
        path = write(form, builders.green(), tmp_path, run_dir=Path("run"))
    assert (path / "latest").is_symlink() and (path / "first").is_dir()


def test_a_place_that_is_taken_is_named(tmp_path: Path) -> None:
    (tmp_path / "report.md").mkdir()
    (taken, written) = reports(load_formats(("markdown", "json")), builders.green(), tmp_path, run_dir=tmp_path)
    assert taken.path.name == "report.md" and taken.fault.endswith(": Is a directory")
    assert (written.path.name, written.fault) == ("report.json", "")


@pytest.mark.parametrize(
    ("file", "name"), [("a.html", "html"), ("A.HTM", "html"), ("a.md", "markdown"), ("a.json", "json"), ("a.log", "")]
)
def test_a_suffix_leads_to_a_format(file: str, name: str) -> None:
    assert format_for(Path(file)) == name
