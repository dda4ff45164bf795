"""Remove the leftovers of killed runs.

A run that ends by itself leaves nothing. One that was killed together with its helper may leave processes, folders
below the cache (half a download or half an image among them), and files in /tmp, also empty ones of Codex; one whose
container engine died, containers and networks. `sweep` ends and removes them. It never touches a running run or
files of other programs, and it keeps journals, reports, releases, images and volumes (`codexsandbox images prune`).
With `--runs` it removes older runs as well, with their journals and reports. It touches no other folder beside them.
"""

import argparse
import shutil
import time
from pathlib import Path
from typing import Final

from pytest_codexsandbox.environments.codex_leftovers import take_away
from pytest_codexsandbox.environments.run_dirs import remove_owned
from pytest_codexsandbox.environments.sweep import EnvironmentDir, find
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness import option_values
from pytest_codexsandbox.harness.backends import BackendFault, MissingPackage, load_backend, told_as_theirs
from pytest_codexsandbox.harness.option_defaults import REPORT_DIR
from pytest_codexsandbox.journal.run_folders import find_runs, prunable, prune
from pytest_codexsandbox.protocols import Leftover
from pytest_codexsandbox.registry import cache_folder, names, runs_folder
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.reports.headlines import plural
from pytest_codexsandbox.system.disk_use import in_words

EXAMPLES: Final = (
    "codexsandbox sweep",
    "codexsandbox sweep --dry-run",
    "codexsandbox sweep --runs --keep 5",
    "codexsandbox sweep --report-dir ci-reports",
)
LEAK: Final = 13
_KEEP: Final = 20  # as many as durations are learned from
_FORGOTTEN: Final = 24 * 3600  # seconds after which a run's folder without an owner counts as abandoned


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--report-dir", metavar="DIR", default=REPORT_DIR, help="where runs left their reports")
    parser.add_argument(
        "--docker-host",
        metavar="URL",
        action="append",
        default=[],
        help="also look at this engine, e.g. ssh://build-1 (default: the one that docker would use)",
    )
    parser.add_argument("--runs", action="store_true", help=f"also remove the runs in DIR but the newest {_KEEP}")
    parser.add_argument("--keep", metavar="N", help=f"with --runs: how many stay (default: {_KEEP})")
    parser.add_argument(
        "--dry-run", action="store_true", help=f"list the leftovers, remove nothing; exit code {LEAK} if any"
    )


def run(options: argparse.Namespace) -> int:
    keep = _keep(options)
    code = _leftovers(options)
    return code if keep is None else max(code, _runs(Path(options.report_dir), keep, dry_run=options.dry_run))


def _keep(options: argparse.Namespace) -> int | None:
    """Returns how many runs stay; None for all of them."""
    if options.keep is not None and not options.runs:
        raise InputError("--keep says how many runs stay, and none are swept", next_step="add --runs")
    kept = option_values.keep_runs(options.keep, where="--keep")
    return None if not options.runs else _KEEP if kept is None else kept


def _runs(folder: Path, keep: int, *, dry_run: bool) -> int:
    """Removes older runs. They are no leak, so that a dry run ends with 0."""
    for run in find_runs(folder)[keep:]:
        if run.kept:
            print(f"kept     {run.path}: {run.kept}")
    if dry_run:
        older = prunable(folder, keep=keep)
        for run in older:
            print(f"older    {run.path} ({in_words(run.size)})")
        print(f"{plural(len(older), 'older run')}, {in_words(sum(run.size for run in older))}, would be removed")
        return 0
    pruned = prune(folder, keep=keep)
    for one in pruned:
        line = f"{one.run.path} ({in_words(one.run.size)})"
        print(f"removed  {line}" if not one.left else f"stays    {line}: {'; '.join(one.left[:3])}")
    gone = [one.run for one in pruned if not one.left]
    print(f"{plural(len(gone), 'older run')}, {in_words(sum(run.size for run in gone))}, removed")
    return LEAK if len(gone) < len(pruned) else 0


def _leftovers(options: argparse.Namespace) -> int:
    store, runs = Store(cache_folder()), runs_folder()
    store.refuse_unreadable()
    files = [*store.orphans(), *_forgotten(cache_folder() / "homes")]
    folders = [one for top in (runs, Path(options.report_dir)) for one in find(top)]
    of_backends, silent = _of_backends(options.docker_host)
    of_runs: list[Leftover] = [*folders, *of_backends]
    found: list[Leftover] = [*of_runs, *find(cache_folder() / "images")]
    dead = [one for one in found if one.state == "dead"]
    for one in found:
        if one.state == "lives":
            print(f"kept     {one.what}: it is running")
        elif one.state == "unknown":
            print(f"kept     {one.what}: another machine or container; if that has ended: {one.by_hand}")
    for fault in silent:
        print(f"unknown  {fault.what} ({fault.where}): {fault.why}")
    if options.dry_run:
        for what in (*(one.what for one in dead), *files):
            print(f"left     {what}")
        print(_sum(len(dead) + len(files), "would be removed"))
        return LEAK if dead or files or silent else 0
    swept = [(one, one.remove()) for one in dead]
    for one, left in swept:
        print(f"removed  {one.what}" if not left else f"stays    {one.what}: {'; '.join(left[:3])}")
    for path in files:
        shutil.rmtree(path, ignore_errors=True)
        print(f"stays    {path}" if path.exists() else f"removed  {path}")
    of_codex = take_away() if any(one in dead for one in of_runs) else ()
    for name in of_codex:
        print(f"removed  {name} (empty, of Codex)")
    _remove_empty_runs(runs, [one for one in dead if isinstance(one, EnvironmentDir)])
    stays = sum(bool(left) for _, left in swept) + sum(path.exists() for path in files)
    count = len(swept) + len(files) + len(of_codex)
    print(_sum(count, f"{stays} of them could not be removed" if stays else "removed"))
    return LEAK if stays or silent else 0


def _forgotten(homes: Path) -> list[Path]:
    """Returns the old homes of binaries that were queried for their capabilities. A query takes a minute, and never a
    day.
    """
    return [home for home in sorted(homes.glob("*")) if _is_forgotten(home)]


def _is_forgotten(folder: Path) -> bool:
    try:
        return time.time() - folder.stat().st_mtime > _FORGOTTEN
    except OSError:  # the process that made it has just removed it
        return False


def _of_backends(hosts: list[str]) -> tuple[list[Leftover], list[BackendFault]]:
    """Returns what backends find outside the folders of runs, and the faults of those that cannot look."""
    found: list[Leftover] = []
    faults = []
    for name in names("backends"):
        try:
            backend = load_backend(name)
            with told_as_theirs(name):
                found += backend.leftovers(hosts, print)
        except MissingPackage:
            continue
        except BackendFault as fault:
            faults.append(fault)
    return found, faults


def _remove_empty_runs(runs: Path, swept: list[EnvironmentDir]) -> None:
    """Removes the folders of runs whose environments are all gone; other files in them were made for those
    environments.
    """
    for run in sorted(runs.iterdir()) if runs.is_dir() else ():
        was_swept = any(run in one.folder.parents for one in swept) or any(run == one.folder for one in swept)
        if (was_swept or _is_forgotten(run)) and all(one.folder == run and one.state == "dead" for one in find(run)):
            remove_owned(run)


def _sum(count: int, done: str) -> str:
    return "nothing was left by killed runs" if not count else f"{count} left by killed runs, {done}"
