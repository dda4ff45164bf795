"""Codex leftovers: files that calls of Codex left in a shared /tmp after their agent was killed."""

import fcntl
import os
from typing import Final

from pytest_codexsandbox.guest.process_tree import all_processes
from pytest_codexsandbox.guest.shared_tmp import TMP, CodexNames

_CODEX: Final = ("codex", "bwrap")  # how processes are called in whose sandbox such a folder may be a mount point
_OURS: Final = "codexsandbox"


def take_away() -> tuple[str, ...]:
    """Removes empty files of this user that only Codex makes; none while another process may use them."""
    turn = os.open(TMP, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if any(one.name.startswith(_CODEX) and not one.name.startswith(_OURS) for one in all_processes()):
            return ()
        names = CodexNames([TMP], before=())
        names.clean()
        return tuple(names.removed)
    except BlockingIOError:
        return ()
    finally:
        os.close(turn)
