"""Option conflicts: refuses typed options that have no effect beside the others."""

from collections.abc import Collection, Sequence
from typing import Final

from pytest_codexsandbox.errors import InputError

_OF_CONTAINERS: Final = {
    "pairs": "it picks cells in containers",
    "docker-hosts": "it names engines for containers",
}


def refuse_without_containers(typed: Collection[str], *, matrix: str, containers: bool) -> None:
    """Refuses options for containers beside a matrix file that has none."""
    for name, does in _OF_CONTAINERS.items():
        if name in typed and not containers:
            raise InputError(
                f"--codex-{name} has no effect here",
                where=f"matrix {matrix}",
                why=f"{does}, and this matrix has no [containers]",
                next_step="take a matrix that has some, e.g. --codex-matrix=pull-request, or leave the option out",
            )


def refuse_beside_paths(typed: Collection[str], *, paths: bool) -> None:
    """Refuses a budget for the user's own tests."""
    if "budget" in typed and paths:
        raise InputError(
            "--codex-budget has no effect beside tests of your own",
            why="their durations are not known",
            next_step="leave out the option, or measure the shipped promises alone: pytest --codex-matrix "
            "--codex-budget 10m",
        )


def refuse_without_generators(given: Sequence[str], *, generators: bool) -> None:
    """Refuses options about how generators run where no generator is named."""
    if given and not generators:
        raise InputError(
            f"--codex-{given[0]} says how generators run, and no generator was requested",
            next_step="name one: --codex-generator SPEC",
        )


def refuse_twice_free(typed: Collection[str]) -> None:
    """Refuses --codex-generator-unconfined beside --codex-generator-in: there the container confines generators."""
    if {"generator-in", "generator-unconfined"} <= set(typed):
        raise InputError(
            "--codex-generator-unconfined has no effect beside --codex-generator-in",
            why="in a container cell, the container confines the generators",
            next_step="leave one of them out",
        )


def refuse_beside_update_lock(typed: Collection[str]) -> None:
    """Refuses options of `plan` that a lock file does not depend on."""
    without = [name for name in ("only", "skip", "budget", "generator", "docker-hosts", "report-dir") if name in typed]
    if without:
        raise InputError(
            f"--codex-{without[0]} has no effect beside --update-lock",
            why="a lock file keeps every cell that the matrix file asks for, for every machine",
            next_step=f"leave out --codex-{without[0]}",
        )
