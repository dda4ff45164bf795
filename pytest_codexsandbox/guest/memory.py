"""Whether the kernel ended somebody here because the memory that this environment may use was full."""

from __future__ import annotations

import os
from typing import Final

# cgroup v2, v1; as they are seen from inside (a container sees its own).
_FILES: Final = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
EXPENDABLE: Final = 500


def oom_kills() -> int:
    """How often so far; 0 where nobody counts."""
    for path in _FILES:
        try:
            with open(path, encoding="ascii") as file:
                counts = dict(line.split()[:2] for line in file if len(line.split()) >= 2)
        except (OSError, ValueError):
            continue
        if "oom_kill" in counts:
            return int(counts["oom_kill"])
    return 0


def expendable(pid: int) -> None:
    """It dies before the hand does: then its end can still be told."""
    try:
        with open(f"/proc/{pid}/oom_score_adj", "w", encoding="ascii") as file:
            file.write(str(EXPENDABLE))
    except OSError:
        pass


def is_ours_alone() -> bool:
    """Whether we are the first process here, as in a container: else a machine's own choice stands."""
    return os.getpid() == 1
