"""Each kernel verb of the probe, in this process: what it returns, and the errno and step of a failure."""

import errno
import fcntl
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.guest import probe, probe_kernel_verbs
from pytest_codexsandbox.guest.kernel_objects import KernelObjects
from pytest_codexsandbox.matrix.requirements import OFFERS

Row = dict[str, Any]


def done(verb: str, **params: Any) -> Row:
    return probe.perform({"id": "t/a", "verb": verb, "path": "", "params": params})


def worked(verb: str, **params: Any) -> str:
    row = done(verb, **params)
    assert row["ok"], row
    return str(row["value"])


def needs(offer: str) -> None:
    if offer not in probe_kernel_verbs.offers():
        pytest.skip(f"this kernel does not offer {offer}")


@pytest.mark.parametrize("name", list(probe_kernel_verbs.CALLS))
def test_the_kernel_itself_judges_a_call(name: str) -> None:
    needs("io-uring")
    worked("kernel-call", name=name)


def test_an_answer_that_is_not_the_kernels_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    needs("io-uring")
    monkeypatch.setitem(probe_kernel_verbs.CALLS, "io_uring_setup", (425, (1, 1), errno.EBADF))
    with pytest.raises(OSError, match="Bad address"):
        probe_kernel_verbs.do_kernel_call("", {"name": "io_uring_setup"})


def test_a_child_is_traced_and_ends() -> None:
    needs("ptrace")
    worked("trace")
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("name", ["process_vm_readv", "process_vm_writev"])
def test_memory_is_reached_by_a_number(name: str) -> None:
    needs("memory")
    worked("memory", by=name)


def test_machine_code_of_another_abi_makes_a_socket() -> None:
    needs("other-abi")
    before = len(list(Path("/proc/self/fd").iterdir()))
    worked("other-abi", abi="i386")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_child_hands_over_its_answer_its_errno_and_its_signal() -> None:
    def refuses() -> int:
        raise OSError(errno.EROFS, "")

    def dies() -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    assert probe_kernel_verbs.in_child(lambda: 7) == 7
    with pytest.raises(OSError) as refused:
        probe_kernel_verbs.in_child(refuses)
    assert refused.value.errno == errno.EROFS
    with pytest.raises(Exception, match="SIGKILL"):
        probe_kernel_verbs.in_child(dies)


@pytest.mark.parametrize("user", [False, True])
def test_a_remount_changes_no_mount_outside_its_child(user: bool) -> None:
    before = _own_mounts()
    row = done("remount", user=user)
    assert row["ok"] or row["errno"], row
    assert before and _own_mounts() == before


def _own_mounts() -> list[str]:
    """Returns the mounts of this machine without those of containers, which start and end beside this test."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if not line.split()[4].startswith(("/var/lib/docker", "/run/docker", "/run/user"))]


@pytest.fixture
def kept() -> dict[str, str]:
    """What an agent keeps, made in a child: a session keyring would stay this process's own."""
    needs("memory")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        values = KernelObjects(f"test{os.getpid()}").values
        found = [done("segment", number=values["SEGMENT"]), done("key", name=values["KEY"])]
        os.write(writing, json.dumps([values, found]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        values, rows = json.loads(pipe.read())
    os.waitpid(child, 0)
    for name, row in zip(("SEGMENT", "KEY"), rows, strict=True):
        assert not values[name] or row["value"].startswith("kept-test"), row
    return dict(values)


def test_objects_of_the_agent_end_with_it(kept: dict[str, str]) -> None:
    assert kept["SEGMENT"]
    assert done("segment", number=kept["SEGMENT"])["errno"] in ("EINVAL", "EIDRM")
    assert not done("key", name=kept["KEY"] or "cx-none")["ok"]


def test_a_family_that_the_kernel_has_not_loaded_is_not_asked_for() -> None:
    worked("family", known="NETLINK", family=16, type=3)
    row = done("family", known="NO-SUCH-PROTOCOL", family=16, type=3)
    assert (row["errno"], row["step"]) == ("EAFNOSUPPORT", "socket")


def test_only_netlink_is_asked_for_where_the_list_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "")

    worked("namespace", name="net")  # reads probe_kernel_verbs.py
    monkeypatch.setattr(sys.modules["probe_kernel_verbs"], "open", refuses, raising=False)
    worked("family", known="NETLINK", family=16, type=3)
    row = done("family", known="MPTCP", family=2, type=1)
    assert (row["errno"], row["step"]) == ("EAFNOSUPPORT", "protocols")


def test_devices_are_listed_with_their_kind() -> None:
    found = json.loads(worked("devices"))
    assert found["/dev/null"] == "c"
    assert not any(name.startswith("/dev/shm/") for name in found)


def test_a_terminal_is_listed_and_is_no_lasting_device() -> None:
    ours, theirs = os.openpty()
    name = os.ttyname(theirs)
    found = json.loads(worked("devices"))
    os.close(ours)
    os.close(theirs)
    assert found[name] == "c"
    assert probe_kernel_verbs.lasting([name, "/dev/kmsg"]) == {"/dev/kmsg"}


def test_a_namespace_has_a_number() -> None:
    assert worked("namespace", name="net") == str(Path("/proc/self/ns/net").readlink())


def test_a_process_without_a_terminal_types_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: False)
    row = done("terminal", push=True)
    assert (row["errno"], row["step"]) == ("ENOTTY", "isatty")


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_the_first_stream_that_is_a_terminal_is_typed_into(monkeypatch: pytest.MonkeyPatch, stream: int) -> None:
    typed: list[int] = []
    monkeypatch.setattr(os, "isatty", lambda one: one >= stream)
    monkeypatch.setattr(fcntl, "ioctl", lambda one, *_: typed.append(one))
    worked("terminal", push=True)
    assert typed == [stream]


@pytest.mark.parametrize(("family", "address"), [("inet", "127.0.0.1"), ("inet6", "::1")])
def test_a_server_serves_itself(family: str, address: str) -> None:
    row = done("serve", family=family, address=address)
    assert row["value"] == "through the server" or (family == "inet6" and row["errno"]), row


def test_a_datagram_is_sent_by_sendmmsg() -> None:
    assert worked("send-many") == "through the loopback"


def test_each_offer_is_a_requirement_of_promises() -> None:
    words = {word.partition(":")[2] for word in OFFERS}
    assert words == {*probe_kernel_verbs.OFFERS, "segment", "key"}


def test_the_verbs_are_announced_to_a_hook() -> None:
    heard: list[str] = []

    def hook(event: str, words: tuple[Any, ...]) -> None:
        if event == "codexsandbox.kernel":
            heard.append(str(words[0]))

    sys.addaudithook(hook)
    done("kernel-call", name="io_uring_setup")
    done("segment", number="-1")
    assert heard == ["io_uring_setup", "shmat"]


def test_typing_is_offered_where_a_terminal_takes_it() -> None:
    offered = "typing" in probe_kernel_verbs.offers()
    child, terminal = os.forkpty()
    if not child:
        try:
            fcntl.ioctl(0, probe_kernel_verbs.TIOCSTI, b"x")
            os._exit(0)
        finally:
            os._exit(1)
    taken = os.waitpid(child, 0)[1] == 0
    os.close(terminal)
    assert offered is taken
