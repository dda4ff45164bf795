"""Collection: one item for each planned key of the shipped scenarios, whatever the user's ini says."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from pytest_codexsandbox.api import declared
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness.baseline_checks import STANDING
from pytest_codexsandbox.harness.planner import narrow
from pytest_codexsandbox.harness.suites.installed import installed_suites
from pytest_codexsandbox.harness.user_arguments import policies_of
from pytest_codexsandbox.harness.user_command import promise_of_test
from pytest_codexsandbox.matrix.requirements import why_not_applicable
from pytest_codexsandbox.matrix.scenario_index import FILES, load
from pytest_codexsandbox.matrix.select import USER, Names, Selector, check_user, is_standing
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key, NotPlanned
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE
from pytest_codexsandbox.model.redact import nameable
from pytest_codexsandbox.model.suite_traits import SANDBOX as DEFAULT_SUITE
from pytest_codexsandbox.pytest_plugin import deferred_errors
from pytest_codexsandbox.pytest_plugin.deselection import Deselection
from pytest_codexsandbox.pytest_plugin.fixture_owner import is_ours, use_only_our_fixture
from pytest_codexsandbox.pytest_plugin.run import PytestRun, get_run, usage_errors
from pytest_codexsandbox.pytest_plugin.worker_files import write_plan
from pytest_codexsandbox.registry import default_door

KEY: Final = pytest.StashKey[Key]()
ROOT: Final = "codex-scenarios"
MARKER: Final = "codex"
TRIAL: Final = "trial"  # an error in a user's own test
SANDBOX: Final = "codex_sandbox"
UNWANTED: Final = "not-selected"  # stands for the key of a test that --codex-only or --codex-skip leaves out


class ScenarioModule(pytest.Module):
    """Shipped scenario file. The user's `python_files` and `python_functions` do not apply to it."""

    def _getobj(self) -> Any:
        return load(self.path)

    def funcnamefilter(self, name: str) -> bool:
        return name.startswith("test_")

    def classnamefilter(self, name: str) -> bool:
        return False


class Collector:
    """Collects the scenarios and makes the plan. Registered in every process that collects."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.run: PytestRun = get_run(config)
        self._ours: list[pytest.Item] = []
        self._standing: list[pytest.Item] = []
        self._deselection = Deselection(config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """Collects the scenarios and nothing else where no path is given: no folder of the user's is walked."""
        if not isinstance(collector, pytest.Session) or not self.run.settings.active or paths_given(self.config):
            return None
        with usage_errors():
            self.run.base_plan()  # a wrong option is reported before anything is collected
            found: list[pytest.Item | pytest.Collector] = list(scenario_modules(collector, self.run))
            return pytest.CollectReport(collector.nodeid, "passed", None, found)

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        found = declared(metafunc.function)
        with deferred_errors.deferring(self.config):
            suite = installed_suites().get(found.suite) if found is not None else None
            asks = suite is not None and suite.fixture in metafunc.fixturenames
            if found is not None and suite is not None and asks and lies_below(suite.folder(), metafunc):
                use_only_our_fixture(metafunc, suite.fixture)
                parametrize(metafunc, suite.fixture, self.run.keys_of(found))
            elif TRIAL in metafunc.fixturenames and is_ours(metafunc, TRIAL):
                raise _not_yours(metafunc.definition.nodeid)
            elif SANDBOX in metafunc.fixturenames and is_ours(metafunc, SANDBOX):
                parametrize(metafunc, SANDBOX, list(user_keys(self.run, metafunc)))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> Iterator[None]:
        for item in items:
            mark(item)
        self._standing = [item for item in items if is_baseline(item)]
        result = yield
        with deferred_errors.deferring(self.config):
            self._settle(session, items)
        return result

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Marks each item before another plugin can drop it."""
        mark(item)
        if not is_baseline(item):  # these come and go with the results that depend on them
            self._deselection.see(keys_of([item]))

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._deselection.note(keys_of(items))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Completes the plan. Baseline items that another plugin dropped (`--lf`, a shuffle, a slice) come back."""
        with deferred_errors.deferring(self.config):
            self._conclude(session)
        deferred_errors.raise_deferred(self.config, session.items)

    # ---- inside
    def _conclude(self, session: pytest.Session) -> None:
        """Makes the plan, and raises every error in it before the first effect."""
        self.run.base_plan()
        if not self.run.only_shipped:
            check_user(self.run.selection, self.run.user_promises)
        if self._ours or any(KEY in item.stash for item in session.items):
            self._settle(session, session.items)
        ours = [item for item in session.items if KEY in item.stash]
        if ours:
            self.run.plan = self._plan(ours)
            _ = self.run.deviations
            if self.run.is_worker:
                write_plan(self.run.folder, self.run.worker, self.run.plan)

    def _settle(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        ours = [item for item in items if KEY in item.stash and not is_baseline(item)]
        rest = [item for item in items if KEY not in item.stash]
        active = self.run.settings.active
        chosen = [not unwanted(item) and (not active or marked(item)) for item in rest]
        others = list(compress(rest, chosen))
        left_out = [item for item, one in zip(rest, chosen, strict=True) if not one]
        if left_out and not self._ours:
            self.config.hook.pytest_deselected(items=left_out)
        wanted = {key_location(item.stash[KEY]) for item in ours}
        there = {key_location(item.stash[KEY]) for item in items if is_baseline(item)}
        wanted |= (there & self._alone) if ours else there  # e.g. -k start: the standing items are what is left
        self._standing += self._missing(session, wanted)
        kept = [item for item in self._standing if key_location(item.stash[KEY]) in wanted]
        order = self.run.order()
        self._ours = sorted([*kept, *ours], key=lambda item: order(item.stash[KEY]))
        items[:] = [*self._ours, *others]
        self._count_as_selected(kept)

    @cached_property
    def _alone(self) -> set[tuple[str, str, str]]:
        """Returns where baseline checks are selected by name, and no result that depends on them."""
        keys = self.run.base_plan().keys
        return set(map(key_location, keys)) - {key_location(key) for key in keys if not is_standing(key.promise)}

    def _missing(self, session: pytest.Session, wanted: set[tuple[str, str, str]]) -> list[pytest.Item]:
        """Returns baseline items that the given paths do not hold, or hold only in part."""
        planned = {key for key in self.run.base_plan().keys if is_standing(key.promise) and key_location(key) in wanted}
        missing = planned - {item.stash[KEY] for item in self._standing}
        if not missing:
            return []
        # A baseline promise without a key in this plan is one item without a key (see `parametrize`).
        return [item for item in standing_items(session, self.run) if item.stash.get(KEY, None) in missing]

    def _missing_from(self, keys: Iterable[Key]) -> Iterator[NotPlanned]:
        """Yields what was dropped from the plan. With a path, pytest collects what the path holds: only that was
        requested."""
        wanted = self.run.base_plan().keys if self.run.only_shipped else ()
        return self._deselection.missing(wanted, keys)

    def _count_as_selected(self, kept: list[pytest.Item]) -> None:
        """Removes baseline items that came back from the deselected items, so that pytest's own counts add up."""
        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        deselected = reporter.stats.get("deselected", []) if reporter else []
        deselected[:] = [item for item in deselected if item not in kept]

    def _plan(self, ours: list[pytest.Item]) -> Plan:
        run = self.run
        keys = tuple(drop_repeated_keys(item.stash[KEY] for item in ours))
        return narrow(
            run.base_plan(),
            keys,
            cells=run.cells,
            own=run.user_promises,
            not_applicable=dict(own_not_applicable(run, keys)),
            deselected=(*self._missing_from(keys), *run.withheld.values()),
        )


def own_not_applicable(run: PytestRun, keys: Iterable[Key]) -> Iterator[tuple[str, str]]:
    """Yields the user's own tests that data rules out, with the reason. The plan before collection does not have
    them."""
    places = {cell.id: cell.environment for cell in run.cells}
    for key in keys:
        if own := run.user_promises.get(key.promise):
            yield str(key), why_not_applicable(own, places[key.cell], platform=sys.platform)


def paths_given(config: pytest.Config) -> bool:
    return config.args_source is pytest.Config.ArgsSource.ARGS


def scenario_modules(session: pytest.Session, run: PytestRun, topics: tuple[str, ...] = ()) -> Iterator[ScenarioModule]:
    """Yields the scenario files with promises of this run, suite by suite."""
    for folder, suite in run.scenario_folders.items():
        root = ROOT if suite == DEFAULT_SUITE else f"{ROOT}-{suite}"
        for path in sorted(folder.rglob(FILES)):
            name = path.relative_to(folder).as_posix()
            if str(path) in run.files and (not topics or name.split("/")[0] in topics):
                yield ScenarioModule.from_parent(session, path=path, nodeid=f"{root}/{name}")


def standing_items(session: pytest.Session, run: PytestRun) -> Iterator[pytest.Item]:
    """Yields start, control and canary items beside a user's own tests, which do not collect them."""
    for module in scenario_modules(session, run, STANDING):
        for item in session.genitems(module):
            mark(item)
            yield item


def mark(item: pytest.Item) -> None:
    """Stores the key that the item was made for. Timeouts of the user's own plugins do not apply to scenarios."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    key = next((value for value in params.values() if isinstance(value, Key)), None)
    if key is None or KEY in item.stash:
        return
    item.stash[KEY] = msgspec.structs.replace(key, case=own_case(item, key)) if key.promise.startswith(USER) else key
    item.extra_keyword_matches.add(key.promise)  # `-k stdin-arrives`: by the name in the matrix
    if hasattr(item.config.hook, "pytest_timeout_set_timer") and declared(getattr(item, "function", None)):
        item.add_marker(pytest.mark.timeout(0))


def keys_of(items: Iterable[pytest.Item]) -> list[Key]:
    return [item.stash[KEY] for item in items if KEY in item.stash]


def own_case(item: pytest.Item, key: Key) -> str:
    """Returns the name that the user's own parametrization gives the item: its id without the part for the key."""
    words: str = getattr(item, "callspec").id  # noqa: B009 - pytest.Item has none, and this item is parametrized here
    return nameable(words.replace(key_id(key), "").strip("-"))


def marked(item: pytest.Item) -> bool:
    """Checks whether a test has the marker `codex`. Without the fixture it runs as any test does."""
    return item.get_closest_marker(MARKER) is not None


def is_baseline(item: pytest.Item) -> bool:
    return KEY in item.stash and item.stash[KEY].promise.partition(".")[0] in STANDING


def drop_repeated_keys(keys: Iterable[Key]) -> Iterator[Key]:
    """Yields each shipped key once: a scenario that another plugin repeats is one key with several attempts. Two of the
    user's own tests under one key stay an error, because they may be different tests."""
    seen: set[Key] = set()
    for key in keys:
        if key not in seen or key.promise.startswith(USER):
            yield key
        seen.add(key)


def key_location(key: Key) -> tuple[str, str, str]:
    return key.cell, key.door, key.policy


def parametrize(metafunc: pytest.Metafunc, name: str, keys: list[Key]) -> None:
    """Makes one item for each key. Without a key the one item is dropped again: an empty list would be a skip, or what
    the user's ini says."""
    params = [pytest.param(key, id=key_id(key)) for key in keys] or [pytest.param(UNWANTED, id=UNWANTED)]
    metafunc.parametrize(name, params, indirect=True)


def lies_below(folder: Path, metafunc: pytest.Metafunc) -> bool:
    return metafunc.definition.path.resolve().is_relative_to(folder.resolve())


def _not_yours(test: str) -> InputError:
    """Returns the error for the fixture `trial` in a user's own test. The test is not planned, even if it declares the
    id of a shipped promise."""
    return InputError(
        "the fixture `trial` is reserved for shipped scenarios",
        where=test,
        why="a test of your own is not in the plan of promises",
        next_step="use the fixture `codex_sandbox` in your own tests",
    )


def unwanted(item: pytest.Item) -> bool:
    return UNWANTED in getattr(getattr(item, "callspec", None), "params", {}).values()


def key_id(key: Key) -> str:
    return "-".join(word for word in (key.cell, key.door, key.policy, key.case) if word)


def user_keys(run: PytestRun, metafunc: pytest.Metafunc) -> Iterable[Key]:
    """Yields the keys of a user's own test. Its promise is named by the node id, and measured under the policies that
    the marker names."""
    marker = next(iter(metafunc.definition.iter_markers(MARKER)), None)
    policies = (
        policies_of(marker.args, marker.kwargs, test=metafunc.definition.nodeid) if marker else (WORKSPACE_WRITE,)
    )
    slug = nameable(re.sub(r"[^a-z0-9]+", "-", metafunc.definition.nodeid.lower()).strip("-"))
    promise = promise_of_test(
        f"{USER}{slug}",
        source=metafunc.definition.nodeid,
        policies=policies,
        title=metafunc.function.__name__.removeprefix("test_").replace("_", " "),
    )
    twin = run.user_promises.setdefault(promise.id, promise)
    if twin.source != promise.source:
        raise InputError(
            f"two tests of yours would both be called {promise.id}",
            where=f"{twin.source} and {promise.source}",
            why="their results could not be told apart",
            next_step="give one of them another name",
        )
    door = default_door("commands")
    names = Names(  # every name that a glob may mean: its kind decides whether it narrows
        cells=tuple(cell.id for cell in run.cells),
        promises=(*run.promises, promise.id),
        policies=run.planner.parts.policies,
        doors=tuple(dict.fromkeys((*run.matrix.doors, door))),
    )
    sieve = Selector(run.selection, names)
    for cell in run.cells:
        for through, policy in run.sides_of(cell, door, policies):
            if not sieve.why_not(cell=cell.id, door=through, policy=policy, promise=promise.id):
                yield Key(cell=cell.id, door=through, policy=policy, promise=promise.id)
