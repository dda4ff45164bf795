"""Whether a Codex is still the program whose digest the journal names.

A build of the user's own may be built anew, and an installed one brought up to date, while a run goes on: what the new
program does is no result of the old one.
"""

from pathlib import Path

from pytest_codexsandbox.errors import MachineFault
from pytest_codexsandbox.releases.known_binaries import digest_of


class Unchanged:
    """Reads a file again only when the kernel says that it was written."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._digests: dict[str, str] = {}  # by path; "" of one that could not be read from the start

    def remember(self, binary: str) -> None:
        self._digests.setdefault(binary, self._digest(binary))

    def need(self, binary: str) -> None:
        """MachineFault where it is another program by now, or none."""
        first = self._digests.get(binary, "")
        now = self._digest(binary) if first else ""
        if now != first:
            told = f"it was sha256 {first[:12]}, and is {f'{now[:12]} now' if now else 'gone'}"
            raise MachineFault(
                "this Codex was replaced while the run went on", where=binary, why=told,
                next_step="leave it alone until the run has ended, or measure a copy of it",
            )  # fmt: skip

    def _digest(self, binary: str) -> str:
        try:
            return digest_of(binary, self._cache)
        except OSError:
            return ""
