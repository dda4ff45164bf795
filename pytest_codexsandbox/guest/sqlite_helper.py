"""SQLite helper: a process that makes SQLite databases, keeps some open beside the agent, and reads their rows.

It is a process of its own because POSIX locks belong to a process: the agent would lose one by reading the file once. A
line on stdin is JSON. `[KIND, PATH, CONTENT]` creates a database, `["close", PATH, ""]` closes those whose path starts
with PATH, and `["rows", PATH, ""]` reads column x of table t. A line on stdout answers. It ends with its stdin.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from typing import Any, Final

SCRIPT: Final = (
    "CREATE TABLE IF NOT EXISTS t(x); INSERT INTO t SELECT 'laid outside' WHERE NOT EXISTS (SELECT 1 FROM t)"
)
_STEPS: Final = 200_000  # of SQLite's machine: a table that a subject made may be a query without an end
_ROWS: Final = 50
_TEXT: Final = 200


_made: dict[tuple[str, str], bytes] = {}  # closed databases by request: made again by writing their bytes


def lay(kind: str, path: str, content: str) -> sqlite3.Connection | None:
    """Creates a database. `sqlite` and `sqlite-wal` are closed again; `sqlite-held` stays open: as `lock` or as
    `reader`.
    """
    if kind == "sqlite-held" or os.path.lexists(path):
        return _make(kind, path, content)
    known = _made.get((kind, content))
    if known is None:
        _make(kind, path, content)
        with open(path, "rb") as file:
            _made[kind, content] = file.read()
    else:
        with open(path, "xb") as file:
            file.write(known)
    return None


def _make(kind: str, path: str, content: str) -> sqlite3.Connection | None:
    in_wal = kind == "sqlite-wal" or (kind == "sqlite-held" and content == "reader")
    made = sqlite3.connect(path, isolation_level=None, timeout=5)
    made.execute("PRAGMA synchronous=OFF")  # a power cut may take it: waiting for the disk would cost most of a run
    made.execute("PRAGMA page_size=512")
    made.execute(f"PRAGMA journal_mode={'wal' if in_wal else 'delete'}")
    made.executescript(content if content and kind != "sqlite-held" else SCRIPT)
    if kind != "sqlite-held":
        made.close()
        return None
    if content == "reader":
        made.execute("SELECT x FROM t").fetchall()
    else:
        made.execute("BEGIN EXCLUSIVE")
    return made


def rows(path: str, kept: sqlite3.Connection | None) -> str:
    """Returns the rows that another reader sees, by the connection that has been open all along or a fresh read-only
    one.

    Without a -wal, the fresh connection reads as if the file could not change, so that reading leaves no -wal and no
    -shm.
    """
    how = "mode=ro" if os.path.exists(f"{path}-wal") else "mode=ro&immutable=1"
    reader = kept or sqlite3.connect(f"file:{_quoted(path)}?{how}", uri=True, isolation_level=None, timeout=1)
    try:
        reader.set_progress_handler(lambda: 1, _STEPS)
        found = reader.execute("SELECT x FROM t").fetchmany(_ROWS)
        return json.dumps([str(row[0])[:_TEXT] for row in found])
    finally:
        reader.set_progress_handler(None, 0)
        if reader is not kept:
            reader.close()


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _close(connection: sqlite3.Connection | None) -> None:
    if connection is not None:
        connection.close()


def answer(kept: dict[str, Any], kind: str, path: str, content: str) -> str:
    if kind == "rows":
        return rows(path, kept.get(path))
    if kind == "close":
        for name in [name for name in kept if name.startswith(path)]:
            _close(kept.pop(name))
    elif path not in kept:
        kept[path] = lay(kind, path, content)
    return "ok"


def main() -> None:
    kept: dict[str, Any] = {}
    for line in sys.stdin:
        try:
            reply = {"ok": answer(kept, *json.loads(line))}
        except Exception as problem:
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
