"""Memory and collection time with 20,000 items, against bare pytest with as many empty tests.

python -m benchmarks.items [--rounds 3]
"""

import argparse
import os
import stat
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COUNT = 20_000
BARE = "import pytest\n\n\n@pytest.mark.parametrize('n', range({count}))\ndef test_empty(n):\n    pass\n"


def measured(command: list[str], folder: Path, env: dict[str, str]) -> tuple[float, float]:
    """Returns seconds and peak MB of a collection."""
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command} ended with {process.returncode}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="codexsandbox-items-") as name:
        folder = Path(name)
        binary = folder / "codex"
        binary.write_text("#!/bin/sh\n")
        binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
        keys = planned(folder, binary, 1)
        cells = -(-COUNT // keys)
        total = planned(folder, binary, cells)
        (folder / "test_bare.py").write_text(BARE.format(count=total))
        base = [sys.executable, "-m", "pytest", "--collect-only", "-qq"]
        ours = [*base, "--codex-matrix", *(f"--codex-bin=b{n}={binary}@0.170.0" for n in range(cells))]
        pairs = [
            (measured(ours, folder, dict(os.environ)), measured([*base, "test_bare.py"], folder, dict(os.environ)))
            for _ in range(asked.rounds)
        ]
    for index, (what, goal, unit) in enumerate((("collection", 2.0, "s"), ("memory", 1.5, "MB"))):
        values = [(one[index], bare[index]) for one, bare in pairs]
        mine, bare = (statistics.median(side) for side in zip(*values, strict=True))
        print(f"{total} items: {what} {mine:.1f} {unit}, bare {bare:.1f} {unit}, ratio {mine / bare:.2f} (goal {goal})")


def planned(folder: Path, binary: Path, cells: int) -> int:
    words = [f"--codex-bin=b{n}={binary}@0.170.0" for n in range(cells)]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--codex-matrix", *words]
    out = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return sum("::" in line for line in out.stdout.splitlines())


if __name__ == "__main__":
    main()
