"""A repro script, run by a stranger's shell, shows the same errno or exit code as the call that was recorded."""

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_codexsandbox.doors.app_server import AppServerDoor
from pytest_codexsandbox.doors.controls import UnconfinedDoor
from pytest_codexsandbox.doors.exec_turn import ExecDoor
from pytest_codexsandbox.doors.repro.script import repro_script
from pytest_codexsandbox.doors.sandbox_cli import SandboxDoor
from pytest_codexsandbox.doors.support.observe import VANISHED
from pytest_codexsandbox.guest.shared_tmp import is_of_codex
from pytest_codexsandbox.model.act import FIRST_DESCRIPTOR, Act, Call, Given, Launch
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.protocols import Door, Environment, Subject
from pytest_codexsandbox.system import process
from tests.fakes.machine import run_folder

# Without /tmp and $TMPDIR: calls that share /tmp and not $TMPDIR disturb each other there, and tests run side by side.
QUIET = Policy(id="quiet", mode="workspace-write", exclude_slash_tmp=True, exclude_tmpdir=True)
QUIET_NETWORK = Policy(
    id="quiet-network", mode="workspace-write", network=True, exclude_slash_tmp=True, exclude_tmpdir=True
)
OUT = "@OUTSIDE@/@NAME@"
FILE = Given(kind="file", path=OUT, content="it's old")
DATABASE = Given(kind="sqlite", path=OUT)
REFUSED = {
    "write": Act(verb="write", path=OUT, params={"data": "x"}),
    "append": Act(verb="append", path=OUT, given=(FILE,)),
    "create": Act(verb="create", path=OUT),
    "may-write": Act(verb="may-write", path=OUT, given=(FILE,)),
    "mkdir": Act(verb="mkdir", path=OUT),
    "rename": Act(verb="rename", path=OUT, params={"to": f"{OUT}-b"}, given=(FILE,)),
    "unlink": Act(verb="unlink", path=OUT, given=(FILE,)),
    "link": Act(verb="link", path=OUT, params={"to": f"{OUT}-b"}, given=(FILE,)),
    "symlink": Act(verb="symlink", path=OUT, params={"to": "anything"}),
    "through": Act(
        verb="write", path="@WORKSPACE@/link", looks=(OUT,),
        given=(Given(kind="symlink", path="@WORKSPACE@/link", content=OUT),),
    ),
    "sqlite": Act(verb="sqlite", path=OUT, params={"sql": ["INSERT INTO t VALUES(1)"]}, given=(DATABASE,)),
    "socket": Act(verb="socket", params={"family": "inet", "type": "stream"}),
    "http": Act(verb="http", params={"port": "@HTTP@", "token": "@NAME@"}),
    "dns": Act(verb="dns", params={"port": "@DNS@", "name": "@NAME@.test"}),
    "unix-connect": Act(verb="unix-connect", params={"address": "@UNIX@", "token": "@NAME@"}),
}  # fmt: skip
WORDS = {
    "EROFS": "Read-only file system",
    "EPERM": "Operation not permitted",
    "SQLITE_READONLY": "attempt to write a readonly database",
    "SQLITE_CANTOPEN": "unable to open database file",
}


@pytest.fixture
def home() -> Iterator[Path]:
    with run_folder() as folder:
        yield folder


def record(
    machine: Environment, codex: Subject, acts: dict[str, Act], policy: Policy = QUIET, **call: object
) -> Observation:
    words = {"timeout": 120.0, **call}
    (seen,) = SandboxDoor().observe(machine, codex, policy, acts, Call(**words))  # type: ignore[arg-type]
    assert not seen.error, seen.error
    return seen


def codex_left() -> set[str]:
    """Names of Codex in the machine's /tmp, at a moment in which no call of ours is going on."""
    with closing_fd(os.open("/tmp", os.O_RDONLY)) as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        return {one.name for one in os.scandir("/tmp") if is_of_codex(one.name) and mine(one)}


@contextmanager
def closing_fd(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def mine(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_uid == os.getuid()
    except FileNotFoundError:
        return False


def show(script: str, home: Path) -> CommandResult:
    """Run it as a stranger would, in an empty folder, and see that it leaves nothing there."""
    file = home / "repro.sh"
    file.write_text(script)
    before = codex_left()
    for _ in range(3):
        ended = process.run(
            Command(
                argv=("sh", str(file)), cwd=str(home), env={"PATH": os.environ["PATH"], "HOME": str(home)}, timeout=180
            )
        )
        if not VANISHED.search(ended.stderr):  # a container of another test that ended just then
            break
    assert ended.ended == "exit", ended
    assert sorted(path.name for path in home.iterdir()) == [".cache", "repro.sh"]
    assert list((home / ".cache").iterdir()) == []
    assert codex_left() <= before
    return ended


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_shown_with_the_same_errno(machine: Environment, codex: Subject, home: Path, name: str) -> None:
    acts = {f"shown.again/{name}": REFUSED[name]}
    seen = record(machine, codex, acts)
    row = seen.rows[f"shown.again/{name}"]
    assert not row.ok and row.errno in WORDS
    ended = show(repro_script(seen, acts=acts), home)
    assert WORDS[row.errno] in ended.stderr.decode()
    assert ended.exit not in (0, 126, 127) and b"exit code" in ended.stdout


@pytest.mark.parametrize("door", [AppServerDoor(), ExecDoor()], ids=lambda door: door.name)
def test_a_refusal_behind_another_door_is_shown_through_that_door(
    machine: Environment, codex: Subject, home: Path, door: Door
) -> None:
    (seen,) = door.observe(machine, codex, QUIET, {"shown.again/write": REFUSED["write"]}, Call(timeout=120.0))
    assert seen.rows["shown.again/write"].errno == "EROFS", seen.stderr
    for acts in ({"shown.again/write": REFUSED["write"]}, {}):  # in a person's words, and by the probe
        ended = show(repro_script(seen, acts=acts), home)
        said = (ended.stderr + ended.stdout).decode()
        assert "Read-only file system" in said or '"errno": "EROFS"' in said, said
        assert b"exit code" in ended.stdout


@pytest.mark.parametrize("verb", ["http", "dns", "unix-connect"])
def test_a_write_outside_arrives_again(machine: Environment, codex: Subject, home: Path, verb: str) -> None:
    acts = {f"shown.again/{verb}": REFUSED[verb]}
    seen = record(machine, codex, acts, QUIET_NETWORK)
    assert seen.rows[f"shown.again/{verb}"].ok and len(seen.arrivals) == 1
    ended = show(repro_script(seen, acts=acts), home)
    assert ended.exit == 0 and b"seen from outside" in ended.stdout


def test_a_file_that_was_written_is_shown(machine: Environment, codex: Subject, home: Path) -> None:
    acts = {"shown.again/w": Act(verb="write", path="@WORKSPACE@/@NAME@", params={"data": "it's new"})}
    ended = show(repro_script(record(machine, codex, acts), acts=acts), home)
    assert ended.exit == 0
    before, after = ended.stdout.decode().split("== exit code 0")
    assert "does not exist" in before and "it's new" in after


def test_an_exit_code_is_shown(machine: Environment, codex: Subject, home: Path) -> None:
    acts = {"shown.again/e": Act(verb="exit", params={"code": 7})}
    assert show(repro_script(record(machine, codex, acts), acts=acts), home).exit == 7


def test_a_variable_is_shown(machine: Environment, codex: Subject, home: Path) -> None:
    acts = {"shown.again/e": Act(verb="env", params={"names": ["CODEX_SANDBOX_NETWORK_DISABLED"]})}
    ended = show(repro_script(record(machine, codex, acts), acts=acts), home)
    assert ended.exit == 0 and ended.stdout.startswith(b"1\n")


def test_an_effect_that_only_the_probe_shows_is_shown_by_the_probe(
    machine: Environment, codex: Subject, home: Path
) -> None:
    acts = {"shown.again/w": REFUSED["write"], "shown.again/r": Act(verb="read", path="@WORKSPACE@/none")}
    ended = show(repro_script(record(machine, codex, acts), acts=acts), home)
    assert ended.exit == 0
    assert '"errno": "EROFS"' in ended.stdout.decode() and '"errno": "ENOENT"' in ended.stdout.decode()


def test_a_command_that_no_sandbox_sees_is_shown(machine: Environment, codex: Subject, home: Path) -> None:
    seen = record(machine, codex, {}, argv=("@HIDDEN@", "@OUTSIDE@/@NAME@"))
    assert (seen.code, "No such file or directory" in seen.stderr) == (101, True)
    ended = show(repro_script(seen), home)
    assert ended.exit == 101 and b"Failed to execvp /proc/" in ended.stderr
    assert b"No such file or directory" in ended.stderr
    (control,) = UnconfinedDoor().observe(
        machine, codex, QUIET, {}, Call(argv=("@HIDDEN@", "@OUTSIDE@/@NAME@"), timeout=120.0)
    )
    assert control.code == 0
    assert show(repro_script(control), home).exit == 0


def test_a_users_command_is_shown_as_it_was_typed(machine: Environment, codex: Subject, home: Path) -> None:
    acts = {"user/run": Act(verb="become", params={"argv": ["sh", "-c", "echo $0; exit 5", "typed"]})}
    seen = record(machine, codex, acts)
    assert (seen.code, seen.stdout) == (5, "typed\n")
    script = repro_script(seen, acts={})
    assert "probe.py" not in script
    ended = show(script, home)
    assert (ended.exit, ended.stdout.count(b"typed\n")) == (5, 1), ended


def test_a_call_with_its_own_command_and_input_is_shown(machine: Environment, codex: Subject, home: Path) -> None:
    argv = ("sh", "-c", "cat > @WORKSPACE@/said; cat @WORKSPACE@/said; exit 3")
    seen = record(machine, codex, {}, argv=argv, stdin=b"said 'so'\n")
    assert (seen.code, seen.stdout) == (3, "said 'so'\n")
    ended = show(repro_script(seen, stdin=b"said 'so'\n"), home)
    assert ended.exit == 3 and b"said 'so'" in ended.stdout


# ---- how the caller starts and ends a call
LEFT = "@OUTSIDE@/left-open"
LEFT_FILE = Given(kind="file", path=LEFT)
LAUNCHED = Launch(descriptors=("folder:@OUTSIDE@", f"file:{LEFT}", "unix:@UNIX@"))
LEAKS = {
    "folder": (
        Act(
            verb="create-below",
            params={"descriptor": FIRST_DESCRIPTOR, "name": "@NAME@"},
            given=(LEFT_FILE,),
            looks=(OUT,),
        ),
        LAUNCHED,
        "-rw",
    ),
    "file": (
        Act(
            verb="write-descriptor",
            params={"descriptor": FIRST_DESCRIPTOR + 1, "data": "let through"},
            looks=(LEFT,),
            given=(LEFT_FILE,),
        ),
        LAUNCHED,
        "  | let through",
    ),
    "socket": (
        Act(verb="write-descriptor", params={"descriptor": FIRST_DESCRIPTOR + 2, "data": "@NAME@"}, given=(LEFT_FILE,)),
        LAUNCHED,
        "bytes reached the unix server",
    ),
    "stdin": (
        Act(verb="reopen", params={"descriptor": 0, "data": "let through"}, given=(LEFT_FILE,), looks=(LEFT,)),
        Launch(stdin_file=LEFT),
        "  | let through",
    ),
}


@pytest.mark.parametrize("kind", LEAKS)
def test_an_open_descriptor_lets_the_same_through_again(
    machine: Environment, codex: Subject, home: Path, kind: str
) -> None:
    act, launch, shown = LEAKS[kind]
    acts, call = {f"shown.again/{kind}": act}, Call(launch=launch, timeout=120.0)
    seen = record(machine, codex, acts, launch=launch)
    assert seen.rows[f"shown.again/{kind}"].ok, seen.rows  # a known deviation of the real Codex
    ended = show(repro_script(seen, acts=acts, call=call), home)
    assert ended.exit == 0, ended
    assert shown in ended.stdout.decode(), ended
    without = show(repro_script(seen, acts=acts), home).stdout.decode()
    assert shown not in without, without


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_signal_to_codex_alone_leaves_the_same_processes(
    machine: Environment, codex: Subject, home: Path, number: signal.Signals
) -> None:
    acts = {"shown.again/wait": Act(verb="beat", params={"seconds": 20})}
    call = Call(interrupt_after=0.2, timeout=60.0, launch=Launch(signal=int(number), signal_alone=True))
    seen = record(machine, codex, acts, interrupt_after=0.2, timeout=60.0, launch=call.launch)
    assert seen.survivors and not seen.finished, seen
    ended = show(repro_script(seen, acts=acts, call=call), home)
    said = ended.stdout.decode()
    assert f"== signal {int(number)} to" in said
    assert "still running: " in said and ended.exit == 128 + number, said
    (control,) = UnconfinedDoor().observe(machine, codex, QUIET, acts, call)
    assert "still running" not in show(repro_script(control, acts=acts, call=call), home).stdout.decode()
