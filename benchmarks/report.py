"""Report benchmark: seconds from a journal with 20,000 results to an HTML report.

python -m benchmarks.report
"""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import msgspec

from pytest_codexsandbox.journal.store import read
from pytest_codexsandbox.model.journal_lines import CellRow, EndLine, Line, PlanLine, PromiseRow, ResultLine, RunLine
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Evidence, Record
from pytest_codexsandbox.model.verdict import Verdict

CELLS, PROMISES = 100, 200


def write(folder: Path, *, cells: int = CELLS, promises: int = PROMISES) -> Path:
    """Writes the journal of a run that ended by itself, in schema 1: results of schema 2 need real calls. One result in
    97 is a leak."""
    keys = tuple(
        Key(
            cell=f"debian-12~host~local~codex-{cell}",
            door="sandbox",
            policy="workspace-write",
            promise=f"topic{promise % 9}.p{promise}",
        )
        for cell in range(cells)
        for promise in range(promises)
    )
    lines: list[Line] = [RunLine(id="bench", started="2026-11-18T09:41:00+00:00", schema=1)]
    lines.append(
        PlanLine(
            digest="0",
            keys=keys,
            cells=tuple(
                CellRow(id=f"debian-12~host~local~codex-{cell}", environment="debian-12~host~local", subject=str(cell))
                for cell in range(cells)
            ),
            promises=tuple(
                PromiseRow(
                    id=f"topic{promise % 9}.p{promise}",
                    title=f"promise {promise}",
                    kind="boundary",
                    severity="high",
                    needs="sandbox",
                    source="bench",
                )
                for promise in range(promises)
            ),
        )
    )
    for number, key in enumerate(keys):
        bad = number % 97 == 0
        row = Evidence(
            claim="a write outside is refused",
            act="a",
            nonce="n",
            call="c",
            control="worked",
            control_held=True,
            saw="EROFS at open; nothing changed outside",
            held=not bad,
            direction="leak" if bad else "",
        )
        verdict = Verdict.VIOLATES if bad else Verdict.CONFORMS
        lines.append(ResultLine.of(Record(key=key, verdict=verdict, evidence=(row,), direction=row.direction)))
    counts = Counter("violates" if number % 97 == 0 else "conforms" for number in range(len(keys)))
    reasons = (f"1 {counts['violates']} violated ({counts['violates']} leaks)",)
    lines.append(EndLine(finished="2026-11-18T09:42:00+00:00", exit=1, reasons=reasons, counts=dict(counts)))
    path = folder / "journal.ndjson"
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="codexsandbox-report-") as name:
        journal = write(Path(name))
        began = time.perf_counter()
        count = len(read(journal).records)
        reading = time.perf_counter() - began
        for form in ("html", "markdown", "json"):
            target = Path(name) / f"report.{form}"
            began = time.perf_counter()
            command = [
                sys.executable,
                "-m",
                "pytest_codexsandbox",
                "report",
                str(journal),
                "--format",
                form,
                "-o",
                str(target),
            ]
            subprocess.run(command, check=True, capture_output=True)
            seconds, size = time.perf_counter() - began, target.stat().st_size / 1e6
            print(f"{count} results → {form}: {seconds:.2f} s, {size:.1f} MB (goal 2 s; reading alone {reading:.2f} s)")


if __name__ == "__main__":
    main()
