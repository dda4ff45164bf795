"""Show what a run would do, and start nothing.

Prints cells and promises, the calls of Codex with their duration, the downloads, and what is left out with the
reason. --update-lock writes the cells picked by pairs to a file beside the matrix file.

Like a run, it queries the container engine for its images, which takes a few seconds. For missing images it checks
whether registries (through the engine) and the archives of distributions answer. It names each of them. It queries pip
and npm only about a release that data does not know (`codexsandbox capabilities --list`).
Options in pytest's configuration files and in PYTEST_ADDOPTS count as in a run, but not for --update-lock. It starts
pytest where such options exist, or plugins and conftest files with a hook that changes the cells.
When nothing can be measured on this machine (no engine answers, no such release), it ends with one error and code 4.
"""

import argparse
import json
from typing import Any, Final

import msgspec

from pytest_codexsandbox.commands import matrix_options, pytest_request
from pytest_codexsandbox.commands.cells_hook import CommandPlanner, pytest_words
from pytest_codexsandbox.commands.plan_text import Shown, as_text
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.generators.third_party.install import forecast_of
from pytest_codexsandbox.harness import option_conflicts
from pytest_codexsandbox.harness.backends import stock
from pytest_codexsandbox.harness.durations import work_of
from pytest_codexsandbox.harness.planner import Planner, refuse_conflicts, seconds_of
from pytest_codexsandbox.harness.planning_facts import local_environments
from pytest_codexsandbox.matrix import generator_cells, lockfile
from pytest_codexsandbox.matrix.container_cells import CellChooser
from pytest_codexsandbox.matrix.expand import arch_of
from pytest_codexsandbox.matrix.plan import digest
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.download_estimate import forecast

EXAMPLES: Final = (
    "codexsandbox plan",
    "codexsandbox plan releases",
    "codexsandbox plan pull-request --codex-budget 10m",
    "codexsandbox plan profiles --codex-only '*~docker-default~*'",
    "codexsandbox plan --codex-release 0.136.0,0.163.0 --codex-only 'sqlite.*'",
    "codexsandbox plan ./my-matrix.toml --json",
    "codexsandbox plan ./my-matrix.toml --update-lock",
)


def add(parser: argparse.ArgumentParser) -> None:
    matrix_options.add(parser)
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="every cell, and every promise with its description"
    )
    parser.add_argument("--json", action="store_true", help="for programs: every key, act by act")
    parser.add_argument("--update-lock", action="store_true", help="write the cells picked by pairs to a lock file")


def run(options: argparse.Namespace) -> int:
    if options.update_lock:
        print(update_lock(Planner(matrix_options.request(options))))
        return 0
    shown = what_to_show(CommandPlanner(pytest_request.request(options), pytest_words(options)))
    print(as_json(shown) if options.json else as_text(shown, verbose=options.verbose))
    return 0


def what_to_show(planner: Planner) -> Shown:
    plan, facts, parts = planner.plan, planner.facts, planner.parts
    cache = cache_folder()
    subjects = {cell.subject.label: cell.subject for cell in plan.cells}
    tools = generator_cells.tools(plan, parts.writers) if parts.generators else ()
    unlocked, stand_ins = _unlocked(planner)
    return Shown(
        plan=plan,
        downloads={label: facts.forecasts.get(label) or forecast(spec, cache) for label, spec in subjects.items()},
        tools={one.name: forecast_of(one.declaration, cache) for one in tools},
        seconds=seconds_of(plan, facts),
        learned=facts.learned.runs,
        unlocked=unlocked,
        stand_ins=stand_ins,
        stock=stock(plan.cells, facts.asked),
        asked=facts.asked,
    )


def as_json(shown: Shown) -> str:
    plan = shown.plan
    cells = [
        {
            "id": cell.id,
            "axes": cell.axes,
            "codex": cell.subject.label,
            "synthetic": cell.environment.synthetic,
            "engine": cell.environment.engine_host,
            "seconds": round(shown.seconds[cell.id], 1),
        }
        for cell in plan.cells
    ]
    promises = [
        {"id": one.id, "title": one.title, "kind": one.kind, "severity": one.severity, "source": one.source}
        for one in plan.promises
    ]
    coverage, work = plan.coverage, work_of(plan)
    document: dict[str, Any] = {
        "preset": plan.preset,
        "digest": digest(plan),
        "cells": cells,
        "promises": promises,
        "keys": plan.keys,
        "calls": calls(plan),
        "stories": sum(one.stories for one in work.values()),
        "strains": sum(one.strains for one in work.values()),
        "seconds": round(sum(shown.seconds.values()), 1),
        "learned_from": shown.learned,
        "downloads": shown.downloads,
        "tools": shown.tools,
        "stock": shown.stock,
        "asked": shown.asked,
        "coverage": coverage,
        "covered": coverage.covered(cell.axes for cell in plan.cells) if coverage else None,
        "not_applicable": plan.not_applicable,
        "not_planned": plan.not_planned,
    }
    return json.dumps(msgspec.to_builtins(document), indent=2)


def calls(plan: Plan) -> int:
    """Returns how often the plan would start Codex."""
    return sum(one.calls for one in work_of(plan).values())


# ---- the lock
def update_lock(planner: Planner) -> str:
    """Writes the lock file as if this machine lacked nothing: the file is for every machine."""
    asked, matrix = planner.request, planner.parts.matrix
    refuse_conflicts(asked, matrix)
    option_conflicts.refuse_beside_update_lock(asked.typed)
    if asked.releases or asked.binaries:
        raise InputError(
            "--update-lock writes the cells of the matrix file, not those of other options",
            next_step="leave out --codex-release and --codex-bin",
        )
    strength = _strength(planner)
    if not strength or matrix.containers is None or matrix.path is None:
        raise InputError(
            f"{matrix.preset} picks no cells: there is nothing to lock",
            next_step="write pairs = 2 into its [containers], or --codex-pairs 2",
        )
    path = lockfile.path_of(matrix.path)
    before = set(matrix.lock.cells) if matrix.lock else set()
    rows = _chooser(planner).to_lock(strength)
    lockfile.write(path, strength, rows)
    after = set(rows)
    return f"{path}: {len(after)} cells, {len(after - before)} of them new, {len(before - after)} gone"


def _unlocked(planner: Planner) -> tuple[int, int]:
    """Returns how many cells --update-lock would add, and how many replace cells that are unavailable here."""
    plan, asked = planner.plan, planner.request
    if plan.coverage is None or asked.releases or asked.binaries:
        return 0, 0
    choice, strength = _chooser(planner), _strength(planner)
    kept = {choice.id_of(row) for row in choice.locked(strength)}
    wanted = {choice.id_of(row) for row in choice.picked(strength).rows}
    planned = {cell.id for cell in plan.cells if cell.environment.container is not None}
    return len(wanted - kept), len(planned - wanted)


def _chooser(planner: Planner) -> CellChooser:
    return CellChooser(planner.parts.matrix, planner.parts.subjects, arch=arch_of(local_environments()))


def _strength(planner: Planner) -> int:
    given, containers = planner.request.pairs, planner.parts.matrix.containers
    return given if given is not None else containers.pairs if containers else 0
