"""What killed runs left: found by the owner files in their folders, removed when the owner is surely dead."""

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
    left: tuple[str, ...] = ()  # what could not be removed, and why

    @property
    def what(self) -> str:
        return f"{self.folder} (of process {self.owner.pid} on {self.owner.node})"

    @property
    def by_hand(self) -> str:
        return f"rm -rf '{self.folder}'"


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """A container or a network of ours in an engine. Volumes and images are kept for later runs."""

    kind: Literal["container", "network"]
    id: str
    name: str
    state: Literal["lives", "dead", "unknown"]
    owner: Owner
    host: str
    left: tuple[str, ...] = ()  # why it could not be removed

    @property
    def what(self) -> str:
        return f"{self.kind} {self.name} (of process {self.owner.pid} on {self.owner.node})"

    @property
    def by_hand(self) -> str:
        verb = "rm -f" if self.kind == "container" else "network rm"
        return f"docker -H {self.host} {verb} {self.id[:12]}"


def find(top: Path) -> Iterator[EnvironmentDir]:
    """Every environment below `top`, and every run without one, whoever it belongs to."""
    for path in _owner_files(top, _DEPTH):
        try:
            owner = msgspec.json.decode(path.read_bytes(), type=Owner)
        except (OSError, msgspec.MsgspecError):  # removed meanwhile, or nothing of ours
            continue
        yield EnvironmentDir(folder=path.parent, state=owner.state, owner=owner)


def sweep(found: EnvironmentDir) -> EnvironmentDir:
    """End its processes, remove its folder and what is named for it in shared folders."""
    word = found.owner.word
    end_marked(word)
    failed = remove(found.folder, word)
    failed += [f"process {pid} does not end" for pid in marked(word)]
    failed += [f"{path} is still there" for path in left_in_shared(word)]
    return msgspec.structs.replace(found, left=tuple(failed))


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
