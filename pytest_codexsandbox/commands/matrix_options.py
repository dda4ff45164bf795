"""Matrix options: the options that `plan` and `pytest --codex-matrix` have in common."""

import argparse
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.commands.argument_types import count, filled
from pytest_codexsandbox.harness import option_values, request_parts
from pytest_codexsandbox.harness.option_defaults import DEFAULT_PRESET, REPORT_DIR
from pytest_codexsandbox.harness.run_request import RunRequest

_OURS: Final = "codex_"
INSTALL: Final = request_parts.INSTALL


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "matrix", nargs="?", default="", metavar="PRESET|FILE", help="default: codex_matrix of pytest's ini, else local"
    )
    listed: dict[str, Any] = {"action": "append", "default": [], "type": filled}
    parser.add_argument("--codex-release", **listed, metavar="V[,V…]", help="releases, in place of the preset's")
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
        help="only these promises, policies, cells, doors; globs of one kind add up, those of different kinds narrow",
    )
    parser.add_argument("--codex-skip", **listed, metavar="GLOB[,GLOB…]", help="without these")
    parser.add_argument("--codex-pairs", metavar="2|3|all", help="cells that hold every pair, every triple; every cell")
    parser.add_argument("--codex-budget", metavar="TIME", help="whole cells that fit into 90s, 10m, 1h30m")
    parser.add_argument(
        "-n", "--numprocesses", type=count, metavar="N", help="workers, as of pytest -n: they share the time"
    )
    parser.add_argument(
        "--codex-docker-hosts", **listed, metavar="URL[,URL…]", help="engines that share the containers"
    )
    parser.add_argument(
        "--codex-report-dir",
        type=filled,
        metavar="DIR",
        help="folder with the journals that durations are learned from",
    )


def typed(options: argparse.Namespace) -> tuple[str, ...]:
    """Returns the names of the options that were given, spelled as pytest has them."""
    named = {name.removeprefix(_OURS): value for name, value in vars(options).items() if name.startswith(_OURS)}
    return tuple(name.replace("_", "-") for name, value in named.items() if value)


def request(options: argparse.Namespace) -> RunRequest:
    """Returns what the options ask for, as `pytest --codex-matrix` with the same options and no others does."""
    here = Path.cwd()
    return RunRequest(
        preset=options.matrix or DEFAULT_PRESET,
        releases=_words(options, "release"),
        binaries=option_values.lines(options.codex_bin),
        binary_base=here,
        generators=option_values.lines(options.codex_generator),
        generator_base=here,
        only=_words(options, "only"),
        skip=_words(options, "skip"),
        pairs=option_values.pairs(options.codex_pairs),
        budget=option_values.budget(options.codex_budget),
        docker_hosts=option_values.hosts(_words(options, "docker-hosts")),
        report_dir=here / (options.codex_report_dir or REPORT_DIR),
        workers=options.numprocesses or 1,
        typed=typed(options),
    )


def _words(options: argparse.Namespace, name: str) -> tuple[str, ...]:
    return option_values.words(getattr(options, _OURS + name.replace("-", "_")), option=f"--codex-{name}")
