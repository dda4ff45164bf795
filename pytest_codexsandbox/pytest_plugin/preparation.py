"""Preparation: obtains what a run needs before its first test, with visible progress.

What is unavailable is no error here: each of its cells reports it.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import pytest

from pytest_codexsandbox.errors import HarnessError, InputError, Unavailable
from pytest_codexsandbox.harness import backends, feasibility
from pytest_codexsandbox.harness.codex_resolver import CodexResolver
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet, tools
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.system.progress import progress_on


@contextmanager
def on_screen(config: pytest.Config) -> Iterator[None]:
    """Lets progress through pytest's capture."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        yield
        return
    with capture.global_and_fixture_disabled():
        yield


def have_tools(config: pytest.Config, plan: Plan, writers: GeneratorSet) -> None:
    """Installs the generators that come from a registry."""
    asked = tools(plan, writers)
    if not asked:
        return
    from pytest_codexsandbox.harness.generators.case_runner import (
        installed,  # expensive to import, and only for generators
    )

    with on_screen(config):
        for one in asked:
            with suppress(Unavailable, HarnessError):
                installed(one, cache_folder(), progress=progress_on(sys.stderr))


def have_environments(config: pytest.Config, plan: Plan) -> None:
    """Makes or downloads what the plan's environments need."""
    with on_screen(config):
        backends.prepare(plan.cells, sys.stderr)


def have_subjects(config: pytest.Config, plan: Plan, resolver: CodexResolver) -> dict[SubjectSpec, Unavailable]:
    """Downloads each Codex. Returns why some are unavailable. Raises InputError for a binary that is no Codex."""
    faults: dict[SubjectSpec, Unavailable] = {}
    with on_screen(config):
        for spec in dict.fromkeys(cell.subject for cell in plan.cells):
            try:
                with suppress(HarnessError):
                    resolver.resolve(spec, progress=progress_on(sys.stderr))
            except Unavailable as fault:
                faults[spec] = fault
    return faults


def nothing_to_measure(plan: Plan, faults: Mapping[SubjectSpec, Unavailable]) -> InputError | None:
    """Returns the error of a run in which no Codex is available; None where some cells can be measured."""
    subjects = {cell.subject for cell in plan.cells}
    if not faults or len(faults) < len(subjects) or len(plan.not_applicable) >= len(plan.keys):
        return None
    parts = {spec.label: feasibility.lack(feasibility.release(spec.label), why) for spec, why in faults.items()}
    return feasibility.nothing(plan.preset, tuple(parts.values()))
