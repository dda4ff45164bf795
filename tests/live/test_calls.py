"""A whole matrix takes few calls of Codex, and the number is known before it starts."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.journal_lines import CallLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.registry import data_folder
from tests.plugin.conftest import Matrix

CEILING = 87  # of the preset `local` with one release, as an ordinary user; raise it with the reason
PROMISES = {promise.id: promise for promise, _ in promises(data_folder("scenarios"))}


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReadJournal]:
    root = tmp_path_factory.mktemp("calls")
    cache = Path(tempfile.mkdtemp(prefix="codexsandbox-calls-", dir="/var/tmp"))
    home = root / "home"
    home.mkdir()
    try:
        yield Matrix(root=root, home=home, cache=cache).run().journal
    finally:
        shutil.rmtree(cache, ignore_errors=True)


def test_a_whole_matrix_needs_no_more_calls_than_the_ceiling(journal: ReadJournal) -> None:
    calls = [call for call in journal.calls if not call.control]
    assert len(POLICIES) < len(calls) <= CEILING


def test_every_battery_is_one_call_for_each_policy(journal: ReadJournal) -> None:
    batteries = [call for call in journal.calls if is_battery(call)]
    assert Counter(call.observation.policy for call in batteries if not call.control) == dict.fromkeys(POLICIES, 1)
    assert sum(call.control for call in batteries) == 1


def test_beside_the_batteries_only_promises_with_a_call_of_their_own_call_codex(journal: ReadJournal) -> None:
    measured = [key for key, record in journal.states().items() if record.verdict.value != "n/a"]
    own = {(key.cell, key.policy, key.promise): PROMISES[key.promise].call for key in measured}  # cases share a call
    expected = sum(call.copies * call.starts for call in own.values() if call is not None)
    assert sum(not call.control and not is_battery(call) for call in journal.calls) == expected


def is_battery(call: CallLine) -> bool:
    """Its acts are of promises without a call of their own."""
    asked = {act.rpartition("/")[0] for act in call.observation.rows} - {"base"}
    return any(name in PROMISES and PROMISES[name].call is None for name in asked)
