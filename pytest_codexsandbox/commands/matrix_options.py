"""Which matrix a command is asked about: the options that `plan` and `pytest --codex-matrix` have in common."""

import argparse
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.commands.argument_types import filled
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.generators.required_paths import need_programs
from pytest_codexsandbox.harness import option_values, planner
from pytest_codexsandbox.harness.option_defaults import REPORT_DIR
from pytest_codexsandbox.harness.planner import PlanningFacts
from pytest_codexsandbox.matrix import generator_cells
from pytest_codexsandbox.matrix.expand import Expanded
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet, axis
from pytest_codexsandbox.matrix.load import INSTALLED, MatrixFile
from pytest_codexsandbox.matrix.plan import DoorPolicies
from pytest_codexsandbox.matrix.select import Selection, split
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.releases.known_releases import installed
from pytest_codexsandbox.releases.user_binaries import candidate

_OURS: Final = "codex_"
INSTALL: Final = "pip install 'pytest-codexsandbox[codex]', or name one: --codex-release 0.163.0, --codex-bin PATH"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("matrix", nargs="?", default="local", metavar="PRESET|FILE", help="default: local")
    listed: dict[str, Any] = {"action": "append", "default": [], "type": filled}
    parser.add_argument("--codex-release", **listed, metavar="V[,V…]", help="these releases, not the preset's")
    parser.add_argument("--codex-bin", **listed, metavar="[LABEL=]PATH[@AS-VERSION]", help="a binary of your own")
    parser.add_argument(
        "--codex-generator",
        **listed,
        metavar="[NAME=]SPEC",
        help="a program that writes Codex's configuration (docs/reference/generators.md)",
    )
    parser.add_argument(
        "--codex-only",
        **listed,
        metavar="GLOB[,GLOB…]",
        help="only these promises, policies, cells, doors: of one kind they add up, of several they narrow",
    )
    parser.add_argument("--codex-skip", **listed, metavar="GLOB[,GLOB…]", help="without these")
    parser.add_argument("--codex-pairs", metavar="2|3|all", help="cells that hold every pair, every triple; every cell")
    parser.add_argument("--codex-budget", metavar="TIME", help="whole cells that fit into 90s, 10m, 1h30m")
    parser.add_argument(
        "--codex-docker-hosts", **listed, metavar="URL[,URL…]", help="engines that share the containers"
    )
    parser.add_argument(
        "--codex-report-dir", type=filled, metavar="DIR", help="whose journals durations are learned from"
    )


def typed(options: argparse.Namespace) -> tuple[str, ...]:
    """Names of the options that were given, as `pytest` has them."""
    named = {name.removeprefix(_OURS): value for name, value in vars(options).items() if name.startswith(_OURS)}
    return tuple(name.replace("_", "-") for name, value in named.items() if value)


def selection(options: argparse.Namespace, matrix: MatrixFile) -> Selection:
    return Selection(only=tuple(options.codex_only), skip=tuple(options.codex_skip), without=matrix.skip)


def known(options: argparse.Namespace, matrix: MatrixFile) -> PlanningFacts:
    return planner.gather_facts(
        matrix, Path(options.codex_report_dir or REPORT_DIR), subjects=subjects(options, matrix), hosts=hosts(options)
    )


def expanded(options: argparse.Namespace, matrix: MatrixFile, known: PlanningFacts) -> Expanded:
    texts = generators(options, matrix)
    return planner.expand_cells(
        matrix,
        subjects(options, matrix),
        known,
        pairs=pairs(options),
        hosts=hosts(options),
        generators=axis(texts, writers(options, matrix)) if texts else (),
    )


def generators(options: argparse.Namespace, matrix: MatrixFile) -> tuple[str, ...]:
    return tuple(options.codex_generator) or matrix.generators


def writers(options: argparse.Namespace, matrix: MatrixFile) -> GeneratorSet:
    found = generator_cells.writers(generators(options, matrix), beside=matrix.catalogue.beside, base=Path.cwd())
    need_programs(found)
    return found


def sides(options: argparse.Namespace, matrix: MatrixFile) -> DoorPolicies | None:
    if not generators(options, matrix):
        return None
    return generator_cells.sides(writers(options, matrix), doors=matrix.doors, policies=matrix.policies)


def hosts(options: argparse.Namespace) -> tuple[str, ...]:
    return option_values.hosts(split(options.codex_docker_hosts))


def pairs(options: argparse.Namespace) -> int | None:
    return option_values.pairs(options.codex_pairs)


def trimmed(options: argparse.Namespace, plan: Plan, known: PlanningFacts) -> Plan:
    return planner.apply_budget(plan, option_values.budget(options.codex_budget), known)


def subjects(options: argparse.Namespace, matrix: MatrixFile) -> tuple[SubjectSpec, ...]:
    """What the options name; without any, what the matrix file names."""
    releases, binaries = split(options.codex_release), tuple(options.codex_bin)
    names = releases if releases or binaries else matrix.releases
    return (*map(release, names), *map(candidate, binaries))


def release(name: str) -> SubjectSpec:
    if name != INSTALLED:
        return SubjectSpec(label=name, release=name)
    found = installed()
    if found is None:
        raise InputError("no Codex is installed here", next_step=INSTALL)
    return found
