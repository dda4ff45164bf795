"""Worlds: fresh folders for each call, the files created in them, the files that appear in them, and their removal."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import subprocess
import sys
from typing import Any, Callable, Final  # noqa: UP035

from pytest_codexsandbox.guest import path_view, safe_paths
from pytest_codexsandbox.guest.event_loop import Loop
from pytest_codexsandbox.guest.shared_tmp import SHM, TMP, CodexNames, is_mount_point, is_of_codex, is_register

_FOLDERS: Final = {
    "HOME": "home", "CODEX_HOME": "codex", "WORKSPACE": "project", "OUTSIDE": "documents", "ROOT0": "data",
    "SIBLING": "sibling",
}  # fmt: skip
ROWS: Final = "#rows"  # a look at PATH#rows shows what a database holds
_MOST_KEPT: Final = 2000  # worlds
_ROOM: Final = 2 << 30  # bytes
_INODES: Final = 200_000
_SWEPT: Final = (TMP, "/var/tmp", SHM)
_SEARCHED: Final = ("WORKSPACE", "ROOT0", "SIBLING", "OUTSIDE", "HOME")


class World:
    def __init__(self, number: int, folder: str, word: str, values: dict[str, str]) -> None:
        self.id = f"{word}w{number}"
        self.folder = os.path.join(folder, f"w{number}")
        os.mkdir(self.folder, 0o700)
        own = {name: os.path.join(self.folder, base) for name, base in _FOLDERS.items()}
        for path in own.values():
            os.mkdir(path, 0o755)
        self.values = {**values, **own, "WORLD": self.folder}
        self.before: dict[str, set[str]] = {}
        self.removed_before = 0

    def owns(self, name: str) -> bool:
        """Checks whether an entry of a shared folder was named for this world."""
        return (f"tmp-{self.id}-") in name + "-"


class Worlds:
    """All worlds of an environment.

    `own_tmp`: /tmp is the environment's own, so that every new name there comes from a subject. `whole_machine`: the
    whole machine is the environment's own, so that leftovers of a call in shared folders are removed before the next.

    `keeps`: folders of cleared worlds are only moved away until the end. ext4 does not reuse the inode of a file that
    was removed in the last seconds, and scans all of them for each new file. Calls in fresh folders spent a quarter of
    their time there, Codex's own files included.
    """

    def __init__(
        self,
        folder: str,
        word: str,
        values: dict[str, str],
        *,
        own_tmp: bool,
        keeps: bool = False,
        whole_machine: bool = False,
    ) -> None:
        self._folder, self._word, self._own_tmp = folder, word, own_tmp
        self._tmpdir = os.path.join(folder, "tmp")
        os.mkdir(self._tmpdir, 0o700)
        self._away = os.path.join(folder, "cleared")
        os.mkdir(self._away, 0o700)
        self._keeps, self._kept = keeps, 0
        self._values = {**values, "TMP": TMP, "SHM": SHM, "TMPDIR": self._tmpdir}
        self._live: dict[str, World] = {}
        self._count = 0
        self._sqlite_helper: SqliteHelper | None = None
        self.names = CodexNames([TMP, self._tmpdir])
        self._loop: Loop | None = None
        self._there_before = {top: _listed(top) for top in _SWEPT} if whole_machine else {}

    def attach(self, loop: Loop) -> None:
        self._loop = loop

    def make(self) -> World:
        self._count += 1
        world = World(self._count, self._folder, self._word, self._values)
        self._live[world.id] = world
        world.before = {name: self._names(world, name) for name in (*_SEARCHED, "TMP", "SHM", "TMPDIR")}
        world.removed_before = len(self.names.removed)
        return world

    def get(self, id: str) -> World:
        try:
            return self._live[id]
        except KeyError:
            raise LookupError(f"there is no world {id!r}: it was cleared, or belongs to another environment") from None

    # ---- laying
    def lay(self, world: World, given: list[dict[str, Any]]) -> None:
        modes: list[tuple[str, int]] = []
        for one in given:
            path = safe_paths.normal(one["path"])
            top = self._top(world, path)
            here = safe_paths.made_folder(top, os.path.dirname(path))
            try:
                self._lay_one(one["kind"], path, here, one["content"])
                if one["mode"]:
                    modes.append((path, one["mode"]))
            finally:
                os.close(here)
        for path, mode in reversed(modes):  # folders last: one may be closed to us afterwards
            os.chmod(path, mode)

    def _lay_one(self, kind: str, path: str, here: int, content: str) -> None:
        name = os.path.basename(path)
        if kind == "file":
            flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(name, flags, 0o644, dir_fd=here), "wb") as file:
                file.write(content.encode("utf-8", "surrogateescape"))
        elif kind == "dir":
            _once(lambda: os.mkdir(name, 0o755, dir_fd=here))
        elif kind == "symlink":
            _once(lambda: os.symlink(content, name, dir_fd=here))
        elif kind == "hardlink":
            _once(lambda: os.link(content, name, dst_dir_fd=here, follow_symlinks=False))
        elif kind in ("sqlite", "sqlite-wal", "sqlite-held"):
            self._ask_sqlite_helper(kind, path, content)
        else:
            raise ValueError(f"unknown kind of file: {kind!r}")

    def _ask_sqlite_helper(self, kind: str, path: str, content: str = "") -> str:
        """Asks the SQLite helper, and replaces one that has ended, but not to read rows.

        The helper may be killed, because it maps files that a subject may truncate. Rows from another reader than the
        one that had the database open prove nothing.
        """
        if self._sqlite_helper is not None and not self._sqlite_helper.lives and kind != "rows":
            self._sqlite_helper.end()
            self._sqlite_helper = None
        if self._sqlite_helper is None:
            assert self._loop is not None
            self._sqlite_helper = SqliteHelper(self._loop)
        return self._sqlite_helper.ask(kind, path, content)

    # ---- looking
    def look(self, world: World, path: str) -> dict[str, Any]:
        if path.endswith(ROWS):
            return self._look_at_rows(world, path[: -len(ROWS)])
        path = safe_paths.normal(path)
        try:
            top = self._top(world, path)
        except LookupError as problem:
            return {"kind": "unreadable", "error": str(problem)}
        return path_view.path_state(top, path)

    def _look_at_rows(self, world: World, path: str) -> dict[str, Any]:
        """Returns the rows of a database as one more reader sees them. Opens only a file that no link leads to."""
        path = safe_paths.normal(path)
        seen = self.look(world, path)
        if seen["kind"] != "file":
            return seen
        try:
            text = self._ask_sqlite_helper("rows", path)
        except OSError as problem:
            return {"kind": "unreadable", "error": str(problem)}
        return {
            "kind": "file",
            "text": text,
            "size": len(text),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }

    def _top(self, world: World, path: str) -> str:
        """Returns the trusted folder above `path`, if this world may see the path."""
        for top in (world.folder, self._tmpdir):
            if path == top or safe_paths.is_below(path, top):
                return top
        for top in (TMP, SHM):
            if safe_paths.is_below(path, top):
                name = path[len(top) + 1 :].split("/")[0]
                if world.owns(name) or is_of_codex(name) or (top == TMP and self._own_tmp):
                    return top
        if path in (TMP, SHM):
            return path
        if path in (os.path.join(self._folder, name) for name in ("listener.sock", "listener.dgram", "listener.fifo")):
            return self._folder
        raise LookupError(f"{path} is not a path of this world")

    # ---- leftovers
    def litter(self, world: World, known: list[str]) -> list[str]:
        explained = [safe_paths.normal(path) for path in known]
        found = []
        for place, before in world.before.items():
            top = world.values[place]
            for name in sorted(self._names(world, place) - before):
                path = os.path.join(top, name)
                if not any(_explains(one, path) for one in explained):
                    found.append(f"@{place}@/{name}")
        removed = dict.fromkeys(self.names.removed[world.removed_before :])
        gone = [
            self._shown(path) for path in removed if path not in explained and is_mount_point(os.path.basename(path))
        ]
        return found + [name for name in gone if name not in found]

    def _shown(self, path: str) -> str:
        folder, name = os.path.split(path)
        return f"@{'TMP' if folder == TMP else 'TMPDIR'}@/{name}"

    def _names(self, world: World, place: str) -> set[str]:
        """Returns the names in a folder of the world; in a folder that others use, only those known to come from a
        subject.

        The registers that Codex keeps in a temporary folder for all its calls belong to no single call.
        """
        top = world.values[place]
        if place == "SHM" or (place == "TMP" and not self._own_tmp):
            near = path_view.names_below(top, shallow=True)
            return {name for name in near if world.owns(name) or (place == "TMP" and is_mount_point(name))}
        others = [one for one in self._live.values() if one is not world]
        return {
            name
            for name in path_view.names_below(top)
            if place not in ("TMP", "TMPDIR")
            or not (is_register(name) or any(one.owns(name.split("/")[0]) for one in others))
        }

    # ---- the end
    def clear(self, world: World, *, quiet: bool) -> list[str]:
        """Removes the world and what was named for it.

        With `quiet` (no command runs), also removes the content of TMPDIR, and on a machine of its own new names in
        shared folders. Returns what could not be removed, and why.
        """
        if self._sqlite_helper is not None:
            shared = [os.path.join(top, f"tmp-{world.id}-") for top in (TMP, SHM, self._tmpdir)]
            for beginning in (world.folder + "/", *shared):
                self._sqlite_helper.let_go(beginning)
        self._live.pop(world.id, None)
        failed = [] if self._put_away(world) else self._remove(world)
        for top in (TMP, SHM, self._tmpdir):
            failed += _removed(top, world.owns)
        if quiet and not self._live:
            failed += _removed(self._tmpdir, lambda name: not is_of_codex(name))
            for top, before in self._there_before.items():  # errors are ignored: these were reported as leftovers
                _removed(top, lambda name, before=before: name not in before and not is_register(name))  # type: ignore[misc]
        return failed

    def _put_away(self, world: World) -> bool:
        """Moves the world's folder away in place of removing it; False if disk space is short or too many are kept."""
        if not self._keeps:
            return False
        room = os.statvfs(self._away)
        if self._kept >= _MOST_KEPT or room.f_bavail * room.f_frsize < _ROOM or room.f_favail < _INODES:
            _removed(self._away, lambda name: True)
            self._kept = 0
            return False
        try:
            os.rename(world.folder, os.path.join(self._away, os.path.basename(world.folder)))
        except OSError:  # a subject has closed it to us: removing opens it first
            return False
        self._kept += 1
        return True

    def _remove(self, world: World) -> list[str]:
        return _removed(os.path.dirname(world.folder), lambda name: name == os.path.basename(world.folder))

    def end(self) -> list[str]:
        failed = []
        for world in list(self._live.values()):
            failed += self.clear(world, quiet=False)
        if self._sqlite_helper is not None:
            self._sqlite_helper.end()
        failed += _removed(self._folder, lambda name: name in ("tmp", "cleared"))
        return failed


def _once(act: Callable[[], None]) -> None:
    """Ignores an existing file, because several acts may want the same one."""
    try:
        act()
    except FileExistsError:
        pass


def _explains(known: str, path: str) -> bool:
    """Checks whether `path` is the known path, is below it, or is a folder on the way to it."""
    return path == known or safe_paths.is_below(path, known) or safe_paths.is_below(known, path)


def _listed(folder: str) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def _removed(folder: str, chosen: Callable[[str], bool]) -> list[str]:
    try:
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return [one for name in os.listdir(here) if chosen(name) for one in safe_paths.remove(name, here)]
    finally:
        os.close(here)


class SqliteHelper:
    """Client of the process that keeps databases open (sqlite_helper.py)."""

    def __init__(self, loop: Loop) -> None:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sqlite_helper.py")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}, cwd="/"
        )
        loop.child(self._process.pid, self._ended)
        self._process.returncode = 0  # the loop waits for it
        self.lives = True

    def _ended(self, status: int, usage: Any) -> None:
        self.lives = False

    def ask(self, kind: str, path: str, content: str = "") -> str:
        answer = json.loads(
            self._told(json.dumps([kind, path, content]).encode() + b"\n") or b'{"error": "it has ended"}'
        )
        if "error" in answer:
            raise OSError(f"{kind} at {path}: {answer['error']}")
        return str(answer["ok"])

    def _told(self, line: bytes) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except (OSError, ValueError):
            answer = b""
        self.lives = answer != b""
        return answer

    def let_go(self, beginning: str) -> None:
        """Closes the databases whose path starts so. A helper that has ended holds none."""
        try:
            self.ask("close", beginning)
        except OSError:
            pass

    def end(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # of a line that it never read
                    pipe.close()


def new_word() -> str:
    """Returns a word unique to an environment, which its names in shared folders contain."""
    return secrets.token_hex(4)
