"""Show or prune the cache: Codex releases, and the tools that write their configuration.

`list` shows what is there, the least recently used first. `prune` removes from that end until the rest fits the
limit ($CODEXSANDBOX_CACHE_LIMIT, else 10GB); a release that a run uses at the moment stays. Leftovers of
killed downloads are removed too.
"""

import argparse
import json
from datetime import UTC, datetime
from typing import Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.cache_entry import Entry
from pytest_codexsandbox.releases.cache_limits import limit_from, parse_size
from pytest_codexsandbox.releases.store import Store

EXAMPLES: Final = (
    "codexsandbox cache list",
    "codexsandbox cache prune --limit 2GB",
    "codexsandbox cache prune --all --dry-run",
    "CODEXSANDBOX_CACHE=/big/disk/codex codexsandbox cache list",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("do", choices=("list", "prune"), metavar="list|prune", help="what to do")
    parser.add_argument("--limit", metavar="SIZE", help="prune: the size to keep, like 5GB")
    parser.add_argument("--all", action="store_true", help="prune: everything that is not in use")
    parser.add_argument("--dry-run", action="store_true", help="prune: list what would be removed, remove nothing")
    parser.add_argument("--json", action="store_true", help="list: for programs")


def run(options: argparse.Namespace) -> int:
    store = Store(cache_folder())
    store.refuse_unreadable()
    if options.do == "list":
        if options.limit is not None or options.all or options.dry_run:
            raise InputError("--limit, --all and --dry-run belong to `cache prune`")
        print(_as_json(store) if options.json else _as_text(store))
        return 0
    if options.json:
        raise InputError("--json belongs to `cache list`")
    if options.limit is not None and options.all:
        raise InputError("--limit and --all contradict each other")
    limit = parse_size(options.limit, where="--limit") if options.limit is not None else limit_from()
    print(_pruned(store, 0 if options.all else limit, dry_run=options.dry_run))
    return 0


def _pruned(store: Store, limit: int, *, dry_run: bool) -> str:
    names = {entry.id: _names(store, entry) for entry in store.entries()}
    halves = store.orphans()
    gone = store.prune(limit, dry_run=dry_run)
    rest = [entry for entry in store.entries() if entry not in gone]
    freed, size = sum(entry.size for entry in gone), sum(entry.size for entry in rest)
    removed, done = ("would remove", "would free") if dry_run else ("removed", "freed")
    lines = [f"{removed}  {names[entry.id]}  {_megabytes(entry.size)}" for entry in gone]
    lines += [f"{removed}  {half}  (of a killed download)" for half in halves]
    lines += [f"{done} {_megabytes(freed)}, {_megabytes(size)} stay in {store.folder}"]
    if size > limit:
        lines += [f"more than {_megabytes(limit)}: the rest is in use, or may not be removed by this user"]
    return "\n".join(lines)


def _as_text(store: Store) -> str:
    entries = store.entries()
    names = [_names(store, entry) for entry in entries]
    wide = max(map(len, names), default=0)
    rows = [
        f"{name:<{wide}}   {entry.origin.source:<5} {_megabytes(entry.size):>9}   used {_day(store, entry)}"
        for name, entry in zip(names, entries, strict=True)
    ]
    size = sum(entry.size for entry in entries)
    return "\n".join([*rows, f"{_megabytes(size)} of {_megabytes(limit_from())} in {store.folder}"])


def _as_json(store: Store) -> str:
    rows = [
        {
            "releases": list(store.names(entry)),
            "source": entry.origin.source,
            "url": entry.origin.url,
            "bytes": entry.size,
            "last_used": _moment(store, entry),
            "program": entry.program,
            "sha256": entry.digest,
        }
        for entry in store.entries()
    ]
    return json.dumps({"folder": str(store.folder), "limit": limit_from(), "entries": rows}, indent=2)


def _names(store: Store, entry: Entry) -> str:
    return ", ".join(store.names(entry)) or f"{entry.origin.release} (no name points to it)"


def _day(store: Store, entry: Entry) -> str:
    used = store.last_used(entry)
    return datetime.fromtimestamp(used, UTC).strftime("%Y-%m-%d %H:%M UTC") if used else "never"


def _moment(store: Store, entry: Entry) -> str | None:
    used = store.last_used(entry)
    return datetime.fromtimestamp(used, UTC).isoformat(timespec="seconds") if used else None


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
