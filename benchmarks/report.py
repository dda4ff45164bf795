"""Report benchmark: seconds from a journal with 20,000 results to an HTML report.

python -m benchmarks.report
"""

import gzip
import hashlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from pytest_codexsandbox import __version__
from pytest_codexsandbox.harness import replay
from pytest_codexsandbox.journal import exit_code
from pytest_codexsandbox.journal.store import JournalWriter
from pytest_codexsandbox.matrix.expectations import Applied
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.journal_lines import (
    EndLine,
    EnvironmentLine,
    Line,
    OtherFailures,
    PlanLine,
    ResultLine,
    RunLine,
    SubjectLine,
)
from pytest_codexsandbox.model.ledger import count, settle
from pytest_codexsandbox.model.plan_content import asks_digest, content_digest, plan_digest
from pytest_codexsandbox.registry import data_folder

RUN: Final = Path(__file__).resolve().parents[1] / "tests" / "golden" / "journals" / "promises.ndjson.gz"
COPIES: Final = 334  # of a run with 60 results in 3 cells
_DISTRO: Final = "debian-12"  # of a cell, also in the id of its environment
_CALL: Final = re.compile(r"(?<=-)[0-9a-f]{16}(?=\")")  # the end of a call's id


def write(folder: Path, *, copies: int = COPIES) -> Path:
    """Writes the journal of a run that ended by itself: copies of a real one, each in an environment of its own."""
    text = gzip.decompress(RUN.read_bytes()).decode()
    made = [_decoded(_copied(text, number)) for number in range(copies)]
    run, plan = next(line for line in made[0] if isinstance(line, RunLine)), _plan(made)
    writer = JournalWriter.open(folder, replace(run, product=f"codexsandbox {__version__}"))
    writer.write(plan)
    subjects = [line for line in made[0] if isinstance(line, SubjectLine)]
    rest = [line for one in made for line in one if not isinstance(line, RunLine | PlanLine | SubjectLine | EndLine)]
    for line in (*subjects, *rest):
        writer.write(line)
    writer.write_end(_end(plan, rest, next(line for line in made[0] if isinstance(line, EndLine))))
    writer.close()
    return writer.path


def _copied(text: str, number: int) -> str:
    def another(call: re.Match[str]) -> str:
        return hashlib.sha256(f"{number} {call[0]}".encode()).hexdigest()[:16]

    return _CALL.sub(another, text.replace(_DISTRO, f"{_DISTRO}.{number}"))


def _decoded(text: str) -> list[Line]:
    return msgspec.json.Decoder(Line).decode_lines(text.encode())


def _plan(made: list[list[Line]]) -> PlanLine:
    plans = [line for one in made for line in one if isinstance(line, PlanLine)]
    shipped = promises(data_folder("scenarios"))
    today, asks = replay.digests(shipped), {promise.id: asks_digest(promise) for promise, _ in shipped}
    plan = replace(
        plans[0],
        cells=tuple(cell for plan in plans for cell in plan.cells),
        keys=tuple(key for plan in plans for key in plan.keys),
        not_applicable={key: why for plan in plans for key, why in plan.not_applicable.items()},
        promises=tuple(
            replace(row, asked=today.get(row.id, ""), asks=asks.get(row.id, "")) for row in plans[0].promises
        ),
    )
    plan = replace(plan, digest=plan_digest(plan.keys, {row.id: row.asks for row in plan.promises}))
    return replace(plan, content=content_digest(plan))


def _end(plan: PlanLine, lines: Sequence[Line], old: EndLine) -> EndLine:
    records = tuple(line.record for line in lines if isinstance(line, ResultLine))
    environments = [line for line in lines if isinstance(line, EnvironmentLine)]
    states = settle(plan.keys, records, plan.not_applicable)
    done = exit_code.of_run(
        plan, Applied(records=states), OtherFailures(), leaks=(), environments=environments, strict=False
    )
    return replace(old, exit=done.code, reasons=done.reasons, counts=count(states.values()), cells=())


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="codexsandbox-report-") as name:
        journal = write(Path(name))
        size = journal.stat().st_size / 1e6
        began = time.perf_counter()
        number = len(replay.read(journal).records)
        print(f"{number} results, {size:.1f} MB: read and judged again in {time.perf_counter() - began:.2f} s")
        for form in ("html", "markdown", "json"):
            target = Path(name) / f"report.{form}"
            began = time.perf_counter()
            words = [sys.executable, "-m", "pytest_codexsandbox", "report", str(journal), "--format", form]
            subprocess.run([*words, "-o", str(target)], check=True, capture_output=True)
            seconds, size = time.perf_counter() - began, target.stat().st_size / 1e6
            print(f"{number} results → {form}: {seconds:.2f} s, {size:.1f} MB")


if __name__ == "__main__":
    main()
