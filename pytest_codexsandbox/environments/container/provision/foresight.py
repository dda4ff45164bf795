"""What cannot be had on this machine, as far as that is known before anything is tried: for plans, which start nothing.

Known are the data, the tools that are installed, what the lock file says is there, and why the last try failed. No
engine and no network is asked.
"""

import time
from pathlib import Path
from typing import Final

from pytest_codexsandbox.environments.container.provision import bootstrap, wanted
from pytest_codexsandbox.environments.container.provision.lockfile import Failure, Locked, LockFile
from pytest_codexsandbox.environments.container.provision.wanted import Wanted

BELIEVED: Final = 24 * 3600.0  # seconds: after that a failed try says nothing about today


class Foresight:
    """As things stand at its making."""

    def __init__(self, cache: Path, *, now: float = 0.0) -> None:
        self._cache, self._now = cache, now or time.time()
        self._locked: Locked = LockFile(cache).read()
        self._told: dict[Wanted, str] = {}

    def why_not(self, want: Wanted) -> str:
        """ "" where it is there, or may be had when it is tried."""
        if want not in self._told:
            self._told[want] = self._why_not(want)
        return self._told[want]

    def _why_not(self, want: Wanted) -> str:
        image = want.image
        if image.reference:
            return ""
        if want.bubblewrap and not image.bubblewrap:
            return f"{image.name} has no bubblewrap of its own"
        if wanted.digest(want) in self._locked.images:
            return ""
        failed = self._locked.failures.get(wanted.base_digest(image))
        if failed is not None and 0 <= self._now - failed.when < BELIEVED:
            return f"{failed.short}, {self._ago(failed)} (try again: codexsandbox images build {image.name})"
        lack = None if image.pull else bootstrap.lacking(image, self._cache)
        return str(lack or "")

    def _ago(self, failed: Failure) -> str:
        minutes = int(self._now - failed.when) // 60
        return (
            f"{minutes // 60} hours ago" if minutes >= 120 else f"{minutes} minutes ago" if minutes > 1 else "just now"
        )
