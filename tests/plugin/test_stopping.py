"""SIGTERM ends a command as Ctrl-C does: what it started and half wrote is cleared away."""

import subprocess
import sys

COMMAND = """
import signal, sys
from types import SimpleNamespace
from pytest_codexsandbox import cli

def run(options):
    try:
        signal.raise_signal(signal.SIGTERM)
    finally:
        print("cleared away")
    return 0

cli.load = lambda name: SimpleNamespace(EXAMPLES=("it",), add=lambda parser: None, run=run, __doc__="Test.")
code = cli.main(["plan"])
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
sys.exit(code)
"""


def test_a_command_that_is_terminated_clears_away_and_says_so() -> None:
    done = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (143, "cleared away\n"), done.stderr
    assert done.stderr.startswith("codexsandbox: interrupted") and done.stderr.count("\n") == 1
