"""Whether the kernel ended somebody here, or let nobody begin, because this environment may have no more."""

from __future__ import annotations

import os
from typing import Final

# cgroup v2, v1; as they are seen from inside (a container sees its own).
_FILES: Final = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_PROCESSES: Final = ("/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events")
EXPENDABLE: Final = 500


def oom_kills() -> int:
    """How often it ended one for want of memory so far; 0 where nobody counts."""
    return _counted("oom_kill", _FILES)


def refused_processes() -> int:
    """How often it refused one more process or thread so far; 0 where nobody counts."""
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
    """It dies before the agent does: then its end can still be told."""
    try:
        with open(f"/proc/{pid}/oom_score_adj", "w", encoding="ascii") as file:
            file.write(str(EXPENDABLE))
    except OSError:
        pass


def is_ours_alone() -> bool:
    """Whether we are the first process here, as in a container: else a machine's own choice stands."""
    return os.getpid() == 1
