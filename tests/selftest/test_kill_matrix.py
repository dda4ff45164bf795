"""The kill matrix: the whole machinery against subjects that are known to be bad. It needs no Codex."""

from collections.abc import Iterator

import pytest

from pytest_codexsandbox.commands.scratch_dir import workbench
from pytest_codexsandbox.commands.selftest import Pairs, rehearsals, riding, select, through
from pytest_codexsandbox.matrix import scenario_index
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.selftest import AT_ONE_DOOR, FAKES, Fake
from pytest_codexsandbox.selftest.kill_rules import KillResult, faults


@pytest.fixture(scope="session")
def pairs() -> Pairs:
    return select("*", scenario_index.promises(data_folder("scenarios")))


@pytest.fixture(scope="session")
def rehearsed(pairs: Pairs) -> Iterator[object]:
    """One environment and one set of controls for all subjects of this process."""
    with workbench("kill-matrix") as folder, rehearsals(pairs, folder) as records_of:
        yield records_of


@pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.name)
def test_a_bad_subject_is_caught_and_the_good_one_passes(fake: Fake, pairs: Pairs, rehearsed: object) -> None:
    assert callable(rehearsed)
    promises = tuple(promise for promise, _ in pairs)
    killing = KillResult(fakes=(fake,), promises=promises, records={fake.name: rehearsed(fake, "sandbox")})
    assert [f"{fault.kind}: {fault.why}" for fault in faults(killing, whole=False)] == []


def at_doors() -> list[tuple[str, Fake]]:
    everything = scenario_index.promises(data_folder("scenarios"))
    return [(door, fake) for door in AT_ONE_DOOR for fake in through(door, FAKES, everything, everything)]


@pytest.mark.parametrize(("door", "fake"), at_doors(), ids=lambda value: getattr(value, "name", value))
def test_so_it_is_through_the_other_doors(door: str, fake: Fake, pairs: Pairs, rehearsed: object) -> None:
    assert callable(rehearsed)
    promises = tuple(promise for promise, _ in riding(pairs, door))
    killing = KillResult(fakes=(fake,), promises=promises, records={fake.name: rehearsed(fake, door)})
    assert [f"{fault.kind}: {fault.why}" for fault in faults(killing, whole=False)] == []


def test_through_each_door_a_fake_breaks_each_topic_of_that_door(pairs: Pairs) -> None:
    for door in AT_ONE_DOOR:
        topics = {promise.topic for promise, _ in riding(pairs, door)}
        asked = through(door, FAKES, pairs, pairs)
        assert topics <= {name.partition(".")[0] for fake in asked for name in fake.caught_by}, door


def test_every_promise_is_named_by_a_subject_that_it_must_catch(pairs: Pairs) -> None:
    """That each one named really does catch it is the test above, so no promise is left that catches nothing."""
    at_one_door = [fake for fakes in AT_ONE_DOOR.values() for fake in fakes]
    named = {name for fake in (*FAKES, *at_one_door) for name in fake.caught_by}
    promises = {promise.id for promise, _ in pairs}
    assert promises - named == set()
    assert named - promises == set()
