"""Host facts: describes this machine from files only. Starts nothing."""

import os
import platform
from functools import cache
from pathlib import Path
from typing import Final

from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.ids import as_value, cell_id

_ENDED: Final = (b"Z", b"X", b"x")


@cache
def this_machine() -> EnvironmentSpec:
    distro = _distro()
    return EnvironmentSpec(
        id=cell_id(distro, "host", "local"),
        backend="local",
        distro=distro,
        kernel="host",
        user="root" if os.getuid() == 0 else "user",
        arch=as_value(platform.machine()),
    )


def _distro() -> str:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return as_value(platform.system())
    return as_value("-".join(filter(None, (release.get("ID", "linux"), release.get("VERSION_ID", "")))))


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def start_time(pid: int) -> int:
    """Reads when a process began, in the kernel's ticks since boot; 0 when there is none.

    With it, a process id names one process. A zombie has ended, and only its parent has not looked: it is none. One
    with other threads still runs.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        if stat[0] in _ENDED and len(list(Path(f"/proc/{pid}/task").iterdir())) <= 1:
            return 0
    except OSError:
        return 0
    return int(stat[19])
