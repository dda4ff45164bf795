"""This machine's name."""

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.environments import run_dirs
from pytest_codexsandbox.environments.host_facts import start_time, this_machine
from pytest_codexsandbox.environments.run_dirs import Owner
from pytest_codexsandbox.model.ids import is_value


def test_it_is_made_of_axis_values_and_always_the_same() -> None:
    machine = this_machine()
    assert all(is_value(part) for part in machine.id.split("~"))
    assert machine.id == f"{machine.distro}~host~local"
    assert (machine.backend, machine.provenance, machine.synthetic) == ("local", "host", False)
    assert is_value(machine.arch)
    assert machine is this_machine()


def test_a_zombie_is_no_process_any_more() -> None:
    child = subprocess.Popen(["sleep", "60"])
    began = start_time(child.pid)
    owner = msgspec.structs.replace(Owner.me("beefbeef"), pid=child.pid, start=began)
    states = [owner.state]
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is still in the table
    try:
        assert Path(f"/proc/{child.pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
        assert start_time(child.pid) == 0
        states.append(owner.state)
    finally:
        child.wait()
    assert states == ["lives", "dead"]
    assert start_time(os.getpid()) > 0


def test_a_process_whose_first_thread_has_ended_still_runs() -> None:
    """The kernel calls it a zombie, and its other threads work."""
    script = (
        "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); "
        "print(flush=True); ctypes.CDLL(None).pthread_exit(None)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        stat = Path(f"/proc/{child.pid}/stat")
        limit = time.monotonic() + 30
        while stat.read_bytes().rpartition(b")")[2].split()[0] != b"Z" and time.monotonic() < limit:
            time.sleep(0.01)
        try:
            assert stat.read_bytes().rpartition(b")")[2].split()[0] == b"Z"
            assert start_time(child.pid) > 0
        finally:
            child.kill()


def test_if_processes_of_others_are_hidden_no_owner_is_called_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """/proc mounted with hidepid: another user's run that lives looks as if it were none."""
    gone = msgspec.structs.replace(Owner.me("beefbeef"), pid=(1 << 22) + 1, start=5)
    table = {1: 7, 12: 6}
    monkeypatch.setattr(run_dirs, "start_time", lambda pid: table.get(pid, 0))
    states = [gone.state]
    del table[1]
    states.append(gone.state)
    assert states == ["dead", "unknown"]
    assert msgspec.structs.replace(gone, pid=12).state == "dead", "its number is another's by now"
    assert msgspec.structs.replace(gone, pid=12, start=6).state == "lives"
