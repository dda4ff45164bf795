"""The kill matrix: the whole machinery against subjects that are known to be bad. It needs no Codex."""

from collections.abc import Iterator

import pytest

from pytest_codexsandbox.commands.selftest import Pairs, rehearsals, select
from pytest_codexsandbox.commands.workbench import workbench
from pytest_codexsandbox.matrix import survey
from pytest_codexsandbox.registry import shipped
from pytest_codexsandbox.subjects import FAKES, Fake
from pytest_codexsandbox.subjects.killing import Killing, faults


@pytest.fixture(scope="session")
def pairs() -> Pairs:
    return select("*", survey.promises(shipped("scenarios")))


@pytest.fixture(scope="session")
def rehearsed(pairs: Pairs) -> Iterator[object]:
    """One environment and one set of controls for all subjects of this process."""
    with workbench("kill-matrix") as folder, rehearsals(pairs, folder) as records_of:
        yield records_of


@pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.name)
def test_a_bad_subject_is_caught_and_the_good_one_passes(fake: Fake, pairs: Pairs, rehearsed: object) -> None:
    assert callable(rehearsed)
    promises = tuple(promise for promise, _ in pairs)
    killing = Killing(fakes=(fake,), promises=promises, records={fake.name: rehearsed(fake)})
    assert [f"{fault.kind}: {fault.why}" for fault in faults(killing, whole=False)] == []


def test_every_promise_is_named_by_a_subject_that_it_must_catch(pairs: Pairs) -> None:
    """That each one named really does catch it is the test above, so no promise is left that catches nothing."""
    named = {name for fake in FAKES for name in fake.caught_by}
    promises = {promise.id for promise, _ in pairs}
    assert promises - named == set()
    assert named - promises == set()
