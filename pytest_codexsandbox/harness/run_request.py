"""Run request: what a command line and its configuration files ask for, as data."""

from pathlib import Path

import msgspec

from pytest_codexsandbox.harness.option_defaults import REPORT_DIR
from pytest_codexsandbox.matrix.budget import Budget


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Options of `pytest --codex-matrix` and `codexsandbox plan` that decide which keys a plan has."""

    preset: str = "local"  # a name, or the path of a matrix file
    releases: tuple[str, ...] = ()
    binaries: tuple[str, ...] = ()  # [LABEL=]PATH[@AS-VERSION]
    binary_base: Path = Path()  # the folder where relative paths of binaries begin
    generators: tuple[str, ...] = ()  # [NAME=]SPEC
    generator_base: Path = Path()
    generator_in: str = ""  # the cell in whose environment generators run
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    pairs: int | None = None  # 0: every combination; None: as the matrix file says
    budget: Budget | None = None
    docker_hosts: tuple[str, ...] = ()
    report_dir: Path = Path(REPORT_DIR)  # durations are learned from the journals in it
    timeout_scale: float = 1.0
    workers: int = 1
    own_tests: bool = False  # paths are given: pytest collects the user's own tests beside the shipped ones
    listing: bool = False  # nothing is going to be measured: `pytest --collect-only`
    typed: tuple[str, ...] = ()  # names of the options on the command line itself
    generator_options: tuple[str, ...] = ()  # given options about how generators run
