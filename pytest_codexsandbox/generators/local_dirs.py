"""Private folders on this machine.

The folders themselves stay, because long-lived processes have them mounted. Their content is moved away and removed at
the end: on a file system that remembers removed files, each removal makes every new file slower.
"""

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.errors import HarnessError, InputError, os_errors_as
from pytest_codexsandbox.generators.private_dirs import PLACES, PrivateDirs
from pytest_codexsandbox.guest import generator_dirs, safe_paths

_SHARED: Final = ("/tmp", "/dev/shm", "/run", "/var/run")
_MOST_STRAYED: Final = 50


class LocalDirs(PrivateDirs):
    """Creates `folder`. `inside`: the paths that the generator sees, where they differ from the real ones."""

    def __init__(self, folder: Path, inside: Mapping[str, str] | None = None) -> None:
        self.folder = Path(os.path.realpath(folder))
        _refuse_shared(self.folder)
        self.root, self.away, self._cleared = (self.folder / name for name in ("stage", "away", "cleared"))
        with os_errors_as(HarnessError, "cannot create private folders for generators", where=folder):
            for path in (self.root, self.away, self._cleared):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
        places = {name: str(self.root / place) for name, place in PLACES.items()}
        super().__init__(places, str(self.root / "own"), inside)
        self._base: set[str] = set()
        self._count = 0
        self.fresh()

    def act(self, op: str, tops: Mapping[str, str], **words: Any) -> Any:
        return generator_dirs.snapshot(tops) if op == "snapshot" else generator_dirs.lay(tops, words["entries"])

    def fresh(self) -> None:
        self._put_away(str(self.root))
        for path in (*self.folders.values(), self.own):
            Path(path).mkdir(mode=0o755, exist_ok=True)
        Path(self.folders["TMPDIR"]).chmod(0o700)

    def empty(self, tops: Mapping[str, str]) -> None:
        for top in tops.values():
            self._put_away(top)

    # ---- empty folders that replace the machine's own
    def private(self, path: str) -> str:
        """Returns the empty folder that replaces `path` for the generator, and creates it if needed."""
        folder = self.away / path.strip("/").replace("/", "%")
        folder.mkdir(mode=0o700, exist_ok=True)
        return str(folder)

    def settle(self) -> None:
        """Remembers the present content of the replaced folders: it consists of mount points."""
        self._base = set(self._strays())

    def strayed(self) -> tuple[str, ...]:
        """Removes what was written into the replaced folders and returns its real paths."""
        found = [name for name in self._strays() if name not in self._base]
        tops = [name for name in found if name.rpartition("/")[0] not in found]
        for name in tops:
            folder, _, rest = name.partition("/")
            self._removed(self.away / folder, rest)
        leaves = [name for name in found if not any(other.startswith(f"{name}/") for other in found)]
        return tuple(_real_name(name) for name in leaves[:_MOST_STRAYED])

    def is_whole(self) -> bool:
        """Checks whether every mount point is still where it was."""
        return self._base <= set(self._strays())

    def _strays(self) -> dict[str, Any]:
        seen = generator_dirs.snapshot({"AWAY": str(self.away)})
        names = {name.removeprefix("@AWAY@/"): state for name, state in seen.items() if name.startswith("@AWAY@/")}
        return {name: state for name, state in names.items() if "/" in name}

    def _removed(self, folder: Path, rest: str) -> None:
        above, _, name = rest.rpartition("/")
        try:
            here = safe_paths.folder(str(folder), f"{folder}/{above}".rstrip("/"))
        except OSError:
            return
        try:
            safe_paths.remove(name, here)
        finally:
            os.close(here)

    # ---- putting away
    def _put_away(self, folder: str) -> None:
        self._count += 1
        grave = self._cleared / str(self._count)
        for entry in tuple(Path(folder).iterdir()):
            try:
                grave.mkdir(exist_ok=True)
                entry.rename(grave / entry.name)
            except OSError:  # its maker took the permissions away: `remove` restores them first
                here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    left = safe_paths.remove(entry.name, here)
                finally:
                    os.close(here)
                if left:
                    why = "; ".join(left[:3])
                    raise HarnessError("private folders cannot be emptied", where=folder, why=why) from None

    def end(self) -> None:
        with suppress(OSError):
            here = os.open(self.folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                safe_paths.remove(self.folder.name, here)
            finally:
                os.close(here)


def place(folder: Path) -> Path:
    """Returns a new path for private folders below a run's folder."""
    return folder / f"stage-{secrets.token_hex(4)}"


def _refuse_shared(folder: Path) -> None:
    for top in (*_SHARED, *filter(None, (os.environ.get("CODEX_HOME"),))):
        real = Path(os.path.realpath(top))
        if folder == real or real in folder.parents:
            raise InputError(
                f"{folder} is below {top}",
                why="Codex may write there under every writable policy, and does not start its helpers there",
                next_step="set CODEXSANDBOX_CACHE to your own folder elsewhere",
            )


def _real_name(stray: str) -> str:
    folder, _, rest = stray.partition("/")
    return f"/{folder.replace('%', '/')}/{rest}"
