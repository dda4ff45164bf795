"""A call that ended before its command said a word holds no promise, however it ended and whatever it printed."""

from collections.abc import Callable
from typing import Any

import pytest

from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.act import PathState
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.registry import data_folder
from tests.unit.diagnosis.builders import died

STANDING = ("start", "trust")
# Of what a process does its end is the evidence: there the start of its own call decides (session.rehearsal).
ASKED = [
    pair
    for pair in promises(data_folder("scenarios"))
    if pair[0].topic not in (*STANDING, "process") and pair[0].suite == "sandbox"
]
SAID = "Error: granted.db: No such file or directory, Permission denied, Read-only file system, disk I/O error"


class Unchanged(dict[str, PathState]):
    """Wherever one looks, there is the file that was there before."""

    def get(self, key: str, default: Any = None) -> PathState:
        return PathState(path=key, kind="file", size=5, sha256="as laid", text='["laid outside"]')


@pytest.mark.parametrize(("promise", "function"), ASKED, ids=[promise.id for promise, _ in ASKED])
def test_nothing_holds_in_a_call_that_never_began(promise: Promise, function: Callable[[RealTrial], None]) -> None:
    for code in (0, 1, 101, 127, 130, 137):
        looks = Unchanged()
        seen = died(SAID, code=code, before=looks, after=looks)
        for policy in promise.policies:
            for case in promise.cases:
                key = Key(cell="here", door="sandbox", policy=policy, promise=promise.id, case=case)
                trial = RealTrial(
                    key, promise, seen=(seen,), control=(seen,), started=SandboxState(state="on", why="?")
                )
                function(trial)
                assert not all(row.held for row in trial.rows), (code, policy, case, trial.rows)
