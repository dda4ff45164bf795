"""Fixtures of the unit tests."""

import pytest

from pytest_codexsandbox.journal import rejudge
from pytest_codexsandbox.model.journal_lines import SCHEMA


@pytest.fixture
def results_without_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a journal of schema 2 hold results that were made by hand, without what a judge had."""
    monkeypatch.setattr(rejudge, "KEEPS_BASIS", SCHEMA + 1)
