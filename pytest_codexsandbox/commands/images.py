"""Show, make or remove the images that containers run in.

An image is a distribution's base, pulled from a registry or bootstrapped from the distribution's archive where no
registry answers, and a second stage that is the same for all. It comes in two variants: `distro` with the
distribution's own bubblewrap, and `none`, into which other bubblewraps are laid. A run makes what it lacks; `build`
makes it beforehand. What was made is pinned by its digest in images.lock.json below the cache until --update.

  list   what is there, and why something cannot be had here; asks no registry and no archive
  build  make them: all that this machine may have, or those that are named
  pull   the same from a registry alone, never from an archive
  prune  remove what no recipe asks for any more; --all: everything of ours. Never what you made or pulled yourself

Exit code 1: something that was asked for could not be had.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.commands.images_table import Row, as_text, rows
from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.environments.container.provision.availability import ImageAvailability
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.environments.container.provision.lockfile import LockFile
from pytest_codexsandbox.environments.container.provision.parallel_build import make_all
from pytest_codexsandbox.environments.container.provision.progress import watching
from pytest_codexsandbox.errors import CodexSandboxError, InputError, Unavailable
from pytest_codexsandbox.matrix.axis_files import DISTROS, SHIPPED
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.registry import cache_folder

EXAMPLES: Final = (
    "codexsandbox images list",
    "codexsandbox images build",
    "codexsandbox images build debian-trixie ubuntu-24.04 --bwrap distro",
    "codexsandbox images pull fedora-43 --update",
    "codexsandbox images prune --all --dry-run",
)
NOT_HAD: Final = 1
DOCKER: Final = "pip install 'pytest-codexsandbox[docker]'"


def add(parser: argparse.ArgumentParser) -> None:
    words = ("list", "build", "pull", "prune")
    parser.add_argument("do", choices=words, metavar="list|build|pull|prune", help="what to do")
    parser.add_argument("names", nargs="*", metavar="NAME", help="distributions, as in matrix/distros; default: all")
    parser.add_argument("--bwrap", choices=("distro", "none", "both"), default="both", help="build, pull: the variant")
    parser.add_argument("--update", action="store_true", help="build, pull: newer ones in the place of what is pinned")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="build, pull: so many at once")
    parser.add_argument("--all", action="store_true", help="prune: also what recipes ask for")
    parser.add_argument("--dry-run", action="store_true", help="prune: only say what would go")
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
    try:
        import docker  # noqa: F401
    except ImportError as problem:
        raise InputError("the Python package of containers is missing", next_step=DOCKER) from problem
    return {"list": _list, "build": _build, "pull": _build, "prune": _prune}[options.do](options, names)


def _names(asked: list[str]) -> tuple[str, ...]:
    exist = SHIPPED.values(DISTROS)
    for name in asked:
        if name not in exist:
            raise InputError(f"images: there is no {name!r}", why=did_you_mean(name, exist))
    return tuple(dict.fromkeys(asked)) or exist


def _list(options: argparse.Namespace, names: tuple[str, ...]) -> int:
    from pytest_codexsandbox.environments.container.engine import Engine, default_host
    from pytest_codexsandbox.environments.container.images import Images

    cache, host = cache_folder(), default_host()
    try:
        with Engine() as engine:
            found, fault = rows(names, cache, Images(engine, cache)), ""
    except CodexSandboxError as problem:
        found, fault = rows(names, cache, None), f"{problem.what}: {problem.why}"
    print(_as_json(found, host, fault) if options.json else as_text(found, host=host, cache=cache, fault=fault))
    return 0


def _as_json(found: tuple[Row, ...], host: str, fault: str) -> str:
    shown: dict[str, Any] = {"engine": host, "engine_fault": fault, "images": msgspec.to_builtins(found)}
    return json.dumps(shown, indent=2)


def _build(options: argparse.Namespace, names: tuple[str, ...]) -> int:
    from pytest_codexsandbox.environments.container.engine import Engine
    from pytest_codexsandbox.environments.container.images import PROVIDERS
    from pytest_codexsandbox.environments.container.provision.image_preparation import one_by_one

    cache = cache_folder()
    providers = PROVIDERS[:1] if options.do == "pull" else PROVIDERS
    Engine().close()  # one error when nobody answers, not one for each
    wants, left = _wants(options, names, cache)
    with watching(sys.stderr) as watch:
        done = make_all(
            wants, lambda: one_by_one(cache, watch, providers=providers, update=options.update), jobs=options.jobs
        )
    missing = _missing(done)
    for want, image in done.items():
        if isinstance(image, str):
            print(f"{want.what:<34} {image}")
    for what, why in {**left, **missing}.items():
        print(f"{what:<34} cannot be had here\n  {why}".replace("\n  ", "\n    "))
    return NOT_HAD if missing or (options.names and left) else 0


def _missing(done: dict[ImageRequest, str | CodexSandboxError]) -> dict[str, str]:
    """What the variants of one distribution share is said once."""
    faults = [(want, str(fault)) for want, fault in done.items() if isinstance(fault, CodexSandboxError)]
    told: dict[tuple[str, str], list[str]] = {}
    for want, why in faults:
        told.setdefault((want.image.name, why), []).append(want.variant)
    return {f"{name} ({', '.join(variants)})": why for (name, why), variants in told.items()}


def _wants(
    options: argparse.Namespace, names: tuple[str, ...], cache: Path
) -> tuple[list[ImageRequest], dict[str, str]]:
    """What to make; of what nobody named, what is known not to be had is left out, and said."""
    foresight, wants = ImageAvailability(cache), list[ImageRequest]()
    left: dict[str, str] = {}
    for name in names:
        image = SHIPPED.image(name)
        for bubblewrap in (True, False):
            if options.bwrap not in ("both", "distro" if bubblewrap else "none"):
                continue
            want = ImageRequest(image=image, bubblewrap=bubblewrap)
            if bubblewrap and not image.bubblewrap:
                if options.bwrap == "distro":
                    left[want.what] = foresight.why_not(want)
            elif not options.names and (why := foresight.why_not(want)):
                left[want.what] = why
            else:
                wants.append(want)
    return wants, left


def _prune(options: argparse.Namespace, names: tuple[str, ...]) -> int:
    from pytest_codexsandbox.environments.container.engine import Engine
    from pytest_codexsandbox.environments.container.provision import image_inventory
    from pytest_codexsandbox.environments.container.sweep import find

    named = frozenset(options.names)
    shipped = [SHIPPED.image(name) for name in SHIPPED.values(DISTROS)]
    digests = {
        image_request.digest(ImageRequest(image=one, bubblewrap=with_it))
        for one in shipped
        for with_it in (True, False)
    }
    bases = {image_request.base_digest(one) for one in shipped}
    tags = {one.tag for row in LockFile(cache_folder()).read().bases.values() for one in row.values()}

    def stays(one: image_inventory.InventoryImage) -> bool:
        if named or options.all:
            return bool(named) and one.name not in named
        return one.tag in tags if one.is_base else bool(one.tag) and one.digest in digests

    def archive_stays(name: str, digest: str) -> bool:
        if named or options.all:
            return bool(named) and name not in named
        return digest in bases

    with Engine() as engine:
        if not options.dry_run and any(one.state == "lives" for one in find(engine)):
            raise Unavailable("a run is using images at the moment", where=engine.host, next_step="wait for its end")
        cache, dry_run = cache_folder(), options.dry_run
        gone = [
            *image_inventory.prune(engine, cache, stays, dry_run=dry_run),
            *image_inventory.prune_archives(cache, archive_stays, dry_run=dry_run),
        ]
    print("\n".join(_told(gone, "would remove" if dry_run else "removed")))
    return 0


def _told(gone: list[Any], removed: str) -> Iterator[str]:
    for one in gone:
        size = f"{one.size / 1e6:,.0f} MB"
        yield f"stays    {one.what}: {one.why_not}" if one.why_not else f"{removed}  {one.what}  {size}"
    count = sum(not one.why_not for one in gone)
    yield (
        (f"{count} would be removed" if removed != "removed" else f"{count} removed")
        if gone
        else "nothing to remove: recipes ask for all that is there (all of it: --all)"
    )
