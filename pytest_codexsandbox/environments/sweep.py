"""Sweep: finds leftovers of killed runs by the owner files in their folders, and removes them if the owner is surely
dead.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.environments.run_dirs import OWNER, RUN, Owner, end_marked, left_in_shared, marked, remove

_DEPTH: Final = 4


class EnvironmentDir(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of one environment, or of a run that holds none (any more)."""

    folder: Path
    state: Literal["lives", "dead", "unknown"]
    owner: Owner

    @property
    def what(self) -> str:
        return f"{self.folder} (of process {self.owner.pid} on {self.owner.node})"

    @property
    def by_hand(self) -> str:
        return f"rm -rf '{self.folder}'"

    def remove(self) -> tuple[str, ...]:
        """Ends its processes, removes its folder and its files in shared folders. Returns what stays, and why."""
        word = self.owner.word
        end_marked(word)
        failed = remove(self.folder, word)
        failed += [f"process {pid} does not end" for pid in marked(word)]
        failed += [f"{path} still exists" for path in left_in_shared(word)]
        return tuple(failed)


def find(top: Path) -> Iterator[EnvironmentDir]:
    """Yields every environment below `top`, and every run without one, of any owner."""
    for path in _owner_files(top, _DEPTH):
        try:
            owner = msgspec.json.decode(path.read_bytes(), type=Owner)
        except (OSError, msgspec.MsgspecError):  # removed meanwhile, or not our file
            continue
        yield EnvironmentDir(folder=path.parent, state=owner.state, owner=owner)


def _owner_files(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name == OWNER and entry.is_file() and not entry.is_symlink():
            yield entry
            return
    below = [path for one in entries if depth and _is_folder(one) for path in _owner_files(one, depth - 1)]
    yield from below or [one for one in entries if one.name == RUN and one.is_file() and not one.is_symlink()]


def _is_folder(entry: Path) -> bool:
    return entry.is_dir() and not entry.is_symlink()
