"""Wall time of a whole run against its floor, the same Codex calls in a bare loop: interleaved, median of N.

python -m benchmarks.wall [--preset releases] [--rounds 5] [-- more pytest words]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


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
    command = [sys.executable, "-m", "pytest_codexsandbox", "replay-floor", str(journal), "--repeat", "1", "--json"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["median"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="releases")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("words", nargs="*")
    asked = parser.parse_args()
    walls, floors = [], []
    with tempfile.TemporaryDirectory(prefix="codexsandbox-wall-") as name:
        folder = Path(name)
        matrix(folder, asked.preset, asked.words)  # downloads and probes once, not measured
        for number in range(asked.rounds):
            wall, journal = matrix(folder, asked.preset, asked.words)
            bare = floor(journal)
            walls.append(wall)
            floors.append(bare)
            print(f"round {number + 1}: wall {wall:.2f} s, floor {bare:.2f} s, ratio {wall / bare:.2f}", flush=True)
    ratios = [wall / bare for wall, bare in zip(walls, floors, strict=True)]
    print(f"{asked.preset}: wall {statistics.median(walls):.2f} s, floor {statistics.median(floors):.2f} s, "
          f"ratio {statistics.median(ratios):.2f} (median of {asked.rounds}; goal 1.25)")  # fmt: skip


if __name__ == "__main__":
    main()
