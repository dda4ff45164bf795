"""Memory limits: whether the kernel killed a process here, or refused a new one, because of this environment's
limits.
"""

from __future__ import annotations

import os
from typing import Final

# cgroup v2, v1; as they are seen from inside (a container sees its own).
_FILES: Final = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_PROCESSES: Final = ("/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events")
EXPENDABLE: Final = 500


def oom_kills() -> int:
    """Returns how many processes the kernel has killed for lack of memory so far; 0 where it does not count them."""
    return _counted("oom_kill", _FILES)


def refused_processes() -> int:
    """Returns how many processes or threads the kernel has refused so far; 0 where it does not count them."""
    return _counted("max", _PROCESSES)


def _counted(word: str, paths: tuple[str, ...]) -> int:
    for path in paths:
        try:
            with open(path, encoding="ascii") as file:
                counts = dict(line.split()[:2] for line in file if len(line.split()) >= 2)
        except (OSError, ValueError):
            continue
        if word in counts:
            return int(counts[word])
    return 0


def expendable(pid: int) -> None:
    """Makes the kernel kill this process before the agent when memory is short, so that the agent can report its
    end.
    """
    try:
        with open(f"/proc/{pid}/oom_score_adj", "w", encoding="ascii") as file:
            file.write(str(EXPENDABLE))
    except OSError:
        pass


def is_ours_alone() -> bool:
    """Checks whether the agent is the first process here, as in a container; elsewhere the machine's settings stay."""
    return os.getpid() == 1
