"""The private folders of one generator at a time: laid for a case, looked at, emptied for the next.

The folders themselves stay, since they are shown to processes that live on. What was in them is put away and removed
at the end: a file system that remembers removed files makes every new one dear.
"""

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.errors import MachineFault, WrongInput
from pytest_codexsandbox.generators import placeholders
from pytest_codexsandbox.generators.outcomes import as_files
from pytest_codexsandbox.guest import paths, staging
from pytest_codexsandbox.model.generator import Case, Declaration, Files, FileState

_SHARED: Final = ("/tmp", "/dev/shm", "/run", "/var/run")
_FOLDERS: Final = {
    "HOME": "home", "CODEX_HOME": "home/.codex", "WORKSPACE": "workspace", "ROOT0": "root0", "SIBLING": "sibling",
    "OUTSIDE": "outside", "TMPDIR": "tmp",
}  # fmt: skip
_BEHIND: Final = "dotfiles/codex.toml"  # below HOME: where a config.toml that is a link leads
_BEHIND_HOME: Final = "dotfiles/codex"
_MOST_STRAYED: Final = 50
LAUNCHES: Final = "launches"  # below the own folder: what the stub saw


class Stage:
    """`folder` is made. `inside`: what the generator calls its folders, where that is not what we call them."""

    def __init__(self, folder: Path, inside: Mapping[str, str] | None = None) -> None:
        self.folder = Path(os.path.realpath(folder))
        _refuse_shared(self.folder)
        self.root, self.away, self._cleared = (self.folder / name for name in ("stage", "away", "cleared"))
        self.own = str(self.root / "own")
        try:
            for path in (self.root, self.away, self._cleared):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as problem:
            raise MachineFault("no private folders can be made for generators", where=str(folder),
                               why=problem.strerror or str(problem)) from problem  # fmt: skip
        self.folders = {name: str(self.root / place) for name, place in _FOLDERS.items()}
        self.inside = {**self.folders, **(inside or {})}
        self._base: set[str] = set()
        self._count = 0
        self.fresh()

    @property
    def is_elsewhere(self) -> bool:
        return self.inside != self.folders

    @property
    def paths(self) -> dict[str, str]:
        """Placeholder → path, as the generator knows it."""
        return self.paths_of(0)

    def paths_of(self, number: int) -> dict[str, str]:
        """For one of several that run at once: its request and its result are its own."""
        return placeholders.of_folders(self.inside, self._own_of(number))

    def _own_of(self, number: int) -> str:
        return f"{self.own}/{number}" if number else self.own

    # ---- before
    def fresh(self) -> None:
        """Every folder is there and empty."""
        self._count += 1
        grave = self._cleared / str(self._count)
        self._put_away(str(self.root), grave)
        for path in (*self.folders.values(), self.own):
            Path(path).mkdir(mode=0o755, exist_ok=True)
        Path(self.folders["TMPDIR"]).chmod(0o700)

    def lay(self, case: Case, values: Mapping[str, str], declaration: Declaration) -> None:
        """The user's files, and what the tool needs to be there."""
        if case.link in ("symlinked-home", "missing-home"):
            self._without_codex_home(behind=case.link == "symlinked-home")
        entries = [*_of_config(case, values, self.folders["HOME"]), *_of_files(case.files, values, self.inside)]
        setup = {path: placeholders.fill(text, values).encode() for path, text in declaration.setup.items()}
        try:
            staging.lay(self.folders, [*_of_files(setup, values, self.inside), *entries])
        except (OSError, ValueError) as problem:
            raise MachineFault(
                f"the case {case.id!r} cannot be laid", where=str(self.root), why=str(problem)
            ) from problem

    def _without_codex_home(self, *, behind: bool) -> None:
        place = Path(self.folders["CODEX_HOME"])
        place.rmdir()
        if behind:
            (Path(self.folders["HOME"]) / _BEHIND_HOME).mkdir(parents=True)
            place.symlink_to(_BEHIND_HOME)

    def ready(self, request: bytes, number: int = 0) -> None:
        """For one run: the request is there, and nothing that an earlier one said. `number`: of several at once."""
        if not number:
            self._count += 1
            self._put_away(self.own, self._cleared / str(self._count))
        path = f"{number}/request.json" if number else "request.json"
        staging.lay({"OWN": self.own}, [{"top": "OWN", "kind": "file", "path": path, "content": request}])

    # ---- after
    def files(self) -> Files:
        found = as_files(staging.snapshot(self.folders))
        return {
            name: msgspec.structs.replace(state, target=placeholders.shown(state.target, self.inside))
            if state.kind == "symlink" else state
            for name, state in found.items()
        }  # fmt: skip

    def told(self, number: int = 0) -> FileState | None:
        """The result that it gave, if it gave one."""
        path = f"@OWN@/{number}/result.json" if number else "@OWN@/result.json"
        return as_files(staging.snapshot({"OWN": self.own})).get(path)

    def launches(self) -> tuple[bytes, ...]:
        """What the stub wrote down."""
        found = as_files(staging.snapshot({"OWN": self.own}))
        head = f"@OWN@/{LAUNCHES}/"
        recorded = sorted(name for name in found if name.startswith(head) and name.endswith(".json"))
        return tuple(found[name].content for name in recorded)

    # ---- the machine's own folders, as empty ones of ours
    def private(self, path: str) -> str:
        """The empty folder that is shown in the place of `path`."""
        folder = self.away / path.strip("/").replace("/", "%")
        folder.mkdir(mode=0o700, exist_ok=True)
        return str(folder)

    def settle(self) -> None:
        """What is in them now belongs there: points to mount on."""
        self._base = set(self._strays())

    def strayed(self) -> tuple[str, ...]:
        """What was written into them, by the machine's own names; it is removed."""
        found = [name for name in self._strays() if name not in self._base]
        tops = [name for name in found if name.rpartition("/")[0] not in found]
        for name in tops:
            folder, _, rest = name.partition("/")
            self._removed(self.away / folder, rest)
        leaves = [name for name in found if not any(other.startswith(f"{name}/") for other in found)]
        return tuple(_real_name(name) for name in leaves[:_MOST_STRAYED])

    def is_whole(self) -> bool:
        """Whether every point to mount on is still where it was."""
        return self._base <= set(self._strays())

    def _strays(self) -> dict[str, Any]:
        seen = staging.snapshot({"AWAY": str(self.away)})
        names = {name.removeprefix("@AWAY@/"): state for name, state in seen.items() if name.startswith("@AWAY@/")}
        return {name: state for name, state in names.items() if "/" in name}

    def _removed(self, folder: Path, rest: str) -> None:
        above, _, name = rest.rpartition("/")
        try:
            here = paths.folder(str(folder), f"{folder}/{above}".rstrip("/"))
        except OSError:
            return
        try:
            paths.remove(name, here)
        finally:
            os.close(here)

    # ---- putting away
    def _put_away(self, folder: str, grave: Path) -> None:
        for entry in tuple(Path(folder).iterdir()):
            name = entry.name
            try:
                grave.mkdir(exist_ok=True)
                entry.rename(grave / name)
            except OSError:  # closed to us by who made it: removing opens it first
                here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    left = paths.remove(name, here)
                finally:
                    os.close(here)
                if left:
                    raise MachineFault(
                        "private folders cannot be emptied", where=folder, why="; ".join(left[:3])
                    ) from None

    def end(self) -> None:
        with suppress(OSError):
            here = os.open(self.folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                paths.remove(self.folder.name, here)
            finally:
                os.close(here)


def place(folder: Path) -> Path:
    """A new name for a stage below a run's folder."""
    return folder / f"stage-{secrets.token_hex(4)}"


def _refuse_shared(folder: Path) -> None:
    for top in (*_SHARED, *filter(None, (os.environ.get("CODEX_HOME"),))):
        real = Path(os.path.realpath(top))
        if folder == real or real in folder.parents:
            raise WrongInput(
                f"{folder} lies below {top}",
                why="Codex refuses its helpers there, and every policy that may write lets it write there",
                next_step="set CODEXSANDBOX_CACHE to a folder of yours that lies elsewhere",
            )


def _of_config(case: Case, values: Mapping[str, str], home: str) -> list[dict[str, Any]]:
    config = {"top": "CODEX_HOME", "path": "config.toml"}
    if case.link == "directory":
        return [{**config, "kind": "dir"}]
    if case.link == "dangling":
        return [
            {"top": "HOME", "kind": "dir", "path": "dotfiles"},
            {**config, "kind": "symlink", "to": f"../{_BEHIND}"},
        ]
    if case.config is None or case.link == "missing-home":
        return []
    file = {"kind": "file", "content": placeholders.fill_bytes(case.config, values), "mode": case.mode}
    if case.link == "symlinked-home":
        return [{"top": "HOME", **file, "path": f"{_BEHIND_HOME}/config.toml"}]
    if case.link == "symlink":
        return [{"top": "HOME", **file, "path": _BEHIND}, {**config, "kind": "symlink", "to": f"../{_BEHIND}"}]
    if case.link == "hardlink":
        return [{"top": "HOME", **file, "path": _BEHIND}, {**config, "kind": "hardlink", "to": f"{home}/{_BEHIND}"}]
    return [{**config, **file}]


def _of_files(files: Mapping[str, bytes], values: Mapping[str, str], inside: Mapping[str, str]) -> list[dict[str, Any]]:
    """A name that ends in `/` is a folder."""
    entries = []
    for name, content in files.items():
        path = placeholders.shown(placeholders.fill(name, values), inside)
        top, _, rest = path.partition("/")
        if top.strip("@") not in inside or not rest.strip("/"):
            raise WrongInput(f"{name!r} lies in none of the private folders", next_step="@HOME@/…, @WORKSPACE@/…")
        kind = "dir" if name.endswith("/") else "file"
        entries.append({"top": top.strip("@"), "kind": kind, "path": rest.rstrip("/"),
                        "content": placeholders.fill_bytes(content, values)})  # fmt: skip
    return entries


def _real_name(stray: str) -> str:
    folder, _, rest = stray.partition("/")
    return f"/{folder.replace('%', '/')}/{rest}"
