"""Deselected results: what pytest's own selection and other plugins dropped, how many, and which plugin dropped
them."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from pytest_codexsandbox.journal.exit_code import DESELECTED
from pytest_codexsandbox.matrix.select import is_standing
from pytest_codexsandbox.model.plan_key import Key, NotPlanned

_HOOK: Final = "pytest_collection_modifyitems"
_PASSING: Final = ("pluggy.", "pytest_codexsandbox.")  # modules that only pass a hook on
_REORDER: Final = (
    "_pytest",
    "pytest_codexsandbox",
    "pytest_randomly",
    "xdist",
    "pytest_timeout",
    "_hypothesis_pytestplugin",
    "allure_pytest",
    "__channelexec__",  # the latter: a worker of xdist
)
_BY_FUNCTION: Final = {"deselect_by_keyword": "-k", "deselect_by_mark": "-m"}


class Deselection:
    """Notes which plugin deselects items, and names at the end what is missing from the plan."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._by: dict[Key, str] = {}
        self._seen: dict[Key, None] = {}

    def see(self, keys: Iterable[Key]) -> None:
        """Notes results that were collected before any plugin could drop them."""
        self._seen |= dict.fromkeys(keys)

    def note(self, keys: Iterable[Key]) -> None:
        """Notes which plugin drops results. Call it from `pytest_deselected`: the calling plugin is found on the
        stack."""
        who = self._caller(inspect.currentframe())
        for key in keys:
            self._by.setdefault(key, who)

    def missing(self, wanted: Iterable[Key], planned: Iterable[Key]) -> Iterator[NotPlanned]:
        """Yields promises of which results are missing, by reason. `wanted`: what the options ask for."""
        there = set(planned)
        every = dict.fromkeys([*wanted, *self._seen])
        asked = _counted(every)
        for who, keys in self._reasons(key for key in every if key not in there).items():
            results = "1 result" if len(keys) == 1 else f"{len(keys):,} results"
            for promise, count in _counted(keys).items():
                part = "" if count == asked[promise] else f" ({count:,} of {asked[promise]:,})"
                yield NotPlanned(what=f"{promise}{part}", why=f"{results} dropped by {who}", kind=DESELECTED)

    # ---- who
    def _reasons(self, gone: Iterable[Key]) -> dict[str, list[Key]]:
        """Groups dropped keys by reason. Start checks and canaries follow the last result that depends on them."""
        by_place = {_place_of(key): who for key, who in self._by.items() if not is_standing(key.promise)}
        found: dict[str, list[Key]] = {}
        silent = ""
        for key in gone:
            who = self._by.get(key) or (by_place.get(_place_of(key), "") if is_standing(key.promise) else "")
            silent = silent or ("" if who else self._silent())
            found.setdefault(who or silent, []).append(key)
        return found

    def _caller(self, frame: FrameType | None) -> str:
        while frame is not None:
            name = str(frame.f_globals.get("__name__", ""))
            if not name.startswith(_PASSING):
                break
            frame = frame.f_back
        return "another plugin" if frame is None else self._named(frame)

    def _named(self, frame: FrameType) -> str:
        option: Any = self._config.option
        if frame.f_code.co_name in _BY_FUNCTION:
            word = _BY_FUNCTION[frame.f_code.co_name]
            return f"{word} {option.keyword if word == '-k' else option.markexpr!s}"
        match frame.f_globals.get("__name__"):
            case "_pytest.main":
                return f"--deselect {' '.join(option.deselect or ())}".rstrip()
            case "_pytest.cacheprovider":
                return "--last-failed (--lf)"
            case "_pytest.stepwise":
                return "--stepwise (--sw)"
        return self._place(frame.f_code.co_filename, str(frame.f_globals.get("__name__", "")))

    def _silent(self) -> str:
        """Names the likely cause of items that vanished without a deselection: an option of pytest, or the plugins that
        change items."""
        if self._config.getoption("lf", False):
            return "--last-failed (--lf)"
        if self._config.getoption("stepwise", False):
            return "--stepwise (--sw)"
        hooks = getattr(self._config.hook, _HOOK).get_hookimpls()
        others = [one.function for one in hooks if not _is_known(one.function.__module__)]
        names = sorted({self._place(one.__code__.co_filename, one.__module__) for one in others})
        return " or ".join(names) if names else "pytest or a plugin, without a message"

    def _place(self, file: str, module: str) -> str:
        path = Path(file)
        if path.is_relative_to(self._config.rootpath) and "site-packages" not in path.parts:
            return str(path.relative_to(self._config.rootpath))
        return f"the plugin {module.partition('.')[0]}" if module else "another plugin"


def _place_of(key: Key) -> tuple[str, str, str]:
    return key.cell, key.door, key.policy


def _is_known(module: str) -> bool:
    """Checks whether a plugin reorders items and drops none of them silently."""
    return module.partition(".")[0] in _REORDER


def _counted(keys: Iterable[Key]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for key in keys:
        counts[key.promise] = counts.get(key.promise, 0) + 1
    return counts
