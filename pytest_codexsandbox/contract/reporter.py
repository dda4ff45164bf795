"""Reporter contract: tests that every report format must pass. Your test module subclasses it and defines two fixtures:

class TestMyFormat(ReporterContract):
    @pytest.fixture
    def reporter(self) -> Reporter: ...
    @pytest.fixture
    def journal(self) -> ReadJournal: ...    # of any run: pytest_codexsandbox.journal.store.read(FOLDER)
"""

from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.protocols import Reporter

_RUN: Final = Path("runs/1")


class ReporterContract:
    def test_it_writes_its_file_or_folder_and_nothing_else(
        self, reporter: Reporter, journal: ReadJournal, tmp_path: Path
    ) -> None:
        reporter.render(journal, tmp_path, run_dir=_RUN)
        assert [path.name for path in tmp_path.iterdir()] == [reporter.file_name]

    def test_its_file_has_a_plain_name(self, reporter: Reporter) -> None:
        assert Path(reporter.file_name).name == reporter.file_name
        assert not reporter.file_name.startswith(".")
        assert reporter.file_name.isprintable()

    def test_it_renders_a_run_that_was_killed(self, reporter: Reporter, journal: ReadJournal, tmp_path: Path) -> None:
        """The journal of a killed run has no end, and may have no results."""
        reporter.render(_killed(journal), tmp_path, run_dir=_RUN)
        assert (tmp_path / reporter.file_name).exists()

    def test_it_does_not_change_the_journal(self, reporter: Reporter, journal: ReadJournal, tmp_path: Path) -> None:
        """Other reports and the closing screen use the same object."""
        before = _encoded(journal)
        reporter.render(journal, tmp_path, run_dir=_RUN)
        assert _encoded(journal) == before

    def test_it_may_be_called_again(self, reporter: Reporter, journal: ReadJournal, tmp_path: Path) -> None:
        """A run whose end is written twice is rendered twice."""
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
            reporter.render(journal, tmp_path / name, run_dir=_RUN)
            assert (tmp_path / name / reporter.file_name).exists()


def _killed(journal: ReadJournal) -> ReadJournal:
    return msgspec.structs.replace(journal, records=(), environments=(), subjects=(), calls=(), end=None)


def _encoded(journal: ReadJournal) -> bytes:
    return msgspec.json.encode(journal, enc_hook=repr)
