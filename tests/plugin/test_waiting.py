"""A run that has to wait for another one says for whom and how long; it does not just stand still."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
# As an ordinary user has it, also for root: no /tmp of the run's own.
SHARES = (
    "from pytest_codexsandbox.environments.local import LocalBackend\n"
    "LocalBackend.__init__.__kwdefaults__['own_tmp'] = False\n"
)
HOLD = "import fcntl, os, sys; fcntl.flock(os.open('/tmp', 0), 2); print('held', flush=True); sys.stdin.read()"


@pytest.fixture
def other() -> "Iterator[subprocess.Popen[bytes]]":
    """Another run, in the middle of a call."""
    with subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("words", [(), ("-q",), ("-n2",)])
def test_a_run_that_waits_says_so_on_a_line_of_its_own(
    matrix: Matrix, other: "subprocess.Popen[bytes]", words: tuple[str, ...]
) -> None:
    plugins = ("xdist.plugin",) if "-n2" in words else ()
    run = matrix.start("--codex-only=process.exit-code-kept", *words, files={"conftest.py": SHARES}, plugins=plugins)
    run.wait_for_word(f"codexsandbox: waiting for another run that shares /tmp (pid {other.pid}), up to 300 s")
    other.kill()
    done = run.end()
    assert done.code == 0, done.out
    said = [line for line in done.out.splitlines() if "waiting for" in line]
    assert all(line.startswith("codexsandbox: waiting for") for line in said), done.out


def test_a_run_starts_its_environment_once(matrix: Matrix) -> None:
    """The canaries share it: whoever waits for a shared /tmp waits with one agent, not with three."""
    counts = (
        "from pytest_codexsandbox.environments.local import LocalBackend\n"
        "real = LocalBackend.open\n"
        "def opened(self, *words, **named):\n"
        "    print('one more', file=open('opened.txt', 'a'))\n"
        "    return real(self, *words, **named)\n"
        "LocalBackend.open = opened\n"
    )
    done = matrix.run("--codex-only=process.exit-code-kept", files={"conftest.py": counts})
    assert done.code == 0, done.out
    assert (done.folder / "opened.txt").read_text() == "one more\n"
