"""strace log: parses the system calls of a run, with the paths that they name. Pure.

Strings are in hexadecimal (`-xx`), so that no path looks like other syntax. A call that was interrupted by a line of
another process is logged in two halves.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

_OPENING: Final = ("open", "openat", "openat2", "creat")
_WRITING: Final = ("write", "pwrite64", "writev", "pwritev", "pwritev2", "ftruncate", "truncate", "fallocate")
_RENAMING: Final = ("rename", "renameat", "renameat2")
_LINKING: Final = ("link", "linkat", "symlink", "symlinkat")
_REMOVING: Final = ("unlink", "unlinkat", "rmdir")
_ATTRIBUTES: Final = ("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat")
_COPYING: Final = {"copy_file_range": 1, "sendfile": 0, "splice": 1}  # index of the file that it writes to
_MAKING: Final = ("mkdir", "mkdirat")
CHANGING: Final = (
    *_OPENING, *_WRITING, *_RENAMING, *_LINKING, *_REMOVING, *_ATTRIBUTES, *_COPYING, *_MAKING, "ioctl",
    "mmap", "chdir",
)  # fmt: skip
"""Calls that change files, and calls that show what a relative path means."""

_LINE: Final = re.compile(r"(?P<pid>\d+) +(?P<at>\d+\.\d+) +(?P<rest>.*)")
_WHOLE: Final = re.compile(r"(?P<name>\w+)\((?P<args>.*)\) += (?P<result>.*)")
_BEGUN: Final = re.compile(r"(?P<name>\w+)\((?P<args>.*) <unfinished \.\.\.>")
_RESUMED: Final = re.compile(r"<\.\.\. (?P<name>\w+) resumed>(?P<args>.*)\) += (?P<result>.*)")
_KILLED: Final = re.compile(r"\+\+\+ killed by SIGKILL")
_HEX: Final = r"(?:\\x[0-9a-f]{2})*"
_PATH: Final = re.compile(
    rf'(?P<base>AT_FDCWD|-?\d+)<(?P<opened>[^>]*)>(?:\(deleted\))?(?:, "(?P<below>{_HEX})")?|"(?P<plain>{_HEX})"'
)


class Syscall(msgspec.Struct, frozen=True, kw_only=True):
    pid: int
    name: str
    paths: tuple[str, ...] = ()  # absolute where the folder is known
    words: tuple[str, ...] = ()  # paths of open files, and paths as the program passed them
    args: str = ""  # as logged, for flags
    at: float = 0.0  # start time by strace's clock
    done: bool = True  # whether it returned
    worked: bool = True  # whether it returned without an error

    def has(self, *flags: str) -> bool:
        return any(re.search(rf"\b{flag}\b", self.args) for flag in flags)

    @property
    def compared(self) -> tuple[str, ...]:
        """Returns the paths that strace compares with `-P`: only one of two, for calls without folder descriptors."""
        if self.name in ("rename", "link"):
            return self.words[:1]
        return self.words[1:] if self.name in ("symlink", "symlinkat") else self.words

    @property
    def makes(self) -> bool:
        """Checks whether the call may create a file."""
        return self.name == "creat" or (self.name in _OPENING and self.has("O_CREAT"))

    @property
    def empties(self) -> bool:
        return self.name == "creat" or (self.name in _OPENING and self.has("O_TRUNC"))

    @property
    def changed(self) -> tuple[str, ...]:
        """Returns the paths that the call changes."""
        name, paths = self.name, self.paths
        if name in _OPENING:
            return paths[-1:] if self.makes or self.empties else ()
        if name in _COPYING:
            return paths[_COPYING[name] : _COPYING[name] + 1]
        if name in _RENAMING:
            return paths
        if name in _LINKING or name in _MAKING:
            return paths[-1:]
        if name == "ioctl":
            return paths[:1] if self.has("FICLONE", "FICLONERANGE", "BTRFS_IOC_CLONE") else ()
        if name == "mmap":
            return paths if self.has("MAP_SHARED") and self.has("PROT_WRITE") else ()
        return paths[:1] if name in (*_WRITING, *_REMOVING, *_ATTRIBUTES) else ()

    @property
    def writes(self) -> tuple[str, ...]:
        """Returns the files whose content the call changes in place."""
        if self.name in (*_WRITING, *_COPYING, "ioctl", "mmap"):
            return self.changed
        return self.changed if self.empties else ()

    @property
    def takes_away(self) -> str:
        """Returns the path that no longer exists after the call."""
        if self.name in _RENAMING and not self.has("RENAME_EXCHANGE"):
            return self.paths[0] if self.paths else ""
        return self.paths[0] if self.name in _REMOVING and self.paths else ""

    @property
    def puts(self) -> str:
        """Returns the path at which the call puts a whole file in one step."""
        return self.paths[-1] if self.name in (*_RENAMING, *_LINKING) and self.paths else ""


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    calls: tuple[Syscall, ...] = ()  # in the order in which they began
    killed: tuple[int, ...] = ()  # process ids, in order of death


def read(lines: Iterable[str]) -> Trace:
    """Parses a log. Lines about neither a call nor a kill are skipped."""
    calls: list[Syscall] = []
    killed: list[int] = []
    under_way: dict[int, int] = {}
    folders: dict[int, str] = {}  # last known working directory of each process
    for pid, at, rest in _lines(lines):
        if _KILLED.match(rest):
            killed.append(pid)
        elif resumed := _RESUMED.fullmatch(rest):
            number = under_way.pop(pid, None)
            if number is not None:
                begun = calls[number]
                args = begun.args + resumed["args"]
                calls[number] = _call(pid, begun.at, begun.name, args, resumed["result"], folders)
        elif begun_now := _BEGUN.fullmatch(rest):
            under_way[pid] = len(calls)
            calls.append(_call(pid, at, begun_now["name"], begun_now["args"], "?", folders))
        elif whole := _WHOLE.fullmatch(rest):
            calls.append(_call(pid, at, whole["name"], whole["args"], whole["result"], folders))
    return Trace(calls=tuple(calls), killed=tuple(killed))


def _lines(lines: Iterable[str]) -> Iterator[tuple[int, float, str]]:
    for line in lines:
        found = _LINE.fullmatch(line.rstrip("\n"))
        if found:
            yield int(found["pid"]), float(found["at"]), found["rest"]


def _call(pid: int, at: float, name: str, args: str, result: str, folders: dict[int, str]) -> Syscall:
    paths = tuple(_paths(args, pid, folders))
    if name == "chdir" and result.startswith("0") and paths:
        folders[pid] = paths[0]
    done, worked = not result.startswith("?"), not result.startswith(("-1", "?"))
    words = tuple(_words(args))
    return Syscall(pid=pid, at=at, name=name, paths=paths, words=words, args=args, done=done, worked=worked)


def _paths(args: str, pid: int, folders: dict[int, str]) -> Iterator[str]:
    for found in _PATH.finditer(args):
        opened = _decoded(found["opened"] or "")
        if found["base"] == "AT_FDCWD":
            folders[pid] = opened
        if found["below"] is not None:
            yield _joined(opened, _decoded(found["below"]))
        elif found["plain"] is not None:
            here = folders.get(pid) or next(reversed(folders.values()), "")  # for a new process: that of another one
            yield _joined(here, _decoded(found["plain"]))
        elif found["base"] != "AT_FDCWD":
            yield opened


def _words(args: str) -> Iterator[str]:
    for found in _PATH.finditer(args):
        if found["opened"] is not None and found["base"] != "AT_FDCWD":
            yield _decoded(found["opened"])
        if found["below"] or found["plain"]:
            yield _decoded(found["below"] or found["plain"])


def _joined(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path)) if path else folder


def _decoded(text: str) -> str:
    """Decodes hexadecimal text. Names of objects that are no files (`pipe:[7]`) are logged in plain text."""
    if not re.fullmatch(_HEX, text):
        return text
    return bytes.fromhex(text.replace("\\x", "")).decode("utf-8", "surrogateescape")


def below(calls: Iterable[Syscall], tops: Sequence[str]) -> tuple[Syscall, ...]:
    """Returns the calls that change something in these folders: successful ones, and ones that did not return."""
    return tuple(one for one in calls if (one.worked or not one.done) and _is_below(one.changed, tops))


def _is_below(paths: Sequence[str], tops: Sequence[str]) -> bool:
    return any(path == top or path.startswith(f"{top}/") for path in paths for top in tops)
