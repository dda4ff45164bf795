"""Wall time of a whole run against its floor, the same Codex calls in a bare loop: interleaved, median of N.

Processor time is printed too: on a machine that also does other work it is the steadier of the two.

    python -m benchmarks.wall [--preset releases] [--rounds 5] [-- more pytest words]
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def processor() -> float:
    """Returns the processor seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def matrix(folder: Path, preset: str, words: list[str]) -> tuple[float, Path]:
    before = set(folder.glob("reports/*/journal.ndjson"))
    began = time.perf_counter()
    command = [sys.executable, "-m", "pytest", f"--codex-matrix={preset}", "-q", "--codex-report-dir=reports", *words]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"the run failed ({done.returncode}):\n{done.stdout[-3000:]}")
    (journal,) = set(folder.glob("reports/*/journal.ndjson")) - before
    return seconds, journal


def floor(journal: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.replay_floor", str(journal), "--repeat", "1"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["median"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="releases")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("words", nargs="*")
    asked = parser.parse_args()
    walls, floors, used = [], [], []
    with tempfile.TemporaryDirectory(prefix="codexsandbox-wall-") as name:
        folder = Path(name)
        matrix(folder, asked.preset, asked.words)  # downloads and probes once, not measured
        for number in range(asked.rounds):
            marks = [processor()]
            wall, journal = matrix(folder, asked.preset, asked.words)
            marks.append(processor())
            bare = floor(journal)
            marks.append(processor())
            walls.append(wall)
            floors.append(bare)
            mine, other = marks[1] - marks[0], marks[2] - marks[1]
            used.append(mine / other)
            print(
                f"round {number + 1}: wall {wall:.2f} s, floor {bare:.2f} s, ratio {wall / bare:.2f}; "
                f"processor {mine:.2f} s, floor {other:.2f} s, ratio {mine / other:.2f}",
                flush=True,
            )
    ratios = [wall / bare for wall, bare in zip(walls, floors, strict=True)]
    print(
        f"{asked.preset}: wall {statistics.median(walls):.2f} s, floor {statistics.median(floors):.2f} s, "
        f"ratio {statistics.median(ratios):.2f} (median of {asked.rounds}; goal 1.25); "
        f"processor {statistics.median(used):.2f}"
    )


if __name__ == "__main__":
    main()
