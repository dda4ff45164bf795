"""A process that keeps SQLite databases open beside the hand.

It is one of its own because POSIX locks are the process's: the hand would lose one by reading the file once.
A line on stdin: `KIND PATH` as JSON opens, `["close", PATH]` closes; a line on stdout answers. It ends with its stdin.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from typing import Any


def make(path: str, *, journal: str) -> sqlite3.Connection:
    """The small database: table t(a) with one row."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=5)
    connection.execute(f"pragma journal_mode={journal}")
    connection.execute("create table if not exists t(a)")
    connection.execute("insert into t select 1 where not exists (select * from t)")
    return connection


def lay(kind: str, path: str) -> sqlite3.Connection | None:
    if kind == "sqlite":
        make(path, journal="delete").close()
        return None
    if kind == "sqlite-wal":
        return make(path, journal="wal")
    connection = make(path, journal="delete")
    connection.execute("begin exclusive")
    return connection


def _close(connection: sqlite3.Connection | None) -> None:
    if connection is not None:
        connection.close()


def main() -> None:
    kept: dict[str, Any] = {}
    for line in sys.stdin:
        kind, path = json.loads(line)
        answer = "ok"
        try:
            if kind == "close":
                for name in [name for name in kept if name.startswith(path)]:
                    _close(kept.pop(name))
            elif kept.get(path) is None:
                kept[path] = lay(kind, path)
        except Exception as problem:
            answer = f"{type(problem).__name__}: {problem}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
