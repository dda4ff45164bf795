"""Generator benchmark: time of case runs: (generator, case) pairs of confined Python functions in one process.

`python -m benchmarks.generators [PAIRS]`: up to three runs on each of the shipped cases, until there are so many pairs
(1,000). The goal is 60 s for a thousand, without Codex.
"""

import itertools
import sys
import tempfile
import time
from pathlib import Path

from pytest_codexsandbox.generators.case_run import open_case_runner
from pytest_codexsandbox.generators.checks import CHECKS
from pytest_codexsandbox.generators.confinement_proof import confined
from pytest_codexsandbox.generators.managed_block import CaseNotApplicable
from pytest_codexsandbox.matrix.corpus import shipped_cases
from pytest_codexsandbox.matrix.generator_specs import asked
from pytest_codexsandbox.model.generator import Intent

NAMES = ("good", "multica-legacy", "multica-0.2.5", "molecule-82", "hermes-file-0.19")


def main(pairs: int) -> None:
    generators = asked(NAMES)
    every = itertools.islice(itertools.product(generators, shipped_cases()), pairs)
    with tempfile.TemporaryDirectory(prefix="codexsandbox-benchmark-", dir="/var/tmp") as folder:
        begun = time.monotonic()
        confinement, _ = confined(Path(folder))
        proved = time.monotonic()
        case_runs, checked, findings = 0, 0.0, 0
        with open_case_runner(Path(folder), confinement) as runner:
            for generator, case in every:
                try:
                    case_run = runner.run_case(generator, case, Intent(roots=("@ROOT0@",)), version="0.163.0")
                except CaseNotApplicable:
                    continue
                case_runs += 1
                now = time.monotonic()
                findings += sum(len(check(case_run, generator.declaration)) for check in CHECKS.values())
                checked += time.monotonic() - now
        took = time.monotonic() - proved
    print(f"the proof of the walls   {proved - begun:6.1f} s")
    print(f"{case_runs} stories            {took - checked:6.1f} s, {(took - checked) / case_runs * 1000:.0f} ms each")
    print(f"{findings} findings          {checked:6.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1000)
