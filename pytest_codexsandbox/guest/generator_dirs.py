"""The private folders of a generator: what is laid into them, what is found in them, and that they are empty again.

Stands alone, for an environment: `PYTHON -I -S generator_dirs.py` with `{"op": …}` as JSON on stdin, content as base64.
No link below the folders is ever followed: who writes there chooses where links lead.
"""

from __future__ import annotations

import base64
import json
import os
import stat
import sys
import types
from typing import Any, Callable, Dict, Final, List, Mapping, Sequence  # noqa: UP035

if __name__ == "__main__":  # started as a file: this file's folder becomes the package
    for _name, _path in (("pytest_codexsandbox", []), ("pytest_codexsandbox.guest", [os.path.dirname(__file__)])):
        sys.modules[_name] = types.ModuleType(_name)
        sys.modules[_name].__path__ = _path

from pytest_codexsandbox.guest import safe_paths

Seen = Dict[str, Any]  # noqa: UP006
ENTRIES: Final = 5_000  # of one look, all folders together
BYTES: Final = 64 * 1024 * 1024  # of content, all files together
EACH: Final = 2 * 1024 * 1024
CUT: Final = "@…@"  # the name that marks an incomplete look
_LINKS: Final = 8  # until the folder behind a link is no longer looked for
_NEW: Final = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


# ---- laying
def lay(tops: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> None:
    """Creates entries in their order, with missing folders. Sets modes of folders last, since a mode may close a folder
    to us.
    """
    modes: list[tuple[str, int]] = []
    for entry in entries:
        top = tops[entry["top"]]
        path = safe_paths.normal(os.path.join(top, entry["path"]))
        if not safe_paths.is_below(path, top):
            raise ValueError(f"{entry['path']!r} is not below @{entry['top']}@")
        here = safe_paths.made_folder(top, os.path.dirname(path))
        try:
            _lay_one(entry, os.path.basename(path), here)
        finally:
            os.close(here)
        if entry.get("mode") and entry["kind"] != "symlink":
            modes.append((path, entry["mode"]))
    for path, mode in reversed(modes):
        os.chmod(path, mode, follow_symlinks=True)


def _lay_one(entry: Mapping[str, Any], name: str, here: int) -> None:
    kind = entry["kind"]
    if kind == "file":
        with open(os.open(name, _NEW, 0o644, dir_fd=here), "wb") as file:
            file.write(entry["content"])
    elif kind == "dir":
        try:
            os.mkdir(name, 0o755, dir_fd=here)
        except FileExistsError:
            pass
    elif kind == "gone":
        os.rmdir(name, dir_fd=here)
    elif kind == "symlink":
        os.symlink(entry["to"], name, dir_fd=here)
    elif kind == "hardlink":
        os.link(entry["to"], name, dst_dir_fd=here, follow_symlinks=False)
    else:
        raise ValueError(f"unknown kind of file: {kind!r}")


# ---- looking
class Look:
    """One bounded look at all folders."""

    def __init__(self, *, entries: int = ENTRIES, size: int = BYTES, each: int = EACH) -> None:
        self.seen: dict[str, Seen] = {}
        self._entries, self._size, self._each = entries, size, each

    def at(self, top: str, path: str, prefix: str, skip: frozenset[str] = frozenset()) -> None:
        """Records everything below `path`, which is `top` or below it, as `prefix/…`."""
        try:
            here = safe_paths.folder(top, path)
        except OSError as problem:
            self.seen[prefix] = _failed(problem)
            return
        try:
            self._walk(here, prefix, skip)
        finally:
            os.close(here)

    def _walk(self, here: int, prefix: str, skip: frozenset[str]) -> None:
        try:
            reading = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here)
        except OSError as problem:
            self.seen[prefix] = _failed(problem)
            return
        try:
            names = sorted(os.listdir(reading))
            for name in names:
                if name in skip:
                    continue
                if len(self.seen) >= self._entries:
                    self.seen[CUT] = {"kind": "unreadable"}
                    return
                self._one(reading, name, f"{prefix}/{name}")
        finally:
            os.close(reading)

    def _one(self, here: int, name: str, shown: str) -> None:
        try:
            status = os.stat(name, dir_fd=here, follow_symlinks=False)
            self.seen[shown] = {**_facts(status), **self._content(here, name, status)}
        except OSError as problem:
            self.seen[shown] = _failed(problem)
            return
        if stat.S_ISDIR(status.st_mode):
            self._below(here, name, shown)

    def _below(self, here: int, name: str, shown: str) -> None:
        try:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        except OSError:
            self.seen[shown]["kind"] = "unreadable"
            return
        try:
            self._walk(below, shown, frozenset())
        finally:
            os.close(below)

    def _content(self, here: int, name: str, status: os.stat_result) -> Seen:
        if stat.S_ISLNK(status.st_mode):
            return {"target": os.readlink(name, dir_fd=here)}
        if not stat.S_ISREG(status.st_mode):
            return {}
        with open(os.open(name, _READ, dir_fd=here), "rb", buffering=0) as file:
            now = os.fstat(file.fileno())
            if (now.st_dev, now.st_ino) != (status.st_dev, status.st_ino) or not stat.S_ISREG(now.st_mode):
                return {"kind": "unreadable"}
            content = file.read(max(0, min(self._each, self._size))) or b""
        self._size -= len(content)
        return {"content": content}


def _facts(status: os.stat_result) -> Seen:
    mode = status.st_mode
    kind = (
        "symlink" if stat.S_ISLNK(mode) else "dir" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"
    )
    return {
        "kind": kind,
        "size": status.st_size,
        "mode": stat.S_IMODE(mode),
        "uid": status.st_uid,
        "inode": status.st_ino,
        "modified": status.st_mtime_ns,
        "links": status.st_nlink,
    }


def _failed(problem: OSError) -> Seen:
    return {"kind": "missing" if isinstance(problem, FileNotFoundError) else "unreadable"}


def snapshot(tops: Mapping[str, str]) -> dict[str, Seen]:
    """Returns the entries below each folder, by placeholder path.

    CODEX_HOME is named by its own placeholder, wherever below HOME it is or a link leads. That link is named `@HOME@/…`
    as well. A private folder that was removed is `missing` under its own placeholder.
    """
    look = Look()
    for name, top in tops.items():
        inner = [os.path.basename(one) for one in tops.values() if os.path.dirname(one) == top]
        if name == "CODEX_HOME":
            _codex_home(look, tops)
        else:
            look.at(top, top, f"@{name}@", frozenset(inner))
    return look.seen


def _codex_home(look: Look, tops: Mapping[str, str]) -> None:
    place, home = tops["CODEX_HOME"], tops.get("HOME", "")
    outer = home if safe_paths.is_below(place, home) else os.path.dirname(place)
    try:
        status = os.lstat(place)
    except OSError as problem:
        look.seen["@CODEX_HOME@"] = _failed(problem)
        return
    if stat.S_ISDIR(status.st_mode):
        look.at(outer, place, "@CODEX_HOME@")
        return
    shown = f"@HOME@/{os.path.relpath(place, home)}" if outer == home else "@CODEX_HOME@"
    target = os.readlink(place) if stat.S_ISLNK(status.st_mode) else ""
    look.seen[shown] = {**_facts(status), "target": target}
    behind = _behind(place, home) if target and home else ""
    if behind:
        look.at(home, behind, "@CODEX_HOME@")


def _behind(path: str, home: str) -> str:
    """Returns the end of a chain of links, by their texts alone; "" if it is not below `home`."""
    for _ in range(_LINKS):
        try:
            path = safe_paths.normal(os.path.join(os.path.dirname(path), os.readlink(path)))
        except OSError:
            break
        if not safe_paths.is_below(path, home):
            return ""
    return path


# ---- the end
def empty(tops: Mapping[str, str]) -> list[str]:
    """Creates each folder, or removes its content. Returns what could not be removed, and why."""
    for top in tops.values():
        os.makedirs(top, mode=0o755, exist_ok=True)
    failed = clear(tops)
    for top in tops.values():  # one may have lain in another
        os.makedirs(top, mode=0o755, exist_ok=True)
    return failed


def clear(tops: Mapping[str, str]) -> list[str]:
    """Removes the content of each folder. Returns what could not be removed, and why."""
    failed: list[str] = []
    for top in tops.values():
        here = os.open(os.path.dirname(top), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            failed += safe_paths.empty(os.path.basename(top), here)
        finally:
            os.close(here)
    return failed


def weight(tops: Sequence[str], *, entries: int, but: Sequence[str] = ()) -> tuple[int, int]:
    """Returns the number of entries and their bytes on the disk; stops counting after `entries` entries.

    `but`: paths that are not counted, because they are only shown there.
    """
    count = size = 0
    waiting: List[str] = list(tops)  # noqa: UP006
    while waiting and count <= entries:
        try:
            with os.scandir(waiting.pop()) as listed:
                for entry in listed:
                    if entry.path in but:
                        continue
                    count += 1
                    status = entry.stat(follow_symlinks=False)
                    size += status.st_blocks * 512
                    if stat.S_ISDIR(status.st_mode) and count <= entries:
                        waiting.append(entry.path)
        except OSError:
            continue
    return count, size


# ---- alone
def _told(words: Mapping[str, Any]) -> Any:
    ops: Dict[str, Callable[[], Any]] = {  # noqa: UP006
        "lay": lambda: lay(words["tops"], [_decoded(one) for one in words["entries"]]),
        "snapshot": lambda: {name: _encoded(one) for name, one in snapshot(words["tops"]).items()},
        "empty": lambda: empty(words["tops"]),
        "several": lambda: _several(words["acts"]),
    }
    try:
        return {"told": ops[words["op"]]()}
    except (OSError, ValueError) as problem:
        return {"wrong": str(problem)}


def _several(acts: Sequence[Mapping[str, Any]]) -> List[Any]:  # noqa: UP006
    """Runs acts in their order, and none after one that failed."""
    answers: List[Any] = []  # noqa: UP006
    for act in acts:
        answers.append(_told(act))
        if "wrong" in answers[-1]:
            break
    return answers


def _decoded(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**entry, "content": base64.b64decode(entry.get("content", ""))}


def _encoded(seen: Seen) -> Seen:
    return {**seen, "content": base64.b64encode(seen["content"]).decode()} if "content" in seen else seen


if __name__ == "__main__":
    print(json.dumps(_told(json.load(sys.stdin))))
