"""The way of one item through the product's modules: no longer than the benchmark permits."""

import re
import subprocess
import sys

from benchmarks.walk import MOST_HOPS, MOST_RETURNS
from tests.lint.tracked import ROOT


def test_one_item_passes_through_as_few_modules_as_permitted() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.walk"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    found = re.search(r"^walk +([0-9]+) hops, ([0-9]+) returns", ended.stdout, re.MULTILINE)
    assert found is not None, ended.stdout + ended.stderr
    hops, returns = int(found[1]), int(found[2])
    assert (hops > 10, hops <= MOST_HOPS, returns <= MOST_RETURNS) == (True, True, True), ended.stdout
    assert ended.returncode == 0, ended.stderr
