"""Show what a run would do, and start nothing.

Cells and promises, the calls of Codex, what would be downloaded, and what is left out with the reason. Only about a
release that data does not know (`codexsandbox capabilities --list`) pip and npm are asked whether it exists.
"""

import argparse
import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from pytest_codexsandbox.commands import asked
from pytest_codexsandbox.matrix import load, survey
from pytest_codexsandbox.matrix.plan import digest, make
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.registry import shipped
from pytest_codexsandbox.releases.forecast import Forecast, forecast
from pytest_codexsandbox.releases.store import cache_folder
from pytest_codexsandbox.session.batteries import group_of

EXAMPLES: Final = (
    "codexsandbox plan",
    "codexsandbox plan releases",
    "codexsandbox plan --codex-release 0.136.0,0.163.0 --codex-only 'sqlite.*'",
    "codexsandbox plan ./my-matrix.toml --json",
)
WIDTH: Final = 80


def add(parser: argparse.ArgumentParser) -> None:
    asked.add(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="every promise, with its sentence")
    parser.add_argument("--json", action="store_true", help="for programs: every key, act by act")


def run(options: argparse.Namespace) -> int:
    matrix = load.load(options.matrix)
    expanded = asked.expanded(options, matrix)
    promises = [promise for promise, _ in survey.promises(shipped("scenarios"))]
    plan = make(
        matrix.preset, expanded.cells, promises, doors=matrix.doors, policies=matrix.policies,
        selection=asked.selection(options), not_planned=expanded.not_planned,
    )  # fmt: skip
    cache = cache_folder()
    wanted = {cell.subject.label: cell.subject for cell in plan.cells}
    downloads = {label: forecast(spec, cache) for label, spec in wanted.items()}
    print(as_json(plan, downloads) if options.json else as_text(plan, wanted, downloads, verbose=options.verbose))
    return 0


def as_json(plan: Plan, downloads: dict[str, Forecast]) -> str:
    cells = [{"id": cell.id, "axes": cell.axes, "codex": cell.subject.label} for cell in plan.cells]
    promises = [
        {"id": one.id, "title": one.title, "kind": one.kind, "severity": one.severity, "source": one.source}
        for one in plan.promises
    ]
    shown: dict[str, Any] = {
        "preset": plan.preset, "digest": digest(plan), "cells": cells, "promises": promises,
        "keys": plan.keys, "calls": calls(plan), "downloads": downloads,
        "not_applicable": plan.not_applicable, "not_planned": plan.not_planned,
    }  # fmt: skip
    return json.dumps(msgspec.to_builtins(shown), indent=2)


def as_text(
    plan: Plan, subjects: dict[str, SubjectSpec], downloads: dict[str, Forecast], *, verbose: bool = False
) -> str:
    parts = (_head(plan), _each(plan) if verbose else _topics(plan), _downloads(subjects, downloads), _left_out(plan))
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def _head(plan: Plan) -> Iterator[str]:
    yield (
        f"{plan.preset}: {_many(len(plan.cells), 'cell')}, {_many(len(plan.promises), 'promise')}, "
        f"{_many(len(plan.keys), 'check')} in {_many(calls(plan), 'Codex call')}"
    )
    by_environment: dict[str, list[str]] = {}
    for cell in plan.cells:
        by_environment.setdefault(cell.environment.id, []).append(cell.subject.label)
    for environment, labels in by_environment.items():
        yield f"  {environment}    codex {' '.join(labels)}"


def _topics(plan: Plan) -> Iterator[str]:
    """One line for each topic."""
    promises = Counter(promise.topic for promise in plan.promises)
    checks = Counter(key.promise.partition(".")[0] for key in plan.keys)
    wide = max(map(len, promises))
    for topic, count in promises.items():
        yield f"{topic:<{wide}}  {_many(count, 'promise'):>12}, {_many(checks[topic], 'check')}"
    yield f"{'':<{wide}}  (each of them: -v)"


def _each(plan: Plan) -> Iterator[str]:
    """One line for each promise, by the id that `--codex-only` takes."""
    checks = Counter(key.promise for key in plan.keys)
    wide = max(len(promise.id) for promise in plan.promises)
    for promise in plan.promises:
        yield f"{promise.id:<{wide}}  {checks[promise.id]:>4}  {promise.title}"


def _downloads(subjects: dict[str, SubjectSpec], downloads: dict[str, Forecast]) -> Iterator[str]:
    needed = {label: one for label, one in downloads.items() if not one.cached and not subjects[label].path}
    missing = {label: one.why_not for label, one in needed.items() if one.why_not}
    fetched = {label: one for label, one in needed.items() if not one.why_not}
    total = sum(one.megabytes for one in fetched.values())
    if not needed:
        yield "nothing to download"
    if fetched:
        unknown = sum(not one.megabytes for one in fetched.values())
        yield f"would download {' and '.join(_amounts(total, unknown))}"
    for label, one in fetched.items():
        size = f"{one.megabytes:,}" if one.megabytes else "?"
        yield f"  {label:<12} {size:>6} MB   {one.source}"
    for label, why in missing.items():
        yield from _wrapped(f"{label:<12} cannot be had here: {why}")


def _amounts(megabytes: int, unknown: int) -> Iterator[str]:
    if megabytes:
        yield f"about {megabytes:,} MB"
    if unknown:
        yield f"{_many(unknown, 'release')} whose size nobody says"


def _left_out(plan: Plan) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    promises = {str(key): key.promise for key in plan.keys}
    for key, why in plan.not_applicable.items():
        reasons.setdefault(f"not applicable: {why}", []).append(promises.get(key, key))
    for one in plan.not_planned:
        reasons.setdefault(one.why, []).append(one.what)
    if reasons:
        yield "not in the plan, and why"
    for why, names in reasons.items():
        yield from _wrapped(f"{_few(list(dict.fromkeys(names)))}: {why}")


def _wrapped(line: str) -> Iterator[str]:
    yield from textwrap.wrap(line, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def calls(plan: Plan) -> int:
    """How often Codex would be started: one battery for each policy, and the promises that need a call of their own."""
    promises: dict[str, Promise] = {promise.id: promise for promise in plan.promises}
    groups = {
        (key.cell, key.door, key.policy, group_of(promises[key.promise])): _copies(promises[key.promise])
        for key in plan.keys
        if str(key) not in plan.not_applicable
    }
    return sum(groups.values())


def _copies(promise: Promise) -> int:
    return max(1, promise.call.copies) if promise.call else 1


def _few(names: Sequence[str], limit: int = 4) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
