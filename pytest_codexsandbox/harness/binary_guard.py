"""Whether a Codex is still the program whose digest the journal names.

A build of the user's own may be built anew, and an installed one brought up to date, while a run goes on: what the new
program does is no result of the old one. A script may start another Codex today than a moment ago: of the programs that
it starts the kernel tells the path and the file.
"""

from collections.abc import Iterable
from pathlib import Path

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.model.launched_program import program_of
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.releases.binary_cache import digest_of, is_script


class BinaryGuard:
    """Reads a file again only when the kernel says that it was written."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._digests: dict[str, str] = {}  # by path; "" of one that could not be read from the start
        self._scripts: set[str] = set()
        self._started: dict[tuple[str, str], tuple[str, int]] = {}  # by where and by whom: path and file

    def remember(self, binary: str) -> None:
        if binary in self._digests:
            return
        self._digests[binary] = self._digest(binary)
        if self._digests[binary] and is_script(binary):
            self._scripts.add(binary)

    def need(self, binary: str) -> None:
        """HarnessError where it is another program by now, or none."""
        first = self._digests.get(binary, "")
        now = self._digest(binary) if first else ""
        if now != first:
            told = f"it was sha256 {first[:12]}, and is {f'{now[:12]} now' if now else 'gone'}"
            raise HarnessError(
                "this Codex was replaced while the run went on",
                where=binary,
                why=told,
                next_step="leave it alone until the run has ended, or measure a copy of it",
            )

    def need_started(self, place: str, binary: str, seen: Iterable[Observation]) -> None:
        """HarnessError where these calls started another program than those before them did."""
        if not self.is_script(binary):
            return
        for program in filter(None, (program_of(one.readings) for one in seen)):
            first = self._started.setdefault((place, binary), program)
            if program != first:
                same = program[0] == first[0]
                told = f"a new file at {first[0]}" if same else f"{program[0]}, in earlier calls {first[0]}"
                raise HarnessError(
                    "this Codex starts another program than before",
                    where=binary,
                    why=told,
                    next_step="name the program itself: --codex-bin PATH",
                )

    def is_script(self, binary: str) -> bool:
        """As it was from the start."""
        return binary in self._scripts

    def _digest(self, binary: str) -> str:
        try:
            return digest_of(binary, self._cache)
        except OSError:
            return ""
