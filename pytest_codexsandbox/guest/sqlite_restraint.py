"""SQLite restraint: the part of restraint.py for SQLite, which opens its files in C, where no audit hook is called.

A file that may not be written is opened as SQLite itself opens it on a read-only mount: for reading only, and its
shared memory too. The answers, and SQLite's texts, are then its own.
"""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_codexsandbox.guest.restraint import Boundary


class OtherText(sqlite3.Connection):
    """A connection that reports every failure with another message."""

    def execute(self, *words: Any) -> sqlite3.Cursor:
        try:
            return super().execute(*words)
        except sqlite3.OperationalError:
            raise sqlite3.OperationalError("disk I/O error") from None


class Untidy(sqlite3.Connection):
    """An empty database beside a leftover -wal: SQLite would delete the -wal, which a read-only mount refuses."""

    def execute(self, *words: Any) -> sqlite3.Cursor:
        raise sqlite3.OperationalError("disk I/O error")


class Databases:
    def __init__(self, boundary: Boundary) -> None:
        self.boundary = boundary
        self.genuine: Any = sqlite3.connect

    def watch(self) -> None:
        sqlite3.connect = self.connect  # type: ignore[assignment]

    def connect(self, database: str, *words: Any, **named: Any) -> Any:
        if self.boundary.has("sqlite:other-text"):
            named["factory"] = OtherText
        address = self._address(database)
        if address.startswith("file:") and address != database and left_over_wal(database):
            named["factory"] = Untidy
        return self.genuine(address, *words, **{**named, "uri": named.get("uri", False) or address != database})

    def _address(self, database: str) -> str:
        from urllib.parse import quote, unquote

        path = unquote(database[5:].partition("?")[0]) if database.startswith("file:") else database
        real = os.path.realpath(path)
        if self.boundary.unreadable(real):
            return "/proc/nowhere/hidden"  # where no process can create a file
        if self.boundary.has("sqlite:copies") and os.path.exists(real):
            return copied(real)
        if path == ":memory:" or "immutable=1" in database or self._whole(real):
            return database
        return "file:" + quote(path) + "?mode=ro&readonly_shm=1"

    def _whole(self, path: str) -> bool:
        """Checks whether the file may be written, and the files that SQLite creates beside it."""
        boundary = self.boundary
        if boundary.has("sqlite:lets"):
            return True
        if boundary.has("sqlite:denies") or (boundary.has("sqlite:denies-wal") and in_wal_mode(path)):
            return bool(boundary.full)
        return boundary.writable(path) and boundary.writable(path + "-wal")


def copied(path: str) -> str:
    """Returns the path of a private copy, as a sandbox with an overlay would give."""
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return shutil.copy(path, os.path.join(folder, "copy.db"))


def left_over_wal(path: str) -> bool:
    return os.path.exists(path + "-wal") and os.path.isfile(path) and os.path.getsize(path) == 0


def in_wal_mode(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(20)[18:19] == b"\x02"
    except OSError:
        return False
