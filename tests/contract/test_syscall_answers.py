"""The questions that the agent puts to the kernel, on this machine: harmless, in children, and with an end."""

import errno
import os
import signal
from pathlib import Path

from pytest_codexsandbox.guest import bare_tools, syscall_answers
from pytest_codexsandbox.guest.confinement import confinement

PLAIN = {  # what a kernel says to whom nobody filters
    "clone-userns": "EINVAL", "clone3": "EINVAL", "setns": "EBADF", "mount": "EFAULT", "mount-proc": "EFAULT",
    "umount": "EFAULT", "netlink-send": "EBADF", "send": "EBADF", "open-beside": "EBADF", "write-8": "EBADF",
    "seccomp": "EFAULT", "prctl-seccomp": "EFAULT", "mount-setattr": "EINVAL",
}  # fmt: skip


def is_filtered() -> bool:
    return "Seccomp:\t0" not in Path("/proc/self/status").read_text()


def namespaces() -> dict[str, str]:
    return {path.name: str(path.readlink()) for path in Path("/proc/self/ns").iterdir()}


def names_in(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def test_every_question_has_an_answer_and_the_asker_stays_what_it_was() -> None:
    before = namespaces(), len(names_in("/proc/self/fd")), names_in("/")
    found = syscall_answers.answers()
    assert (namespaces(), len(names_in("/proc/self/fd")), names_in("/")) == before
    names = [name for name, _ in (*syscall_answers._plain(), *syscall_answers._chain(os.getuid()))]
    assert list(found) == names
    known = {"ok", *errno.errorcode.values(), "SIGSYS"}
    assert {name: answer for name, answer in found.items() if answer not in known} == {}
    if not is_filtered():
        assert {name: found[name] for name in PLAIN} == PLAIN
        assert syscall_answers.mark() == ""


def test_a_question_that_kills_costs_its_own_answer_only() -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGSYS)

    def refuse() -> None:
        raise OSError(errno.EPERM, "")

    def stumble() -> None:
        raise ValueError("a fault of ours")

    asked = [("first", lambda: None), ("deadly", die), ("ours", stumble), ("later", refuse)]
    assert syscall_answers.asked_all(asked) == {
        "first": "ok",
        "deadly": "SIGSYS",
        "ours": "no answer",
        "later": "EPERM",
    }


def test_facts_of_this_machine() -> None:
    found = confinement()
    assert found["rootfs"] in ("ro", "rw")
    assert "lo" in found["interfaces"].split()
    assert set(found["caps"].split()).isdisjoint(found["caps_missing"].split())
    assert found["answers"]


# ---- what the two programs say by themselves
PROGRAM = """#!/bin/sh
case "$*" in
  *--unshare-net*) echo first >&2; echo "bwrap: it may not" >&2; exit 1;;
  *--proc*) exit 3;;
esac
"""


def test_the_answer_of_bubblewrap_is_its_last_line(tmp_path: Path) -> None:
    (tmp_path / "bwrap").write_text(PROGRAM)
    (tmp_path / "bwrap").chmod(0o755)
    said = bare_tools.said(str(tmp_path))
    assert said == {"bwrap": "ok", "bwrap-net": "bwrap: it may not", "bwrap-proc": "exit code 3"}


def test_without_both_tools_there_is_no_answer(tmp_path: Path) -> None:
    assert bare_tools.said(str(tmp_path)) == {}


def test_one_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    (tmp_path / "unshare").write_text(f"#!{tmp_path}/not-there\n")
    (tmp_path / "unshare").chmod(0o755)
    assert "No such file or directory" in bare_tools.said(str(tmp_path))["unshare"]
