"""What is collected: the shipped scenarios, one item for each planned key, whatever the user's ini says."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
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
from pytest_codexsandbox.matrix.requirements import why_not_applicable
from pytest_codexsandbox.matrix.scenario_index import FILES, load
from pytest_codexsandbox.matrix.select import USER, Names, Selector, check_user, is_standing
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key, NotPlanned
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE
from pytest_codexsandbox.model.promise import Promise
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
TRIAL: Final = "trial"  # in a user's own test a mistake
SANDBOX: Final = "codex_sandbox"
UNWANTED: Final = "not-selected"  # stands for the key of a test that --codex-only or --codex-skip leaves out


class ScenarioModule(pytest.Module):
    """A shipped scenario file. Named by us: the user's `python_files` and `python_functions` do not apply."""

    def _getobj(self) -> Any:
        return load(self.path)

    def funcnamefilter(self, name: str) -> bool:
        return name.startswith("test_")

    def classnamefilter(self, name: str) -> bool:
        return False


class Collector:
    """Registered in every process that collects."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.run: PytestRun = get_run(config)
        self._ours: list[pytest.Item] = []
        self._standing: list[pytest.Item] = []
        self._deselection = Deselection(config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """Without a path, the session holds the scenarios and nothing else: no folder of the user's is walked."""
        if not isinstance(collector, pytest.Session) or not self.run.settings.active or paths_given(self.config):
            return None
        with usage_errors():
            self.run.base_plan()  # a wrong option is said before anything is collected
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
        """Before any plugin can drop it."""
        mark(item)
        if not is_baseline(item):  # those come and go with the results that they stand for
            self._deselection.see(keys_of([item]))

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._deselection.note(keys_of(items))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """The last word: what another plugin dropped (`--lf`, a shuffle, a slice) of the standing items comes back."""
        with deferred_errors.deferring(self.config):
            self._conclude(session)
        deferred_errors.raise_deferred(self.config, session.items)

    # ---- inside
    def _conclude(self, session: pytest.Session) -> None:
        """The plan, and whatever is wrong with it: said before the first effect."""
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
        if not ours:  # e.g. -k start: the standing items are what is left
            wanted = {key_location(item.stash[KEY]) for item in items if is_baseline(item)}
        self._standing += self._missing(session, wanted)
        kept = [item for item in self._standing if key_location(item.stash[KEY]) in wanted]
        order = self.run.order()
        self._ours = sorted([*kept, *ours], key=lambda item: order(item.stash[KEY]))
        items[:] = [*self._ours, *others]
        self._count_as_selected(kept)

    def _missing(self, session: pytest.Session, wanted: set[tuple[str, str, str]]) -> list[pytest.Item]:
        """Standing items that the paths which were given do not hold, or hold in part only."""
        planned = {key for key in self.run.base_plan().keys if is_standing(key.promise) and key_location(key) in wanted}
        missing = planned - {item.stash[KEY] for item in self._standing}
        if not missing:
            return []
        # A standing promise without a key in this plan is one item that stands for none (see `parametrize`).
        return [item for item in standing_items(session, self.run) if item.stash.get(KEY, None) in missing]

    def _missing_from(self, keys: Iterable[Key]) -> Iterator[NotPlanned]:
        """With a path, pytest collects what lies there: only that was asked for."""
        wanted = self.run.base_plan().keys if self.run.only_shipped else ()
        return self._deselection.missing(wanted, keys)

    def _count_as_selected(self, kept: list[pytest.Item]) -> None:
        """What `-k` deselected and is here again is not among the deselected: pytest's own counts add up as well."""
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
            deselected=self._missing_from(keys),
        )


def own_not_applicable(run: PytestRun, keys: Iterable[Key]) -> Iterator[tuple[str, str]]:
    """Yields the user's own tests that data rules out, with the reason: no plan holds them before collection."""
    places = {cell.id: cell.environment for cell in run.cells}
    for key in keys:
        if own := run.user_promises.get(key.promise):
            yield str(key), why_not_applicable(own, places[key.cell], platform=sys.platform)


def paths_given(config: pytest.Config) -> bool:
    return config.args_source is pytest.Config.ArgsSource.ARGS


def scenario_modules(session: pytest.Session, run: PytestRun, topics: tuple[str, ...] = ()) -> Iterator[ScenarioModule]:
    """Yields the files that promise anything in this run, suite by suite."""
    for folder, suite in run.scenario_folders.items():
        root = ROOT if suite == DEFAULT_SUITE else f"{ROOT}-{suite}"
        for path in sorted(folder.rglob(FILES)):
            name = path.relative_to(folder).as_posix()
            if str(path) in run.files and (not topics or name.split("/")[0] in topics):
                yield ScenarioModule.from_parent(session, path=path, nodeid=f"{root}/{name}")


def standing_items(session: pytest.Session, run: PytestRun) -> Iterator[pytest.Item]:
    """Start, control and canary beside a user's own tests, which do not collect them."""
    for module in scenario_modules(session, run, STANDING):
        for item in session.genitems(module):
            mark(item)
            yield item


def mark(item: pytest.Item) -> None:
    """Remember the key that the item was made for; timeouts of the user's own plugins do not apply to it."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    key = next((value for value in params.values() if isinstance(value, Key)), None)
    if key is None or KEY in item.stash:
        return
    item.stash[KEY] = msgspec.structs.replace(key, case=own_case(item, key)) if key.promise.startswith(USER) else key
    item.extra_keyword_matches.add(key.promise)  # `-k stdin-arrives`: by the name that stands in the matrix
    if hasattr(item.config.hook, "pytest_timeout_set_timer") and declared(getattr(item, "function", None)):
        item.add_marker(pytest.mark.timeout(0))


def keys_of(items: Iterable[pytest.Item]) -> list[Key]:
    return [item.stash[KEY] for item in items if KEY in item.stash]


def own_case(item: pytest.Item, key: Key) -> str:
    """What the user's own parametrization calls it: what is left of the item's id without ours."""
    words: str = getattr(item, "callspec").id  # noqa: B009 - pytest.Item has none, and this one is parametrized by us
    return nameable(words.replace(key_id(key), "").strip("-"))


def marked(item: pytest.Item) -> bool:
    """Says of itself that it is about Codex's sandbox, without asking for the fixture: it runs, as any test does."""
    return item.get_closest_marker(MARKER) is not None


def is_baseline(item: pytest.Item) -> bool:
    return KEY in item.stash and item.stash[KEY].promise.partition(".")[0] in STANDING


def drop_repeated_keys(keys: Iterable[Key]) -> Iterator[Key]:
    """A shipped scenario that another plugin repeats is one key, and each time an attempt. Two tests of the user's own
    under one key stay an error: nobody knows that they are the same."""
    seen: set[Key] = set()
    for key in keys:
        if key not in seen or key.promise.startswith(USER):
            yield key
        seen.add(key)


def key_location(key: Key) -> tuple[str, str, str]:
    return key.cell, key.door, key.policy


def parametrize(metafunc: pytest.Metafunc, name: str, keys: list[Key]) -> None:
    """Without a key the one item is dropped again: an empty list would be a skip, or what the user's ini says."""
    params = [pytest.param(key, id=key_id(key)) for key in keys] or [pytest.param(UNWANTED, id=UNWANTED)]
    metafunc.parametrize(name, params, indirect=True)


def lies_below(folder: Path, metafunc: pytest.Metafunc) -> bool:
    return metafunc.definition.path.resolve().is_relative_to(folder.resolve())


def _not_yours(test: str) -> InputError:
    """Whatever it declares, be it the id of a shipped promise: it is none of those that are planned."""
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
    """A user's own test: a promise named by its node id, under the policies that its marker names."""
    marker = next(iter(metafunc.definition.iter_markers(MARKER)), None)
    policies = (
        policies_of(marker.args, marker.kwargs, test=metafunc.definition.nodeid) if marker else (WORKSPACE_WRITE,)
    )
    slug = nameable(re.sub(r"[^a-z0-9]+", "-", metafunc.definition.nodeid.lower()).strip("-"))
    promise = Promise(
        id=f"{USER}{slug}",
        kind="capability",
        severity="medium",
        needs="sandbox",
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
