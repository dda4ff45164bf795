"""Which matrix a command is asked about: the options that `plan` and `pytest --codex-matrix` have in common."""

import argparse
from typing import Any, Final

from pytest_codexsandbox.environments.machine import this_machine
from pytest_codexsandbox.errors import WrongInput
from pytest_codexsandbox.matrix.expand import Expanded, expand
from pytest_codexsandbox.matrix.load import INSTALLED, MatrixFile
from pytest_codexsandbox.matrix.select import Selection, split
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.releases.candidates import candidate
from pytest_codexsandbox.releases.catalogue import installed

INSTALL: Final = "pip install 'pytest-codexsandbox[codex]', or name one: --codex-release 0.163.0, --codex-bin PATH"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("matrix", nargs="?", default="local", metavar="PRESET|FILE", help="default: local")
    listed: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("--codex-release", **listed, metavar="V[,V…]", help="these releases, not the preset's")
    parser.add_argument("--codex-bin", **listed, metavar="[LABEL=]PATH[@AS-VERSION]", help="a binary of your own")
    parser.add_argument("--codex-only", **listed, metavar="GLOB[,GLOB…]", help="only these cells, promises, policies")
    parser.add_argument("--codex-skip", **listed, metavar="GLOB[,GLOB…]", help="without these")


def selection(options: argparse.Namespace) -> Selection:
    return Selection(only=tuple(options.codex_only), skip=tuple(options.codex_skip))


def expanded(options: argparse.Namespace, matrix: MatrixFile) -> Expanded:
    return expand(matrix, environments={"local": this_machine()}, subjects=subjects(options, matrix))


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
        raise WrongInput("no Codex is installed here", next_step=INSTALL)
    return found
