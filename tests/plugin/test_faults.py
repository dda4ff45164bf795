"""A run that ends in any way leaves a readable journal, a state for every planned key, and nothing that still runs."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from pytest_codexsandbox.diagnosis.judge import SANDBOX_WAS_OFF
from pytest_codexsandbox.guest import process_tree
from pytest_codexsandbox.model.verdict import Verdict
from tests.fakes.machine import installed_codex
from tests.plugin.conftest import LIMIT, Matrix

pytestmark = pytest.mark.live


def _ours(cache: Path) -> list[str]:
    """Command lines of living processes that mention the test's own cache."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if str(cache / "runs") in line and state != "Z":
                found.append(line)
    return found


def _lives(one: process_tree.Process) -> bool:
    now = process_tree.process(one.pid)
    return now is not None and now.start == one.start and now.state not in "ZX"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("words", [(), ("-n2",)])
def test_a_killed_run_leaves_a_readable_journal_and_nothing_running(
    matrix: Matrix, number: signal.Signals, words: tuple[str, ...]
) -> None:
    run = matrix.start(*words, plugins=("xdist.plugin",) if words else ())
    run.wait_for('"line":"result"', count=4)
    # A worker that has not yet noticed may start one more call: it has to be gone as well.
    everybody = [one for one in map(process_tree.process, process_tree.tree([run.process.pid])) if one is not None]
    run.send(number)
    done = run.end()
    journal = done.journal
    states = journal.states()
    assert set(states) == set(journal.plan.keys)
    assert [record for record in states.values() if record.verdict is Verdict.BROKEN]
    assert done.code == (-number if number == signal.SIGKILL else 2), done.out
    assert (journal.end is None) == (number == signal.SIGKILL)
    end = time.monotonic() + LIMIT
    while (any(map(_lives, everybody)) or _ours(matrix.cache)) and time.monotonic() < end:
        time.sleep(0.1)
    assert [one for one in everybody if _lives(one)] == []
    assert _ours(matrix.cache) == []


INTERRUPTS = """
import os, time
from pathlib import Path
HERE, SEEN = Path.cwd(), []
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
def stop():
    return list(HERE.glob(".codexsandbox/2*/stop"))
def pytest_runtest_logreport():
    SEEN.append(1)
    if not WORKER and len(SEEN) == 12:
        raise KeyboardInterrupt
def pytest_runtest_logfinish():
    end = time.monotonic() + 60
    while WORKER and len(SEEN) >= 12 and not stop() and time.monotonic() < end:
        time.sleep(0.02)
def pytest_sessionfinish(session):
    if WORKER and SEEN:
        (HERE / "said").write_text(f"{session.shouldstop} after {len(SEEN)}")
"""


def test_workers_of_a_run_that_is_interrupted_stop_at_their_next_item(matrix: Matrix) -> None:
    """Else they work on for the five seconds after which execnet interrupts them."""
    run = matrix.run("-n2", files={"interrupts.py": INTERRUPTS}, plugins=("xdist.plugin", "interrupts"))
    assert run.code == 2, run.out
    said = (run.reports[0].parents[2] / "said").read_text()
    assert "after 1" in said, said
    assert not (run.reports[0].parent / "stop").exists()
    assert run.journal.end is not None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full is needed")
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("PlanLine", 4, "the journal cannot be written"),  # before anything was measured
        ("ResultLine", 11, "exit 11: the journal is incomplete: ResultLine could not be written: No space left"),
        ("EndLine", 11, "exit 11: the journal is incomplete: EndLine could not be written: No space left"),
    ],
)
def test_a_full_disk_is_said_and_the_ledger_does_not_add_up(matrix: Matrix, line: str, code: int, said: str) -> None:
    plugin = (
        "import os\nfrom pytest_codexsandbox.journal import store\n"
        "def pytest_configure():\n"
        "    real = store.JournalWriter.write\n"
        "    def write(self, line):\n"
        f"        if type(line).__name__ == {line!r}:\n"
        "            os.dup2(os.open('/dev/full', os.O_WRONLY), self._descriptor)\n"
        "        real(self, line)\n"
        "    store.JournalWriter.write = write\n"
    )
    run = matrix.run("--codex-only=process.exit-code-kept", files={"conftest.py": plugin})
    assert run.code == code, run.out
    assert said in run.out


CHANGES_A_LINE = """
from pytest_codexsandbox.journal import store
real = store.JournalWriter._packed
def changed(self, line):
    return [one.replace({before!r}, {after!r}) for one in real(self, line)]
def pytest_configure():
    store.JournalWriter._packed = changed
"""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (b'{"line":"environment"', b'{"line":"weather"', "a line of the journal cannot be understood"),
        (b'"verdict":"unconfined"', b'"verdict":"conforms"', "a part of the journal is missing or changed"),
    ],
)
def test_a_journal_that_does_not_say_what_the_run_found_is_no_success(
    matrix: Matrix, before: bytes, after: bytes, said: str
) -> None:
    plugin = CHANGES_A_LINE.format(before=before, after=after)
    run = matrix.run("--codex-only=filesystem.workspace-writable", files={"conftest.py": plugin})
    assert run.code == 11, run.out
    assert "exit 11: " in run.out and said in run.out


def test_a_report_that_cannot_be_written_is_no_success(matrix: Matrix) -> None:
    plugin = (
        "from pathlib import Path\n"
        "def pytest_sessionfinish():\n"
        "    for folder in Path('.codexsandbox').glob('2*'):\n"
        "        (folder / 'index.html').mkdir()\n"
    )
    words = ("--codex-only=process.exit-code-kept", "--codex-report=html,markdown")
    run = matrix.run(*words, files={"conftest.py": plugin})
    assert run.code == 11, run.out
    assert "Is a directory" in run.out
    assert re.search(r"exit 11: .* not written: index\.html", run.out)
    folder = run.reports[0].parent
    assert (folder / "report.md").is_file()  # the others are there
    assert list(folder.glob(".*.part")) == []


def test_a_renderer_that_fails_leaves_the_screen_and_is_no_success(matrix: Matrix) -> None:
    plugin = (
        "from pytest_codexsandbox.reports import markdown\n"
        "def pytest_configure():\n"
        "    markdown.render = lambda *_: [][1]\n"
    )
    words = ("--codex-only=process.exit-code-kept", "--codex-report=markdown")
    run = matrix.run(*words, files={"conftest.py": plugin})
    assert run.code == 11, run.out
    assert "IndexError: list index" in run.out
    assert re.search(r"exit 11: .* not written: report\.md", run.out)


def test_an_exit_code_changed_by_another_plugin_is_kept(matrix: Matrix) -> None:
    plugin = "def pytest_sessionfinish(session):\n    session.exitstatus = 1\n"
    run = matrix.run("--codex-only=filesystem.outside-mode-refused", files={"conftest.py": plugin})
    assert run.code == 1, run.out
    assert " failed outside " in run.out


def test_a_fault_of_another_plugin_at_the_end_leaves_a_journal_without_end_and_nothing_else(matrix: Matrix) -> None:
    plugin = "def pytest_sessionfinish():\n    raise RuntimeError('not ours')\n"
    run = matrix.run("--codex-only=process.exit-code-kept", files={"conftest.py": plugin})
    assert run.code == 1, run.out  # pytest lets such an error through as it is
    assert "not ours" in run.out
    assert run.journal.end is None
    name = run.reports[0].parent.name  # other tests kill runs that share this cache
    assert list((matrix.cache / "runs").glob(f"{name}-*")) == []


NEVER_STARTS = """#!{python} -IS
import os, sys
words = sys.argv[1:]
if "--" in words and not any("danger-full-access" in word for word in words):
    sys.exit("bwrap: Creating new namespace failed: No space left on device")
os.execv({codex!r}, [{codex!r}, *words])
"""
KNOWN = """
[[deviation]]
id = "no-namespaces-here"
promise = "start.sandbox-is-on"
direction = "denied"
fingerprint = "userns-limit"
where = { codex = "candidate", policy = ["read-only", "workspace-write*"] }
reason = "this machine has none to give"
issue = "https://example.org/1"
owner = "me"
until = 2099-01-01
"""


def test_a_run_whose_starts_are_all_known_to_fail_is_no_success(matrix: Matrix, tmp_path: Path) -> None:
    """What works without a sandbox, as asked, is measured in the same cell and stands for none."""
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(NEVER_STARTS.format(python=sys.executable, codex=installed_codex(matrix.cache).binary))
    wrapper.chmod(0o755)
    words = ("--codex-only=filesystem.workspace-writable", "--codex-expectations=known.toml")
    run = matrix.run(f"--codex-bin={wrapper}@0.163.0", *words, files={"known.toml": KNOWN})
    counts = run.journal.counts()
    assert counts["expected"] and counts["unconfined"] and not counts["violates"] + counts["stale"], run.out
    assert run.code == 11, run.out
    assert f"exit 11: {SANDBOX_WAS_OFF}" in run.out


@pytest.mark.parametrize(
    ("lacks", "told"),
    [
        ("exit=101, room=4096, stderr=b'registry: No space left on device'", "disk is full: 4 KiB were free"),
        (
            "exit=101, refused_processes=3, stderr=b'Os { message: Resource temporarily unavailable }'",
            "no more processes: the kernel refused 3",
        ),
        ("ended='signal', signal=9, oom_kills=2", "memory was full: the kernel ended 2 of its processes"),
    ],
)
def test_an_exhausted_resource_is_no_finding(matrix: Matrix, lacks: str, told: str) -> None:
    """Sixteen calls of Codex at once end as on a machine that has no room for them."""
    text = (
        "import msgspec\nfrom pytest_codexsandbox.environments.agent_environment import AgentEnvironment\n"
        "run = AgentEnvironment.run_together\n\n\n"
        "def lacking(self, commands):\n"
        "    done = run(self, commands)\n"
        "    if len(commands) < 2 or 'sandbox' not in commands[0].argv:\n"
        "        return done\n"
        f"    words = dict(stdout=b'', {lacks})\n"
        "    return (*done[:-1], msgspec.structs.replace(done[-1], **words))\n\n\n"
        "AgentEnvironment.run_together = lacking\n"
    )
    run = matrix.run("--codex-only=process.sixteen-calls-at-once", files={"conftest.py": text})
    assert run.code == 10, run.out
    (record,) = [one for key, one in run.journal.states().items() if key.promise == "process.sixteen-calls-at-once"]
    assert record.verdict.value == "broken"
    assert told in record.reason


def test_a_codex_that_cannot_be_started_is_no_finding(matrix: Matrix) -> None:
    """Its first call starts, the promise's own does not: that no exit code was kept says nothing about it."""
    text = (
        "from pytest_codexsandbox.environments.agent_environment import AgentEnvironment\n"
        "from pytest_codexsandbox.model.command import CommandResult\n"
        "run, calls = AgentEnvironment.run_together, []\n\n\n"
        "def refused(self, commands):\n"
        "    calls.extend(command for command in commands if command.argv[0].endswith('/codex'))\n"
        "    if len(calls) < 2 or commands[0] not in calls:\n"
        "        return run(self, commands)\n"
        "    failed = CommandResult(ended='not-started', error='codex: Too many open files')\n"
        "    return tuple(failed for _ in commands)\n\n\n"
        "AgentEnvironment.run_together = refused\n"
    )
    run = matrix.run("--codex-only=process.exit-code-kept,workspace-write", files={"conftest.py": text})
    found = {key.promise: record for key, record in run.journal.states().items()}
    assert run.code == 10, run.out
    assert found["start.sandbox-is-on"].verdict is Verdict.CONFORMS
    assert found["process.exit-code-kept"].verdict is Verdict.BROKEN
    assert "Too many open files" in found["process.exit-code-kept"].reason
    assert "ulimit -n" in run.out
