"""What is this machine's own: its agent may die, /tmp may be shared, folders may have long names."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_codexsandbox.contract.process_tools import GENEROUS, fresh, python, sh, shell
from pytest_codexsandbox.environments import run_dirs
from pytest_codexsandbox.environments.agent_environment import AgentEnvironment
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.environments.local import HAND, LocalBackend
from pytest_codexsandbox.errors import EnvironmentLost, HarnessError
from pytest_codexsandbox.guest.wire import pack
from pytest_codexsandbox.model.act import Given
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.protocols import SpawnedProcess

SHORT = 1.0
RUN = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()  # what a person has started


@pytest.fixture
def environment(folder: Path) -> Iterator[AgentEnvironment]:
    with LocalBackend().open(this_machine(), folder / "here") as environment:
        yield environment


def test_a_hand_that_is_killed_is_lost_and_not_awaited(folder: Path) -> None:
    """The parent of a command is the agent."""
    word = f"bereft{uuid.uuid4().hex}"
    with LocalBackend().open(this_machine(), folder / "here") as environment:
        world = environment.world()
        begun = time.monotonic()
        done = environment.run(shell(world, f"kill -KILL $PPID; sleep 1000; : {word}", timeout=20 * GENEROUS))
        assert time.monotonic() - begun < 10 * GENEROUS
        assert done.ended == "lost"
        assert "agent has ended" in done.error
        with pytest.raises(EnvironmentLost, match="agent has ended"):
            environment.world()
    assert not [one for one in Path("/proc").glob("[0-9]*/cmdline") if word.encode() in _read(one)]
    assert not (folder / "here").exists()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_command_that_ran_when_the_agent_was_ended_is_lost_and_shows_nothing_about_the_subject(folder: Path) -> None:
    """An engine that is stopped asks a container's first process to end: that ends what runs, which is no finding."""
    with LocalBackend().open(this_machine(), folder / "e") as environment:
        world = environment.world()
        done = environment.run(shell(world, "kill -TERM $PPID; sleep 30"))
    assert done.ended == "lost"
    assert "the agent" in done.error


def test_a_fault_inside_the_hand_says_what_it_was(environment: AgentEnvironment) -> None:
    with pytest.raises(HarnessError, match="no_such_word"):
        environment._client.ask("no-such-word")
    assert sh(environment, "echo still here").stdout == b"still here\n"


def test_work_that_fails_because_the_hand_died_says_so(folder: Path) -> None:
    with pytest.raises(EnvironmentLost) as raised, LocalBackend().open(this_machine(), folder / "here") as environment:
        world = environment.world()
        os.kill(int(environment.run(shell(world, "echo $PPID")).stdout), signal.SIGKILL)
        environment.look(world, ["@WORKSPACE@"])
    assert "agent has ended" in str(raised.value)
    assert run_dirs.audit() == ()


# ---- what is measured is this machine
def test_no_user_namespace_of_the_harness_surrounds_a_command(environment: AgentEnvironment) -> None:
    said = sh(environment, "readlink /proc/self/ns/user /proc/self/ns/net /proc/self/ns/pid").stdout.decode().split()
    assert said == [os.readlink(f"/proc/self/ns/{name}") for name in ("user", "net", "pid")]  # noqa: PTH115


def test_a_tmp_of_its_own_goes_with_a_mount_namespace_of_its_own(environment: AgentEnvironment) -> None:
    theirs = sh(environment, "readlink /proc/self/ns/mnt").stdout.decode().strip()
    apart = theirs != os.readlink("/proc/self/ns/mnt")  # noqa: PTH115
    assert environment.facts()["private_tmp"] is apart
    assert os.geteuid() == 0 or not apart
    with fresh(environment) as world:
        environment.run(shell(world, f": >/tmp/{world.fill('@NAME@')}"))
        assert Path(world.fill("/tmp/@NAME@")).exists() is not apart
        assert environment.look(world, ["@TMP@/@NAME@"])["@TMP@/@NAME@"].kind == "file"


def test_a_program_that_lies_in_the_machines_tmp_can_be_run(environment: AgentEnvironment, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="codexsandbox-tests-", dir="/tmp") as shared:
        program = Path(shared, "deep", "program")
        program.parent.mkdir()
        program.write_text("#!/bin/sh\ncat $(dirname $0)/beside\n")
        program.chmod(0o755)
        program.with_name("beside").write_text("found")
        (folder / "link").symlink_to(program)
        for path in (program, folder / "link"):
            done = environment.run(Command(argv=(str(path),), cwd="/", env={"PATH": "/usr/bin:/bin"}))
            assert done.ended == "exit", done
            assert done.stdout == (b"found" if path == program else b"")


# ---- turns
def test_a_run_that_waits_too_long_for_a_shared_tmp_gets_the_reason(folder: Path) -> None:
    backend = LocalBackend(own_tmp=False, turn_timeout=SHORT)
    with backend.open(this_machine(), folder / "here") as environment, fresh(environment) as world:
        held = os.open("/tmp", os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            done = environment.run(shell(world, "echo never"))
            assert done.ended == "not-started"
            assert "/tmp" in done.error and f"(pid {RUN})" in done.error
            with pytest.raises(HarnessError, match=rf"\(pid {RUN}\)"):
                environment.spawn(shell(world, "echo never"))
        finally:
            os.close(held)


def test_the_turn_comes_when_the_other_run_gives_it_back(folder: Path) -> None:
    with LocalBackend(own_tmp=False).open(this_machine(), folder / "here") as environment, fresh(environment) as world:
        held = os.open("/tmp", os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        threading.Timer(SHORT, os.close, (held,)).start()
        begun = time.monotonic()
        assert environment.run(shell(world, "echo now")).stdout == b"now\n"
        assert time.monotonic() - begun >= SHORT / 2
        assert environment.run(shell(world, "echo again")).stdout == b"again\n"


def test_a_run_that_waits_for_its_turn_gets_the_owner_and_one_that_does_not_wait_gets_no_line(folder: Path) -> None:
    backend, told, threads = LocalBackend(own_tmp=False), list[str](), list[threading.Thread]()
    live: list[SpawnedProcess] = []

    def say(line: str) -> None:
        told.append(line)
        threads.append(threading.current_thread())
        for one in live:
            one.close()

    spec = this_machine()
    for attempt in range(50):
        told.clear()
        threads.clear()
        folders = folder / f"{attempt}-one", folder / f"{attempt}-two"
        with backend.open(spec, folders[0]) as one, backend.open(spec, folders[1], say=say) as two:
            assert sh(two, "echo free").stdout == b"free\n"
            if told:  # another test on this machine had its turn just then
                continue
            with fresh(one) as world:
                live.append(one.spawn(shell(world, "sleep 1000")))
                assert sh(two, "echo now").stdout == b"now\n"
                live.append(one.spawn(shell(world, "sleep 2")))
                assert sh(two, "echo again").stdout == b"again\n"
                live[-1].close()
        break
    assert len(told) == 1 and f"/tmp (pid {RUN})" in told[0] and "300 s" in told[0]
    assert threads == [threading.current_thread()]  # not one that could speak in the middle of another's words


def test_calls_of_two_environments_never_overlap_in_a_shared_tmp(folder: Path) -> None:
    """Each makes a folder for a moment: two at once would fail."""
    backend = LocalBackend(own_tmp=False)
    spec = this_machine()
    with backend.open(spec, folder / "one") as one, backend.open(spec, folder / "two") as two:
        script = f"mkdir {folder}/alone && sleep 0.02 && rmdir {folder}/alone"
        with ThreadPoolExecutor(2) as pool:
            rounds = list(pool.map(lambda at: [sh(at, script).exit for _ in range(10)], (one, two)))
        assert rounds == [[0] * 10] * 2


# ---- the client
def test_many_threads_may_ask_at_once(environment: AgentEnvironment) -> None:
    with fresh(environment) as world, ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(environment.run, shell(world, f"echo {at}")) for at in range(40)]
        assert [one.result().stdout for one in asked] == [f"{at}\n".encode() for at in range(40)]


def test_folders_with_names_too_long_for_a_socket_work(folder: Path) -> None:
    folder = folder / ("long" * 30) / ("longer" * 30)
    script = """
        import os, socket, sys
        os.chdir(os.path.dirname(sys.argv[1]))
        one = socket.socket(socket.AF_UNIX)
        one.connect(os.path.basename(sys.argv[1]))
        one.send(sys.argv[2].encode() + b"\\n")
        print(one.recv(100).decode().strip() == sys.argv[2])
    """
    with LocalBackend().open(this_machine(), folder) as environment, fresh(environment) as world:
        assert len(world.values["UNIX"]) > 200
        word = world.fill("@NAME@")
        assert environment.run(python(world, script, world.values["UNIX"], word)).stdout == b"True\n"
        assert environment.arrivals(word) == ("unix",)
        stream = environment.dial(f"unix:{world.values['UNIX']}")
        stream.send(b"hello\n")
        assert stream.receive(6, GENEROUS)
        stream.close()


def test_a_folder_with_odd_letters_works(folder: Path) -> None:
    with LocalBackend().open(this_machine(), folder / "a b'ä\n$(x)") as environment, fresh(environment) as world:
        environment.lay(world, [Given(kind="sqlite", path="@WORKSPACE@/x?#%.db")])
        assert sh(environment, "pwd").stdout.decode().strip().endswith("/project")


# ---- leaks
def test_a_leak_of_the_harness_is_named(environment: AgentEnvironment) -> None:
    assert run_dirs.audit() == ()
    with fresh(environment) as world:
        word = next(word for word in run_dirs._opened if world.id.startswith(word))
    leak = Path("/dev/shm", f"tmp-{word}w9-leak")
    run_dirs.now_closed(word)
    try:
        leak.write_text("")
        assert [line for line in run_dirs.audit() if str(leak) in line]
        assert [line for line in run_dirs.audit() if line.startswith("folder ")]
    finally:
        leak.unlink()
        run_dirs.now_open(word)


def test_a_folder_of_the_machines_tmp_that_was_shown_is_never_emptied(environment: AgentEnvironment) -> None:
    """Its name looks like one of ours, and it lies in our own /tmp for the sake of the program in it."""
    with tempfile.TemporaryDirectory(prefix="cx-", dir="/tmp") as folder:
        program = Path(folder, "program")
        program.write_text("#!/bin/sh\necho found\n")
        program.chmod(0o755)
        with fresh(environment):
            assert environment.run(Command(argv=(str(program),), cwd="/", env={})).stdout == b"found\n"
        assert program.exists()


def test_a_runner_that_stops_reading_does_not_keep_the_hand(folder: Path) -> None:
    """The pipes of a dead runner may live on in another process; here nobody ever reads what the agent says."""
    reading, writing = os.pipe()
    answers, said = os.pipe()
    hello = {"id": 1, "op": "hello", "folder": str(folder), "word": "beef", "own_tmp": False, "turn_timeout": 1}
    with subprocess.Popen([sys.executable, "-I", "-S", str(HAND)], stdin=reading, stdout=said, cwd="/") as hand:
        os.close(reading)
        for piece in pack({**hello, "watch_parent": False}):
            os.write(writing, piece)
        (folder / "big").write_bytes(bytes(3_000_000))
        for piece in pack({"id": 2, "op": "get", "path": str(folder / "big"), "limit": 1 << 30}):
            os.write(writing, piece)
        assert os.read(answers, 4)
        os.close(writing)
        hand.wait(GENEROUS)
    os.close(answers)
    os.close(said)
    assert sorted(path.name for path in folder.iterdir()) == ["big"]


def test_databases_are_created_again_after_a_subject_has_ended_their_helper(
    environment: AgentEnvironment,
) -> None:
    """It maps the -shm of what it keeps open: whoever cuts that file ends it. What it kept is seen by nobody then."""
    held = Given(kind="sqlite-held", path="@OUTSIDE@/read.db", content="reader")
    with fresh(environment) as world:
        environment.lay(world, [held])
        cut = "import os, sys; [os.truncate(sys.argv[1] + end, 0) for end in ('', '-wal', '-shm')]"
        assert environment.run(python(world, cut, world.fill("@OUTSIDE@/read.db"))).exit == 0
        assert environment.look(world, ["@OUTSIDE@/read.db#rows"])["@OUTSIDE@/read.db#rows"].kind == "unreadable"
    with fresh(environment) as world:
        environment.lay(world, [Given(kind="sqlite", path="@OUTSIDE@/next.db")])
        rows = environment.look(world, ["@OUTSIDE@/next.db#rows"])["@OUTSIDE@/next.db#rows"]
        assert rows.text == '["laid outside"]'
