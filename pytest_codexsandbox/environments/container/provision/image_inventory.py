"""Image inventory: lists and removes our images in an engine, found by labels and names. Spares a user's own images."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.environments import run_dirs
from pytest_codexsandbox.environments.container import labels
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.provision import bootstrap, build_turns, image_request
from pytest_codexsandbox.environments.container.provision.lockfile import LockFile
from pytest_codexsandbox.errors import HarnessError, Unavailable
from pytest_codexsandbox.model.image_status import RemovedImage

_BASE: Final = f"{image_request.REPOSITORY}/base-"


class InventoryImage(msgspec.Struct, frozen=True, kw_only=True):
    """One of our images in an engine. `name`: of the distribution. A derived image has the name and digest of its
    origin.
    """

    id: str
    tag: str
    name: str
    digest: str  # of what it was made of; "" for bases and what was derived
    size: int
    is_base: bool = False

    @property
    def what(self) -> str:
        return self.tag or self.id[:19]


def held(engine: Engine) -> tuple[InventoryImage, ...]:
    with engine.asked("list its images"):
        labelled = engine.api.images(filters={"label": f"{labels.KIND}=image"})
        bases = engine.api.images(filters={"reference": f"{_BASE}*"})
    found = {one.tag or one.id: one for image in (*labelled, *bases) for one in _held(image)}
    return tuple(found.values())


def _held(image: dict[str, Any]) -> Iterator[InventoryImage]:
    marks = image.get("Labels") or {}
    ours = marks.get(labels.KIND) == "image"
    for tag in image.get("RepoTags") or [""]:
        plain = "" if tag == "<none>:<none>" else tag.removeprefix("localhost/")
        is_base = plain.startswith(_BASE)
        if not ours and not is_base:
            continue  # a registry's name for an image that has our name too
        digest = "" if is_base else str(marks.get(image_request.DIGEST, ""))
        name = plain.removeprefix(_BASE).partition(":")[0] if is_base else str(marks.get(image_request.NAME, ""))
        yield InventoryImage(
            id=str(image["Id"]), tag=plain, name=name, digest=digest, size=int(image.get("Size", 0)), is_base=is_base
        )


def prune(
    engine: Engine, cache: Path, is_wanted: Callable[[InventoryImage], bool], *, dry_run: bool = False
) -> Iterator[RemovedImage]:
    """Removes images first, then their bases. `dry_run`: only reports what would be removed."""
    if busy := build_turns.held(cache):
        raise Unavailable(
            "images are being built at the moment",
            why=f"{len(busy)} of them",
            next_step="wait until it ends, or stop it",
        )
    away = [one for one in held(engine) if not is_wanted(one)]
    removed: set[str] = set()
    for one in sorted(away, key=lambda one: (one.is_base, bool(one.name))):
        why = "" if dry_run else _remove(engine, one)
        removed |= set() if why or dry_run else {one.id}
        yield RemovedImage(what=one.what, size=one.size, why_not=why)
    if removed:
        LockFile(cache).forget(removed)


def prune_archives(
    cache: Path, is_wanted: Callable[[str, str], bool], *, dry_run: bool = False
) -> Iterator[RemovedImage]:
    """Removes archives. `is_wanted` gets the distribution's name and the digest of the base's ingredients."""
    folder = cache / bootstrap.FOLDER
    for note in sorted(folder.glob("*.json")):
        archive = note.with_suffix(".tar")
        try:
            name = str(json.loads(note.read_bytes())["name"])
        except (OSError, ValueError, KeyError, TypeError):
            name = ""
        if not is_wanted(name, note.stem.rpartition("-")[2]):
            size = archive.stat().st_size if archive.is_file() else 0
            if not dry_run:
                note.unlink(missing_ok=True)
                archive.unlink(missing_ok=True)
            yield RemovedImage(what=str(archive), size=size)
    for left in folder.glob("making-*"):  # of a run that was killed
        stays = [] if dry_run else run_dirs.give_back(left)
        yield RemovedImage(what=str(left), size=0, why_not="; ".join(stays[:3]))


def _remove(engine: Engine, one: InventoryImage) -> str:
    """Removes an image. Returns "", or why the image stays."""
    try:
        with engine.asked(f"remove the image {one.what}"):
            engine.api.remove_image(one.tag or one.id)
    except Unavailable:
        return ""
    except HarnessError as problem:
        return problem.why
    return ""
