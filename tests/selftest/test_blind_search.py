"""That nothing was left behind is said by a search only if it finds what was put there for it to find."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.commands.scratch_dir import workbench
from pytest_codexsandbox.commands.selftest import rehearsals, select
from pytest_codexsandbox.environments.agent_environment import AgentEnvironment
from pytest_codexsandbox.matrix import scenario_index
from pytest_codexsandbox.model.base_acts import SEARCHED
from pytest_codexsandbox.model.observation import OutsideView
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.selftest import named

CLEAN = "filesystem.nothing-left-behind"


def _rehearsed(name: str) -> Record:
    """What the promise says of a subject, under the first of its policies."""
    pairs = select(CLEAN, scenario_index.promises(data_folder("scenarios")))
    with workbench("blind-search") as folder, rehearsals(pairs, folder) as records_of:
        return next(iter(records_of(named([name])[0], "sandbox").values()))


def _blind(monkeypatch: pytest.MonkeyPatch, places: Sequence[str]) -> None:
    """From now on a search finds nothing in these places."""
    seeing = AgentEnvironment.survey

    def survey(self: AgentEnvironment, world: World, paths: Sequence[str], **words: Any) -> OutsideView:
        seen = seeing(self, world, paths, **words)
        found = tuple(path for path in seen.litter if path.split("/")[0].strip("@") not in places)
        return msgspec.structs.replace(seen, litter=found)

    monkeypatch.setattr(AgentEnvironment, "survey", survey)


def test_a_search_that_sees_lets_the_good_one_pass() -> None:
    assert _rehearsed("good").verdict is Verdict.CONFORMS


@pytest.mark.parametrize("places", [SEARCHED, *((place,) for place in SEARCHED)], ids=lambda places: places[-1])
def test_a_search_that_finds_nothing_at_all_is_broken(monkeypatch: pytest.MonkeyPatch, places: tuple[str, ...]) -> None:
    _blind(monkeypatch, places)
    record = _rehearsed("good")
    assert record.verdict is Verdict.BROKEN
    assert ", ".join(f"@{place}@" for place in places) in record.reason


def test_a_found_file_counts_although_another_place_was_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    _blind(monkeypatch, ("SHM",))
    record = _rehearsed("litters-workspace")
    assert (record.verdict, record.direction) == (Verdict.VIOLATES, "litter")
