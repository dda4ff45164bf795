"""Image rows: the state of each distribution's images, from an engine and the lock file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.environments.container.provision.availability import ImageAvailability
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.environments.container.provision.lockfile import Locked, LockFile
from pytest_codexsandbox.model.container import ImageSpec
from pytest_codexsandbox.model.image_status import ImageRow, ImageState, ImageVariant


class ReadyImages(Protocol):
    """The ready images of one engine."""

    def seen(self, want: ImageRequest) -> str: ...
    def size(self, image: str) -> int: ...


def image_rows(images: Sequence[ImageSpec], cache: Path, ready: ReadyImages | None) -> tuple[ImageRow, ...]:
    """Returns a row for each distribution. `ready`: on an engine; None: what the lock file says."""
    locked, availability = LockFile(cache).read(), ImageAvailability(cache)
    return tuple(_row(image, locked, availability, ready) for image in images)


def _row(image: ImageSpec, locked: Locked, availability: ImageAvailability, ready: ReadyImages | None) -> ImageRow:
    wants = [ImageRequest(image=image, bubblewrap=one) for one in ((True, False) if image.bubblewrap else (False,))]
    variants = tuple(_variant(want, locked, availability, ready) for want in wants)
    bases = locked.bases.get(image_request.base_digest(image), {}).values()
    base = next(iter(sorted(bases, key=lambda one: one.made, reverse=True)), None)
    there = any(one.image for one in variants)
    ways = " or ".join(way for way, exists in (("pull", image.pull), ("bootstrap", image.suite)) if exists)
    return ImageRow(
        name=image.name,
        state=_state(variants),
        provider=base.provider if base else "by its name" if there else ways,
        pin=base.pin if base else "",
        made=base.made if base else "",
        variants=variants,
    )


def _state(variants: Sequence[ImageVariant]) -> ImageState:
    ready = [bool(one.image) for one in variants]
    if any(ready):
        return "ready" if all(ready) else "in part"
    return "not had" if all(one.why_not for one in variants) else "to make"


def _variant(
    want: ImageRequest, locked: Locked, availability: ImageAvailability, ready: ReadyImages | None
) -> ImageVariant:
    made = locked.images.get(image_request.digest(want), {}).values()
    there = ready.seen(want) if ready else next((one.image for one in made), "")
    if not there:
        return ImageVariant(bwrap=want.variant, why_not=availability.why_not(want))
    size = next((one.size for one in made if one.image == there), 0)
    return ImageVariant(bwrap=want.variant, image=there, size=size or (ready.size(there) if ready else 0))
