"""One planner: `codexsandbox plan` and a run with the same words and facts have one plan, key by key."""

import argparse
import itertools
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from _pytest.config import _prepareconfig
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.commands import matrix_options
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness.durations import DurationModel
from pytest_codexsandbox.harness.planner import Planner, apply_budget, narrow, seconds_of
from pytest_codexsandbox.harness.planning_facts import PlanningFacts
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.matrix.budget import Budget
from pytest_codexsandbox.matrix.expand import Expanded
from pytest_codexsandbox.matrix.plan import digest
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.pytest_plugin.run_planner import run_request
from pytest_codexsandbox.pytest_plugin.settings import settings as settings_of
from tests.unit.matrix.builders import plan

MATRIX = """
environments = ["local"]
releases = ["0.163.0", "0.136.0"]
doors = ["app-server", "sandbox"]
policies = ["workspace-write", "read-only"]
"""
GIVEN: dict[str, tuple[str, ...]] = {
    "release": ("0.163.0", "0.136.0", "0.136.0,0.40.0"),
    "bin": ("/bin/true", "mine=/bin/true@0.150.0"),
    "only": ("process.*,sqlite.*", "read-only", "*~codex-0.163.0", "sandbox", "generator.parses"),
    "skip": ("network.*", "workspace-write", "*~codex-0.136.0"),
    "generator": ("good", "none", "multica-0.4.3"),
    "budget": ("5m", "40m", "9h"),
    "pairs": ("2",),
    "docker-hosts": ("unix:///x",),
}


class PlannerWithFacts(Planner):
    """Asks nothing of this machine. Turns the cells round, as a hook may."""

    def __init__(self, request: RunRequest, *, turn: bool) -> None:
        super().__init__(request)
        self._turn = turn

    def look_up(self) -> PlanningFacts:
        return PlanningFacts()

    def change_cells(self, found: Expanded) -> Expanded:
        return msgspec.structs.replace(found, cells=found.cells[::-1]) if self._turn else found


def options() -> st.SearchStrategy[list[str]]:
    """Random options that both command lines take."""
    word = st.one_of(*(st.sampled_from([f"--codex-{name}={one}" for one in among]) for name, among in GIVEN.items()))
    return st.lists(word, unique=True, max_size=4)


def of_command(preset: str, words: Sequence[str]) -> RunRequest:
    parser = argparse.ArgumentParser()
    matrix_options.add(parser)
    return matrix_options.request(parser.parse_args([preset, *words]))


def of_pytest(preset: str, words: Sequence[str], *more: str) -> RunRequest:
    ini = str(Path(preset).with_name("pytest.ini"))
    config = _prepareconfig(["-p", "codexsandbox", "-c", ini, f"--codex-matrix={preset}", *words, *more])
    try:
        return run_request(config, settings_of(config))
    finally:
        config._ensure_unconfigure()


def made(request: RunRequest, *, turn: bool) -> Plan | str:
    try:
        return PlannerWithFacts(request, turn=turn).plan
    except InputError as fault:
        return str(fault)


@pytest.fixture
def preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    file = tmp_path / "mine.toml"
    file.write_text(MATRIX)
    return str(file)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=options(), turn=st.booleans())
def test_the_same_words_ask_for_the_same_keys_in_the_same_order(preset: str, words: list[str], turn: bool) -> None:
    command, run, dry = of_command(preset, words), of_pytest(preset, words), of_pytest(preset, words, "--collect-only")
    plans = [made(request, turn=turn) for request in (command, run, dry)]
    first, *others = plans
    assert [one == first for one in others] == [True, True]
    if isinstance(first, Plan):
        assert {digest(one) for one in plans if isinstance(one, Plan)} == {digest(first)}


@pytest.mark.parametrize(
    "word",
    ["only=process.*,", "skip=,a", "release= 0.163.0 ,0.163.0", "bin= mine=/bin/true ", "generator= good", "only=,"],
)
def test_oddly_written_values_mean_the_same_to_both(preset: str, word: str) -> None:
    def asked(make: Callable[[str, Sequence[str]], RunRequest]) -> RunRequest | str:
        try:
            return msgspec.structs.replace(make(preset, [f"--codex-{word}"]), typed=())
        except InputError as fault:
            return str(fault)

    assert asked(of_command) == asked(of_pytest)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=options(), seed=st.integers())
def test_a_run_has_the_composed_plan_for_every_order_of_items(preset: str, words: list[str], seed: int) -> None:
    planner = PlannerWithFacts(of_command(preset, words), turn=False)
    try:
        whole = planner.plan
    except InputError:
        return
    keys = sorted(random.Random(seed).sample(whole.keys, len(whole.keys)), key=planner.order())
    assert narrow(whole, keys, cells=planner.cells, own={}, not_applicable={}, deselected=()) == whole


def test_keys_stand_by_cell_door_policy_baseline_promise_and_case(preset: str) -> None:
    words = ["--codex-generator=none", "--codex-generator=good", "--codex-release=0.163.0,0.136.0"]
    planner = PlannerWithFacts(of_command(preset, words), turn=False)
    cells = {cell.id: number for number, cell in enumerate(planner.plan.cells)}
    doors = ("app-server", "sandbox", "generator")
    policies, promises = planner.parts.policies, tuple(planner.parts.promises)

    def place(key: Key) -> tuple[object, ...]:
        where = cells[key.cell], doors.index(key.door), policies.index(key.policy)
        return (*where, promises.index(key.promise), key.case)

    keys = [key for key in planner.plan.keys if key.door in doors]  # another suite has a door of its own
    assert all(place(one) < place(next_one) for one, next_one in itertools.pairwise(keys))
    assert len({key.cell for key in keys}) == 4
    assert {key.door for key in keys} == set(doors)
    assert all(promise.startswith(("start.", "trust.")) for promise in promises[:2])


def test_a_budget_and_generators_go_together(preset: str) -> None:
    words = ["--codex-generator=good", "--codex-only=generator.parses", "--codex-budget=9h"]
    assert len(PlannerWithFacts(of_pytest(preset, words), turn=False).plan.cells) == 2


def test_seconds_are_calls_times_what_a_call_takes() -> None:
    found = plan()
    (cell,) = found.cells
    known = PlanningFacts(learned=DurationModel(runs=1, cells={cell.id: 2.5}))
    assert seconds_of(found, known) == {cell.id: 5.0}  # one battery for each of two policies
    assert apply_budget(found, Budget(seconds=6, text="6s"), known) is found
    assert apply_budget(found, None, known) is found
