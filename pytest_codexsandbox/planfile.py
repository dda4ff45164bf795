"""The plan, handed from an xdist worker, which collects, to the controller, which does not."""

from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.model.plan import Plan

PLAN_FILE: Final = "plan-{worker}.json"


def write_plan(folder: Path, worker: str, plan: Plan) -> None:
    """From a worker to the controller, which does not collect."""
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
