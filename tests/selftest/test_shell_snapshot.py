"""The shell that Codex starts for itself: it counts only where it was seen to run."""

from collections.abc import Iterator

import pytest

from pytest_codexsandbox.commands.scratch_dir import workbench
from pytest_codexsandbox.commands.selftest import rehearsals, select
from pytest_codexsandbox.matrix import scenario_index
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.selftest import GOOD, Fake
from pytest_codexsandbox.selftest.fake import mutant

PROMISE = "process.shell-of-codex-is-confined"


@pytest.fixture(scope="module")
def rehearsed() -> Iterator[object]:
    pairs = select(PROMISE, scenario_index.promises(data_folder("scenarios")))
    with workbench("shell-snapshot") as folder, rehearsals(pairs, folder) as records_of:
        yield records_of


@pytest.mark.parametrize(
    ("fake", "verdict", "says"),
    [
        (GOOD, Verdict.CONFORMS, "outside missing"),
        (mutant("open", "has an open shell", PROMISE, flaws=("snapshot:open",)), Verdict.VIOLATES, "saw: outside file"),
        (
            mutant("none", "starts no shell", PROMISE, flaws=("snapshot:none",)),
            Verdict.BROKEN,
            "Codex's own shell: in the workspace missing",
        ),
        (mutant("unkept", "keeps none", PROMISE, flaws=("snapshot:unkept",)), Verdict.BROKEN, "file, snapshots 0"),
    ],
    ids=["confined", "open", "none", "unkept"],
)
def test_a_shell_that_was_not_seen_is_no_finding(rehearsed: object, fake: Fake, verdict: Verdict, says: str) -> None:
    assert callable(rehearsed)
    ((key, record),) = rehearsed(fake, "exec").items()
    assert (key.promise, record.verdict) == (PROMISE, verdict)
    assert says in record.reason


def test_no_other_door_is_asked(rehearsed: object) -> None:
    assert callable(rehearsed)
    assert [rehearsed(GOOD, door) for door in ("sandbox", "app-server")] == [{}, {}]
