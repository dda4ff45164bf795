"""Random edits of real journals: none makes a result greener, or the exit code better, without an error."""

from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from pytest_codexsandbox.model.ledger import ReadJournal
from tests.unit.journal import builders


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("edited") / "journal.ndjson"


@cache
def _as_written(name: str, file: Path) -> ReadJournal:
    return builders.read(builders.lines(name), file)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(builders.NAMES), count=st.integers(1, 3), chance=st.randoms(use_true_random=False))
def test_no_edit_makes_anything_greener(name: str, count: int, chance: Random, file: Path) -> None:
    before, found = _as_written(name, file), builders.lines(name)
    note("; ".join(builders.edit(found, chance) for _ in range(count)))
    assert builders.made_greener(before, found, file) == ""


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(builders.NAMES), chance=st.randoms(use_true_random=False))
def test_no_edit_of_a_result_is_saved_by_an_end_that_fits(name: str, chance: Random, file: Path) -> None:
    """One edit of a result. The counts, the exit code and the reasons are then written anew, so that they fit."""
    before, found = _as_written(name, file), builders.lines(name)
    own = chance.choice(builders.results(found))
    note(builders.edit([own], chance))
    try:
        builders.ended(found)
    except (ValueError, KeyError, TypeError):
        return  # no result any more
    assert builders.made_greener(before, found, file) == ""


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(builders.NAMES), count=st.integers(1, 2), chance=st.randoms(use_true_random=False))
def test_no_edit_of_the_plan_is_saved_by_digests_that_fit(name: str, count: int, chance: Random, file: Path) -> None:
    """Edits of the plan, and of the facts that it is compared with. Every digest, the counts and the exit code are then
    written anew, so that they fit."""
    before, found = _as_written(name, file), builders.lines(name)
    own = [line for line in found if line["line"] in ("run", "plan", "environment", "subject")]
    note("; ".join(builders.edit(own, chance) for _ in range(count)))
    try:
        builders.ended(builders.sealed(found))
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return  # no plan any more
    assert builders.made_greener(before, found, file) == ""
