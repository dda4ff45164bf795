"""Worker files: files in the run's folder by which processes of a run exchange data.

An xdist worker writes its plan before it runs and its leaks afterwards. The controller writes that it was interrupted.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.model.plan import Plan

PLAN_FILE: Final = "plan-{worker}.json"
LEAKS_FILE: Final = "leaks-{worker}.json"
STOP_FILE: Final = "stop"


def write_plan(folder: Path, worker: str, plan: Plan) -> None:
    """Writes a worker's plan for the controller, which does not collect."""
    part = folder / f".{PLAN_FILE.format(worker=worker)}.part"
    part.write_bytes(msgspec.json.encode(plan))
    part.replace(folder / PLAN_FILE.format(worker=worker))


def read_plan(folder: Path, worker: str) -> Plan | None:
    path = folder / PLAN_FILE.format(worker=worker)
    try:
        data = path.read_bytes()
    except OSError:
        return None
    path.unlink(missing_ok=True)
    return msgspec.json.decode(data, type=Plan)


def write_leaks(folder: Path, worker: str, leaks: tuple[str, ...]) -> None:
    """Writes the leaks of a process. Without leaks there is no file."""
    if leaks:
        (folder / LEAKS_FILE.format(worker=worker or "main")).write_bytes(msgspec.json.encode(leaks))


def read_leaks(folder: Path) -> tuple[str, ...]:
    """Reads and removes the leaks of every process of the run."""
    found: list[str] = []
    for path in sorted(folder.glob(LEAKS_FILE.format(worker="*"))):
        found += msgspec.json.decode(path.read_bytes(), type=list[str])
        path.unlink(missing_ok=True)
    return tuple(found)


def write_stop(folder: Path) -> None:
    """Asks workers to stop. xdist only closes their channel, and they would work on for five seconds."""
    with suppress(OSError):  # then they work on
        (folder / STOP_FILE).touch()


def is_stopped(folder: Path) -> bool:
    return os.path.exists(folder / STOP_FILE)  # noqa: PTH110 - called after every item, and four times as fast


def remove_stop(folder: Path) -> None:
    (folder / STOP_FILE).unlink(missing_ok=True)
