"""Bare tools: the messages of bubblewrap and unshare without Codex, as a person sees who runs them by hand."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Dict, Final  # noqa: UP035

_LONGEST: Final = 5  # seconds
ASKED: Final = {
    "bwrap": "bwrap --die-with-parent --unshare-user --unshare-pid --ro-bind / / true",
    "bwrap-net": "bwrap --die-with-parent --unshare-user --unshare-pid --unshare-net --ro-bind / / true",
    "bwrap-proc": "bwrap --die-with-parent --unshare-user --unshare-pid --ro-bind / / --proc /proc true",
    "unshare": "unshare --user --map-root-user true",
}


def said(path: str) -> Dict[str, str]:  # noqa: UP006
    """Returns `ok`, or the last line of its messages, for each tool that is on this PATH."""
    found = {}
    for name, line in ASKED.items():
        words = line.split()
        program = shutil.which(words[0], path=path)
        if program:
            found[name] = _last_words([program, *words[1:]], path)
    return found


def _last_words(argv: list[str], path: str) -> str:
    environ = {"PATH": path, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LONGEST, env=environ, cwd=os.sep, check=False
        )
    except (OSError, subprocess.SubprocessError) as problem:
        return str(problem)[:300]
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return "ok" if done.returncode == 0 else (lines[-1] if lines else f"exit code {done.returncode}")[:300]
