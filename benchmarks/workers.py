"""Worker benchmark: time for the whole corpus of one generator in a single process, and with 1, 2, … xdist workers.

Interleaved, median of N, as a ratio to one process. Processor time is printed too: it shows what each worker repeats
(its own confinement, its own app-server).

    python -m benchmarks.workers [--rounds 3] [--most 2] [--generator good] [-- more pytest words]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.wall import processor


def corpus(folder: Path, generator: str, workers: int, words: list[str]) -> tuple[float, float]:
    """Returns wall and processor seconds."""
    command = [sys.executable, "-m", "pytest", "--codex-matrix", f"--codex-generator={generator}", "-q", *words]
    shared = ["-n", str(workers)] if workers else []
    before, began = processor(), time.perf_counter()
    done = subprocess.run(
        [*command, *shared, "--codex-report-dir=reports"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"the run failed ({done.returncode}):\n{done.stdout[-3000:]}")
    return time.perf_counter() - began, processor() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=int, default=2)
    parser.add_argument("--generator", default="good")
    parser.add_argument("words", nargs="*")
    asked = parser.parse_args()
    times_by_count: dict[int, list[tuple[float, float]]] = {workers: [] for workers in range(asked.most + 1)}
    with tempfile.TemporaryDirectory(prefix="codexsandbox-workers-") as name:
        for _ in range(asked.rounds):
            for workers, times in times_by_count.items():
                times.append(corpus(Path(name), asked.generator, workers, asked.words))
    alone = statistics.median(wall for wall, _ in times_by_count[0])
    print(f"{asked.rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for workers, times in times_by_count.items():
        wall, used = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"{workers or 'no':>2} workers   {wall:7.1f} s   {wall / alone:5.2f}   processor {used:7.1f} s")


if __name__ == "__main__":
    main()
