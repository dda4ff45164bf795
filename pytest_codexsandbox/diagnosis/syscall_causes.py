"""Syscall causes: names the cause of a failed start from what the environment answered directly, without Codex.

The agent queries the kernel (guest/syscall_answers.py). A query with an impossible address distinguishes a filter from
the kernel. The kernel answers EFAULT or EBADF; only a filter, which acts first, answers anything else.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from pytest_codexsandbox.model.bare_tools import DIRECTLY
from pytest_codexsandbox.model.record import Diagnosis

OK: Final = "ok"
STEPS: Final = {  # in the order of a sandbox; step → its name, and the step that it depends on
    "userns": ("a user namespace", ""),
    "uid-map": ("its uid_map", "userns"),
    "mntns": ("a mount namespace", "userns"),
    "mount-slave": ("mount(2) of / as slave", "mntns"),
    "pivot-root": ("pivot_root(2)", "mntns"),
    "mount-setattr": ("mount_setattr(2), which bubblewrap calls from 0.13 on", "mntns"),
    "netns": ("a network namespace", "userns"),
    "loopback": ("an address for its loopback, by netlink", "netns"),
    "pidns": ("a process namespace", "userns"),
    "proc": ("a fresh /proc", "pidns"),
    "seccomp": ("a filter of system calls", ""),
    "landlock": ("Landlock, by which Codex before 0.115 confines", ""),
}
KERNEL_SAYS: Final = {  # to a question with an invalid address or descriptor
    "userns": ("clone-userns", "EINVAL"),
    "uid-map": ("open-beside", "EBADF"),
    "mount-slave": ("mount", "EFAULT"),
    "mount-setattr": ("mount-setattr", "EINVAL"),
    "loopback": ("netlink-send", "EBADF"),
    "proc": ("mount-proc", "EFAULT"),
    "seccomp": ("seccomp", "EFAULT"),
}
_NEVER_OK: Final = ("seccomp", "mount-setattr")  # they are asked with what cannot be
_AS_GOOD: Final = {"mount-setattr": "ENOSYS"}  # from an older kernel: bubblewrap then goes another way


def with_measured(diagnosis: Diagnosis, facts: Mapping[str, str]) -> Diagnosis:
    """Adds to a cause what this environment refused without Codex."""
    words = told_of(facts)
    if not words:
        return diagnosis
    cause = diagnosis.cause if diagnosis.cause.endswith(".") else f"{diagnosis.cause}."
    return msgspec.structs.replace(diagnosis, cause=f"{cause} {words}")


def told_of(facts: Mapping[str, str]) -> str:
    """Returns one sentence about what the environment refuses; "" if it was not queried."""
    if "answers.userns" not in facts:
        return ""
    found = [f"{_what(step, facts)} ({errno}{_by(step, facts)})" for step, errno in refused(facts)]
    if not found:
        return f"{DIRECTLY}refuses nothing that a sandbox needs{_alone(facts)}."
    return f"{DIRECTLY}refuses {', '.join(found)}."


def _alone(facts: Mapping[str, str]) -> str:
    """Describes how bubblewrap itself started (guest/bare_tools.py), since the cause then is in bubblewrap or in
    Codex.
    """
    said = facts.get("bare.bwrap-net", "")
    if said == OK:
        return ", and the bwrap on PATH starts there by itself"
    return f", and the bwrap on PATH says by itself: {said.rstrip('.')}" if said else ""


def refused(facts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the refused steps with their errnos; of dependent steps only the first."""
    gone: set[str] = set()
    for step, (_, needs) in STEPS.items():
        answer = facts.get(f"answers.{step}", OK)
        usual = KERNEL_SAYS[step][1] if step in _NEVER_OK else OK
        if needs in gone:
            gone.add(step)
        elif answer not in (OK, usual, _AS_GOOD.get(step)):
            gone.add(step)
            yield step, answer


def _what(step: str, facts: Mapping[str, str]) -> str:
    """Describes a step. The question uses unshare(2); if only that is refused, a bubblewrap that uses clone(2) may
    start.
    """
    what = STEPS[step][0]
    return f"{what} by unshare(2), though not by clone(2)" if step == "userns" and _unshare_alone(facts) else what


def _unshare_alone(facts: Mapping[str, str]) -> bool:
    """Checks whether a filter refuses unshare(2) only.

    The kernel refuses unshare(0) to no process. It answers a clone(2) that reaches it with its own errno.
    """
    question, usual = KERNEL_SAYS["userns"]
    return facts.get("answers.unshare", OK) != OK and facts.get(f"answers.{question}") == usual


def _by(step: str, facts: Mapping[str, str]) -> str:
    """Returns words that name a filter of system calls if the filter refused this step before the kernel; else ""."""
    if step == "userns" and _unshare_alone(facts):
        return ", by a filter of system calls"
    question, usual = KERNEL_SAYS.get(step, ("", ""))
    answer = facts.get(f"answers.{question}", usual)
    return ", by a filter of system calls" if answer not in (OK, usual) else ""
