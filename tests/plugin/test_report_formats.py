"""Report formats of other distributions: found by entry point, selected by name, with a file or a folder."""

import re
import subprocess
from pathlib import Path

import pytest

from pytest_codexsandbox.selftest.fake_codex_script import write
from pytest_codexsandbox.selftest.fake_codexes import ALLOW_ALL
from tests.plugin.builders import distribution
from tests.plugin.conftest import Done, Matrix

REPORTERS = """
class Tally:
    name, file_name = "tally", "tally.csv"

    def render(self, journal, out_dir, *, run_dir):
        rows = [f"{word},{count}" for word, count in journal.counts().items()]
        (out_dir / self.file_name).write_text("\\n".join([f"run,{run_dir}", *rows]) + "\\n")


class Pages:
    name, file_name = "pages", "pages"

    def render(self, journal, out_dir, *, run_dir):
        folder = out_dir / self.file_name
        (folder / "cells").mkdir(parents=True)
        (folder / "index.html").write_text(repr(journal))
        for number, cell in enumerate(journal.plan.cells):
            (folder / "cells" / f"{number}.html").write_text(cell.id)


class Fails:
    name, file_name = "fails", "fails.txt"

    def render(self, journal, out_dir, *, run_dir):
        (out_dir / "half.txt").write_text("half")
        raise RuntimeError("no template")


class Shouts(Fails):
    name, file_name = "shouts", "shouts.txt"

    def render(self, journal, out_dir, *, run_dir):
        raise RuntimeError("\\x1b[31mred\\x07\\nanother line")


class Forges(Tally):
    name, file_name = "forges", "forges.txt"

    def render(self, journal, out_dir, *, run_dir):
        super().render(journal, out_dir, run_dir=run_dir)
        journal.plan.cells[0].axes["distro"] = "forged"


class Control(Tally):
    name, file_name = "control", "a\\x1b[31m.txt"


class Exits(Fails):
    name = file_name = "exits"

    def render(self, journal, out_dir, *, run_dir):
        raise SystemExit(0)


class Litters(Tally):
    name, file_name = "litters", "litters.log"

    def render(self, journal, out_dir, *, run_dir):
        super().render(journal, out_dir, run_dir=run_dir)
        (out_dir / "style.css").write_text("")


class Table(Tally):
    name, file_name = "table", "table.log"


class NoReporter:
    pass


class Index(Tally):
    name, file_name = "index", "index.html"
"""
NAMES = {
    "tally": "Tally", "pages": "Pages", "fails": "Fails", "exits": "Exits", "litters": "Litters", "table": "Table",
    "none": "NoReporter", "index": "Index", "gone": "Gone",
    "shouts": "Shouts", "forges": "Forges", "control": "Control",
}  # fmt: skip
ONLY = "--codex-only=process.exit-code-kept"


class Installed:
    """A matrix and a command line that see the distribution `acme-reports`."""

    def __init__(self, matrix: Matrix, folder: Path, binary: Path) -> None:
        place = distribution(folder, name="acme-reports", module="acme_reports", text=REPORTERS, reporters=NAMES)
        self.matrix, self.binary, self.env = matrix, binary, {"PYTHONPATH": str(place)}

    def run(self, formats: str, *words: str) -> Done:
        asked = (ONLY, f"--codex-bin={self.binary}", f"--codex-report={formats}", *words)
        return self.matrix.run(*asked, env=self.env, plugins=("xdist.plugin",))

    def command(self, *words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
        return self.matrix.codexsandbox(*words, folder=cwd, env=self.env)


@pytest.fixture
def installed(matrix: Matrix, tmp_path: Path) -> Installed:
    return Installed(matrix, tmp_path / "site", write(tmp_path, ALLOW_ALL))


@pytest.fixture
def old(installed: Installed) -> Path:
    """The folder of a run without reports."""
    return installed.run("html").reports[0].parent


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_a_run_writes_a_file_and_a_folder_of_another_distribution(
    installed: Installed, workers: tuple[str, ...]
) -> None:
    run = installed.run("tally,html,pages", *workers)
    assert run.code == 1, run.out
    folder = run.reports[0].parent
    near = folder.relative_to(run.folder)
    lines = [line for line in run.out.splitlines() if line.startswith("report: ")]
    assert lines == [f"report: {near / name}" for name in ("tally.csv", "index.html", "pages")]
    assert (folder / "tally.csv").read_text().splitlines()[:2] == [
        f"run,{near}",
        f"conforms,{run.journal.counts()['conforms']}",
    ]
    assert (folder / "pages" / "cells" / "0.html").read_text() == run.journal.plan.cells[0].id
    assert list(folder.glob(".*")) == []


def test_a_reporter_sees_no_private_path(installed: Installed) -> None:
    run = installed.run("pages")
    raw = run.reports[0].read_text()
    shown = (run.reports[0].parent / "pages" / "index.html").read_text()
    for private in (installed.matrix.home, installed.matrix.cache):
        assert str(private) in raw
        assert str(private) not in shown


def test_a_reporter_that_changes_the_journal_changes_no_other_report(installed: Installed, old: Path) -> None:
    run = installed.run("forges,json")
    assert "forged" not in run.out
    assert "forged" not in (run.reports[0].parent / "report.json").read_text()
    done = installed.command("report", str(old), "--format", "forges,json,terminal", "-o", "out", cwd=old)
    assert done.returncode == 0, done.stderr
    for name in ("report.json", "report.txt"):
        assert "forged" not in (old / "out" / name).read_text()


def test_an_old_run_is_shown_in_both(installed: Installed, old: Path) -> None:
    assert installed.command("report", str(old), "--format", "tally", cwd=old).stdout.startswith(f"run,{old}\n")

    done = installed.command("report", str(old), "--format", "tally,pages,json", "-o", "reports", cwd=old)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["tally: reports/tally.csv", "pages: reports/pages", "json: reports/report.json"]
    assert (old / "reports" / "pages" / "cells" / "0.html").is_file()

    for _ in range(2):
        done = installed.command("report", str(old), "--format", "pages", "-o", "site", cwd=old)
        assert done.stdout == "pages: site/pages\n"
    assert sorted(path.name for path in (old / "site" / "pages").iterdir()) == ["cells", "index.html"]


def test_files_of_the_user_in_a_folder_of_pages_stay(installed: Installed, old: Path) -> None:
    mine = old / "site" / "pages" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert installed.command("report", str(old), "--format", "pages", "-o", "site/", cwd=old).returncode == 0
    assert mine.read_text() == "mine"
    assert (mine.parent / "index.html").is_file()


@pytest.mark.parametrize(
    ("file", "name"), [("a.csv", "tally"), ("a.html", "html"), ("a.htm", "html"), ("a", "terminal")]
)
def test_the_name_of_a_file_says_the_format(installed: Installed, old: Path, file: str, name: str) -> None:
    assert installed.command("report", str(old), "-o", file, cwd=old).stdout == f"{name}: {file}\n"


def test_a_name_of_a_file_that_fits_two_formats_is_an_error(installed: Installed, old: Path) -> None:
    done = installed.command("report", str(old), "-o", "a.log", cwd=old)
    assert done.returncode == 4
    assert ".log files: litters, table" in done.stderr


def test_the_help_of_the_command_lists_every_installed_format(installed: Installed, tmp_path: Path) -> None:
    shown = installed.command("report", "--help", cwd=tmp_path).stdout.partition("installed formats")[2]
    listed = dict(line.split(maxsplit=1) for line in shown.splitlines()[1:])
    assert listed.keys() == {"html", "json", "markdown", *NAMES}
    assert listed["pages"] == "acme-reports 1.2"
    assert listed["html"].startswith("pytest-codexsandbox ")


def test_a_folder_has_no_place_on_the_screen(installed: Installed, old: Path) -> None:
    done = installed.command("report", str(old), "--format", "pages", cwd=old)
    assert done.returncode == 4
    assert "'pages'" in done.stderr and "-o reports/" in done.stderr


FAULTS = {
    "fails": ("fails.txt", "RuntimeError: no template, "),
    "exits": ("exits", "SystemExit: 0, "),
    "shouts": ("shouts.txt", "RuntimeError: \\x1b[31mred\\x07\\nanother line, "),
    "litters": ("litters.log", "it has to write litters.log alone, and wrote litters.log, style.css"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_reporter_that_fails_loses_neither_the_run_nor_other_reports(installed: Installed, name: str) -> None:
    file, why = FAULTS[name]
    run = installed.run(f"{name},markdown")
    folder = run.reports[0].parent
    assert run.code == 1, "a violated promise comes first"
    assert re.search(rf"{re.escape(file)} [a-z ]+: {re.escape(why)}", run.out)
    assert f"(entry point '{name}' of acme-reports 1.2)" in run.out
    assert re.search(rf"also 11: [a-z ]+: {re.escape(file)}", run.out)
    assert run.journal.end is not None and run.journal.end.exit == 1
    assert (folder / "report.md").is_file()
    assert not (folder / file).exists() and list(folder.glob(".*")) == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_reporter_that_fails_is_an_error_of_the_command(installed: Installed, old: Path, name: str) -> None:
    done = installed.command("report", str(old), "--format", f"{name},markdown", "-o", "out", cwd=old)
    assert done.returncode == 4
    assert done.stdout == "markdown: out/report.md\n"
    assert f"report '{name}'" in done.stderr
    assert f"\n  where  entry point '{name}' of acme-reports 1.2" in done.stderr
    assert FAULTS[name][1] in done.stderr
    assert [path.name for path in (old / "out").iterdir()] == ["report.md"]


@pytest.mark.parametrize(
    ("formats", "said"),
    [
        ("page", "there is no report format 'page'"),
        ("page", "did you mean 'pages'?"),
        ("none", "the report format 'none' is not a Reporter"),
        ("none", "entry point 'none' of acme-reports 1.2"),
        ("gone", "the report format 'gone' cannot be loaded"),
        ("control", "its file_name is 'a\\x1b[31m.txt'; it must not have control characters"),
        ("html,index", "the report formats 'html' and 'index' write the same file: index.html"),
    ],
)
def test_a_format_that_cannot_be_used_is_refused_before_anything_runs(
    installed: Installed, old: Path, formats: str, said: str
) -> None:
    run = installed.run(formats)
    assert run.code == 4, run.out
    assert said in run.out and run.reports == []
    done = installed.command("report", str(old), "--format", formats, "-o", "out/", cwd=old)
    assert done.returncode == 4
    assert said in done.stderr and not (old / "out").exists()


def test_a_name_that_two_distributions_have_is_refused(installed: Installed, old: Path, tmp_path: Path) -> None:
    distribution(
        tmp_path / "site", name="other-reports", module="other_reports", text=REPORTERS, reporters={"pages": "Pages"}
    )
    run = installed.run("pages")
    assert run.code == 4, run.out
    assert "report format 'pages'" in run.out
    for name in ("acme-reports 1.2", "other-reports 1.2"):
        assert f"entry point 'pages' of {name}" in run.out
