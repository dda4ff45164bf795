"""Image store of containers: lists, makes and removes the images that containers run in."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from pytest_codexsandbox.environments.container.engine import Engine, default_host
from pytest_codexsandbox.environments.container.image_rows import image_rows
from pytest_codexsandbox.environments.container.images import PROVIDERS, Images
from pytest_codexsandbox.environments.container.provision import image_inventory, image_request
from pytest_codexsandbox.environments.container.provision.availability import ImageAvailability
from pytest_codexsandbox.environments.container.provision.image_inventory import InventoryImage
from pytest_codexsandbox.environments.container.provision.image_preparation import one_by_one
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.environments.container.provision.lockfile import LockFile
from pytest_codexsandbox.environments.container.provision.parallel_build import make_all
from pytest_codexsandbox.environments.container.sweep import find
from pytest_codexsandbox.errors import CodexSandboxError, Unavailable
from pytest_codexsandbox.model.container import ImageSpec
from pytest_codexsandbox.model.image_status import BuiltImages, ImageListing, RemovedImage
from pytest_codexsandbox.protocols import ImageStore
from pytest_codexsandbox.system.progress import progress_on


class ContainerImageStore(ImageStore):
    """The images of the usual engine. HarnessError if it does not answer, except for a listing."""

    def rows(self, images: Sequence[ImageSpec], cache: Path) -> ImageListing:
        """Lists what the engine has; without an answer, what the lock file records."""
        host = default_host()
        try:
            with Engine() as engine:
                return ImageListing(engine=host, rows=image_rows(images, cache, Images(engine, cache)))
        except CodexSandboxError as problem:
            rows = image_rows(images, cache, None)
            return ImageListing(engine=host, rows=rows, fault=f"{problem.what}: {problem.why}")

    def build(
        self,
        images: Sequence[ImageSpec],
        cache: Path,
        *,
        variants: Sequence[str],
        named: bool,
        pull_only: bool,
        update: bool,
        jobs: int,
        stream: TextIO,
    ) -> BuiltImages:
        providers = PROVIDERS[:1] if pull_only else PROVIDERS
        Engine().close()  # one error when no engine answers, not one for each image
        wants, left_out = _wants(images, cache, variants, named=named)
        with progress_on(stream) as watch:
            done = make_all(wants, lambda: one_by_one(cache, watch, providers=providers, update=update), jobs=jobs)
        made = {want.what: image for want, image in done.items() if isinstance(image, str)}
        return BuiltImages(made=made, left_out=left_out, failed=_failed(done))

    def prune(
        self, shipped: Sequence[ImageSpec], cache: Path, *, names: Sequence[str], all_of_them: bool, dry_run: bool
    ) -> tuple[RemovedImage, ...]:
        stays, archive_stays = _kept_by_name(names) if names or all_of_them else _kept_by_recipe(shipped, cache)
        with Engine() as engine:
            if not dry_run and any(one.state == "lives" for one in find(engine)):
                raise Unavailable(
                    "a run is using images at the moment", where=engine.host, next_step="wait until the run has ended"
                )
            return (
                *image_inventory.prune(engine, cache, stays, dry_run=dry_run),
                *image_inventory.prune_archives(cache, archive_stays, dry_run=dry_run),
            )


# ---- build
def _wants(
    images: Sequence[ImageSpec], cache: Path, variants: Sequence[str], *, named: bool
) -> tuple[list[ImageRequest], dict[str, str]]:
    """Returns what to make. Without names, an image that is known to be unavailable is left out, with the reason."""
    availability, wants = ImageAvailability(cache), list[ImageRequest]()
    left_out: dict[str, str] = {}
    for want in _variants(images, variants):
        if want.bubblewrap and not want.image.bubblewrap:
            if "none" not in variants:
                left_out[want.what] = availability.why_not(want)
        elif not named and (why := availability.why_not(want)):
            left_out[want.what] = why
        else:
            wants.append(want)
    return wants, left_out


def _variants(images: Sequence[ImageSpec], variants: Sequence[str]) -> Iterator[ImageRequest]:
    for image in images:
        for name in variants:
            yield ImageRequest(image=image, bubblewrap=name == "distro")


def _failed(done: Mapping[ImageRequest, str | CodexSandboxError]) -> dict[str, str]:
    """Joins the variants of one distribution that failed for the same reason."""
    faults = [(want, str(fault)) for want, fault in done.items() if isinstance(fault, CodexSandboxError)]
    variants_by_cause: dict[tuple[str, str], list[str]] = {}
    for want, why in faults:
        variants_by_cause.setdefault((want.image.name, why), []).append(want.variant)
    return {f"{name} ({', '.join(variants)})": why for (name, why), variants in variants_by_cause.items()}


# ---- prune
_Stays = tuple[Callable[[InventoryImage], bool], Callable[[str, str], bool]]  # of images, of archives


def _kept_by_name(names: Sequence[str]) -> _Stays:
    """Keeps the distributions that were not named; without names, keeps nothing."""

    def stays(one: InventoryImage) -> bool:
        return bool(names) and one.name not in names

    def archive_stays(name: str, digest: str) -> bool:
        return bool(names) and name not in names

    return stays, archive_stays


def _kept_by_recipe(shipped: Sequence[ImageSpec], cache: Path) -> _Stays:
    """Keeps what the shipped recipes need."""
    digests = {image_request.digest(want) for want in _variants(shipped, ("distro", "none"))}
    bases = {image_request.base_digest(one) for one in shipped}
    tags = {one.tag for row in LockFile(cache).read().bases.values() for one in row.values()}

    def stays(one: InventoryImage) -> bool:
        return one.tag in tags if one.is_base else bool(one.tag) and one.digest in digests

    def archive_stays(name: str, digest: str) -> bool:
        return digest in bases

    return stays, archive_stays
