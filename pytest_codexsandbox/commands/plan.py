"""Show what a run would do, and start nothing.

Cells and promises, the calls of Codex and how long they take, what would be downloaded, and what is left out with the
reason. With --update-lock the cells that were picked by pairs are kept in a file beside the matrix file.

As a run does, it asks what no file says, in a few seconds: the container engine, what it has; and for what is not
there yet, registries (through the engine) and the archives of distributions, whether they answer. It tells whom.
Only about a release that data does not know (`codexsandbox capabilities --list`) pip and npm are asked.
When nothing can be measured on this machine (no engine answers, no such release), it ends with one error and code 4.
"""

import argparse
import json
from typing import Any, Final

import msgspec

from pytest_codexsandbox.commands import matrix_options
from pytest_codexsandbox.commands.plan_text import Shown, as_text
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.generators.third_party.download_estimate import forecast_of
from pytest_codexsandbox.harness import option_conflicts
from pytest_codexsandbox.harness.backends import stock
from pytest_codexsandbox.harness.durations import work_of
from pytest_codexsandbox.harness.planner import PlanningFacts, local_environments, seconds_of
from pytest_codexsandbox.matrix import generator_cells, load, lockfile, scenario_index
from pytest_codexsandbox.matrix.container_cells import CellChooser
from pytest_codexsandbox.matrix.expand import arch_of
from pytest_codexsandbox.matrix.load import MatrixFile
from pytest_codexsandbox.matrix.plan import digest, make
from pytest_codexsandbox.model.generator_spec import Generator
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.registry import cache_folder, data_folder
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
    parser.add_argument("-v", "--verbose", action="store_true", help="every cell, and every promise with its sentence")
    parser.add_argument("--json", action="store_true", help="for programs: every key, act by act")
    parser.add_argument("--update-lock", action="store_true", help="keep the cells that were picked by pairs")


def run(options: argparse.Namespace) -> int:
    matrix = load.load(options.matrix)
    typed = matrix_options.typed(options)
    option_conflicts.refuse_without_containers(typed, matrix=matrix.name, containers=matrix.containers is not None)
    if options.update_lock:
        option_conflicts.refuse_beside_update_lock(typed)
        print(update_lock(options, matrix))
        return 0
    known = matrix_options.known(options, matrix)
    plan = planned(options, matrix, known)
    cache = cache_folder()
    downloads = {
        label: known.forecasts.get(label) or forecast(spec, cache)
        for label, spec in {c.subject.label: c.subject for c in plan.cells}.items()
    }
    tools = {one.name: forecast_of(one.declaration, cache) for one in _tools(options, matrix, plan)}
    unlocked, stand_ins = _unlocked(options, matrix, plan)
    shown = Shown(
        plan=plan,
        downloads=downloads,
        tools=tools,
        seconds=seconds_of(plan, known),
        learned=known.learned.runs,
        unlocked=unlocked,
        stand_ins=stand_ins,
        stock=stock(plan.cells, known.asked),
        asked=known.asked,
    )
    print(as_json(shown) if options.json else as_text(shown, verbose=options.verbose))
    return 0


def _tools(options: argparse.Namespace, matrix: MatrixFile, plan: Plan) -> tuple[Generator, ...]:
    return (
        generator_cells.tools(plan, matrix_options.writers(options, matrix))
        if matrix_options.generators(options, matrix)
        else ()
    )


def planned(options: argparse.Namespace, matrix: MatrixFile, known: PlanningFacts) -> Plan:
    expanded = matrix_options.expanded(options, matrix, known)
    there = [promise for promise, _ in scenario_index.promises(data_folder("scenarios"))]
    promises = [one for one in there if matrix_options.generators(options, matrix) or not one.of_generators]
    plan = make(
        matrix.preset,
        expanded.cells,
        promises,
        doors=matrix.doors,
        policies=matrix.policies,
        sides=matrix_options.sides(options, matrix),
        selection=matrix_options.selection(options, matrix),
        not_planned=expanded.not_planned,
        coverage=expanded.coverage,
    )
    return matrix_options.trimmed(options, plan, known)


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
    coverage, told = plan.coverage, work_of(plan)
    document: dict[str, Any] = {
        "preset": plan.preset,
        "digest": digest(plan),
        "cells": cells,
        "promises": promises,
        "keys": plan.keys,
        "calls": calls(plan),
        "stories": sum(one.stories for one in told.values()),
        "strains": sum(one.strains for one in told.values()),
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
    """How often Codex would be started."""
    return sum(one.calls for one in work_of(plan).values())


# ---- the lock
def update_lock(options: argparse.Namespace, matrix: MatrixFile) -> str:
    """As if everything could be had: a lock file is for every machine."""
    if options.codex_release or options.codex_bin:
        raise InputError(
            "--update-lock keeps what the matrix file asks for", next_step="leave the releases and binaries away"
        )
    strength = _strength(options, matrix)
    if not strength or matrix.containers is None or matrix.path is None:
        raise InputError(
            f"{matrix.preset} picks no cells: there is nothing to lock",
            next_step="write pairs = 2 into its [containers], or --codex-pairs 2",
        )
    path = lockfile.path_of(matrix.path)
    before = set(matrix.lock.cells) if matrix.lock else set()
    rows = CellChooser(matrix, matrix_options.subjects(options, matrix), arch=arch_of(local_environments())).to_lock(
        strength
    )
    lockfile.write(path, strength, rows)
    after = set(rows)
    return f"{path}: {len(after)} cells, {len(after - before)} of them new, {len(before - after)} gone"


def _unlocked(options: argparse.Namespace, matrix: MatrixFile, plan: Plan) -> tuple[int, int]:
    """Cells that --update-lock would add, and those that stand in for what cannot be had here."""
    if plan.coverage is None or options.codex_release or options.codex_bin:
        return 0, 0
    choice, strength = (
        CellChooser(matrix, matrix_options.subjects(options, matrix), arch=arch_of(local_environments())),
        _strength(options, matrix),
    )
    kept = {choice.id_of(row) for row in choice.locked(strength)}
    wanted = {choice.id_of(row) for row in choice.picked(strength).rows}
    planned = {cell.id for cell in plan.cells if cell.environment.container is not None}
    return len(wanted - kept), len(planned - wanted)


def _strength(options: argparse.Namespace, matrix: MatrixFile) -> int:
    given = matrix_options.pairs(options)
    return given if given is not None else matrix.containers.pairs if matrix.containers else 0
