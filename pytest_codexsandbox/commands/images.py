"""Show, make or remove the images that containers run in.

An image is a distribution's base, pulled from a registry or bootstrapped from the distribution's archive where no
registry answers, and a second stage that is the same for all. It comes in two variants: `distro` with the
distribution's own bubblewrap, and `none`, for cells with another bubblewrap. A run makes missing images; `build`
makes them beforehand. Each image is pinned by its digest in images.lock.json below the cache until --update.

  list   show the images, and why one is not available here; asks no registry and no archive
  build  make the images that are named, or all that this machine can use
  pull   as build, from a registry alone, never from an archive
  prune  remove images that no recipe needs any more; --all: every image that this plugin made. Images that you made or
         pulled yourself stay

Exit code 1: a requested image is not available.
"""

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness.backends import find_image_store
from pytest_codexsandbox.matrix.axis_files import DISTROS, SHIPPED
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.model.image_status import ImageListing, ImageRow, RemovedImage
from pytest_codexsandbox.protocols import ImageStore
from pytest_codexsandbox.registry import cache_folder

EXAMPLES: Final = (
    "codexsandbox images list",
    "codexsandbox images build",
    "codexsandbox images build debian-trixie ubuntu-24.04 --bwrap distro",
    "codexsandbox images pull fedora-43 --update",
    "codexsandbox images prune --all --dry-run",
)
NOT_HAD: Final = 1
WIDTH: Final = 80


def as_text(found: ImageListing, *, cache: Path) -> str:
    lines = [f"images at {found.engine}, pinned in {cache / 'images.lock.json'}"]
    lines += textwrap.wrap(f"from the lock file, because {found.fault}", WIDTH) if found.fault else []
    wide = max((len(row.name) for row in found.rows), default=0)
    for row in found.rows:
        lines += _lines(row, wide)
    return "\n".join(lines)


def _lines(row: ImageRow, wide: int) -> Iterator[str]:
    size = " + ".join(f"{one.size / 1e6:,.0f}" for one in row.variants if one.image)
    ready = " ".join(one.bwrap for one in row.variants if one.image)
    middle = f"{row.provider:<12} {size + ' MB' if size else '':<10} {_short(row.pin):<12} {ready}"
    yield f"{row.name:<{wide}}  {row.state:<7}  {middle}".rstrip()
    if row.why_not:
        yield from textwrap.wrap(row.why_not, WIDTH, initial_indent="    ", subsequent_indent="    ")


def _short(pin: str) -> str:
    digest = pin.rpartition(":")[2]
    return digest[:12] if digest else ""


def add(parser: argparse.ArgumentParser) -> None:
    words = ("list", "build", "pull", "prune")
    parser.add_argument("do", choices=words, metavar="list|build|pull|prune", help="what to do")
    parser.add_argument("names", nargs="*", metavar="NAME", help="distributions, as in matrix/distros; default: all")
    parser.add_argument("--bwrap", choices=("distro", "none", "both"), default="both", help="build, pull: the variant")
    parser.add_argument("--update", action="store_true", help="build, pull: replace the pinned images by newer ones")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="build, pull: number of parallel jobs")
    parser.add_argument("--all", action="store_true", help="prune: also images that recipes need")
    parser.add_argument("--dry-run", action="store_true", help="prune: list what would be removed, remove nothing")
    parser.add_argument("--json", action="store_true", help="list: for programs")


def run(options: argparse.Namespace) -> int:
    names = _names(options.names)
    if options.all and options.do != "prune":
        raise InputError("--all belongs to `images prune`")
    if options.dry_run and options.do != "prune":
        raise InputError("--dry-run belongs to `images prune`")
    if options.update and options.do not in ("build", "pull"):
        raise InputError("--update belongs to `images build` and `images pull`")
    if options.jobs < 0:
        raise InputError("--jobs is a number of images, 1 or more")
    do = {"list": _list, "build": _build, "pull": _build, "prune": _prune}[options.do]
    return do(options, find_image_store(), names)


def _names(asked: list[str]) -> tuple[str, ...]:
    exist = SHIPPED.values(DISTROS)
    for name in asked:
        if name not in exist:
            raise InputError(f"images: there is no {name!r}", why=did_you_mean(name, exist))
    return tuple(dict.fromkeys(asked)) or exist


def _list(options: argparse.Namespace, store: ImageStore, names: tuple[str, ...]) -> int:
    cache = cache_folder()
    found = store.rows([SHIPPED.image(name) for name in names], cache)
    print(_as_json(found) if options.json else as_text(found, cache=cache))
    return 0


def _as_json(found: ImageListing) -> str:
    shown = {"engine": found.engine, "engine_fault": found.fault, "images": msgspec.to_builtins(found.rows)}
    return json.dumps(shown, indent=2)


def _build(options: argparse.Namespace, store: ImageStore, names: tuple[str, ...]) -> int:
    done = store.build(
        [SHIPPED.image(name) for name in names],
        cache_folder(),
        variants=("distro", "none") if options.bwrap == "both" else (options.bwrap,),
        named=bool(options.names),
        pull_only=options.do == "pull",
        update=options.update,
        jobs=options.jobs,
        stream=sys.stderr,
    )
    for what, image in done.made.items():
        print(f"{what:<34} {image}")
    for what, why in {**done.left_out, **done.failed}.items():
        print(f"{what:<34} is not available here\n  {why}".replace("\n  ", "\n    "))
    return NOT_HAD if done.failed or (options.names and done.left_out) else 0


def _prune(options: argparse.Namespace, store: ImageStore, names: tuple[str, ...]) -> int:
    gone = store.prune(
        [SHIPPED.image(name) for name in SHIPPED.values(DISTROS)],
        cache_folder(),
        names=tuple(options.names),
        all_of_them=options.all,
        dry_run=options.dry_run,
    )
    print("\n".join(_told(gone, "would remove" if options.dry_run else "removed")))
    return 0


def _told(gone: Sequence[RemovedImage], removed: str) -> Iterator[str]:
    for one in gone:
        size = f"{one.size / 1e6:,.0f} MB"
        yield f"stays    {one.what}: {one.why_not}" if one.why_not else f"{removed}  {one.what}  {size}"
    count = sum(not one.why_not for one in gone)
    yield (
        (f"{count} would be removed" if removed != "removed" else f"{count} removed")
        if gone
        else "nothing to remove: recipes need every image (to remove them too: --all)"
    )
