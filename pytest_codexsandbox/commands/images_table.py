"""The table of `codexsandbox images list`."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.environments.container.provision.availability import ImageAvailability
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.environments.container.provision.lockfile import Locked, LockFile
from pytest_codexsandbox.matrix.axis_files import SHIPPED

WIDTH: Final = 80
State = Literal["ready", "in part", "to make", "not had"]


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    bwrap: str  # `distro` or `none`
    image: str = ""  # its id, where it stands ready
    size: int = 0
    why_not: str = ""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    state: State
    provider: str  # of its base; how it would be had where it is not there; made with another cache: by its name
    pin: str
    made: str
    variants: tuple[Variant, ...]

    @property
    def why_not(self) -> str:
        return next((one.why_not for one in self.variants if one.why_not), "")


def rows(names: tuple[str, ...], cache: Path, images: Any) -> tuple[Row, ...]:
    """`images`: on an engine; None: what the lock file says."""
    locked, foresight = LockFile(cache).read(), ImageAvailability(cache)
    return tuple(_row(name, locked, foresight, images) for name in names)


def _row(name: str, locked: Locked, foresight: ImageAvailability, images: Any) -> Row:
    image = SHIPPED.image(name)
    wants = [ImageRequest(image=image, bubblewrap=one) for one in ((True, False) if image.bubblewrap else (False,))]
    variants = tuple(_variant(want, locked, foresight, images) for want in wants)
    bases = locked.bases.get(image_request.base_digest(image), {}).values()
    base = next(iter(sorted(bases, key=lambda one: one.made, reverse=True)), None)
    ready = [bool(one.image) for one in variants]
    state: State = "ready" if all(ready) else "in part" if any(ready) else "to make"
    if state == "to make" and all(one.why_not for one in variants):
        state = "not had"
    ways = " or ".join(way for way, there in (("pull", image.pull), ("bootstrap", image.suite)) if there)
    return Row(
        name=name,
        state=state,
        provider=base.provider if base else "by its name" if any(ready) else ways,
        pin=base.pin if base else "",
        made=base.made if base else "",
        variants=variants,
    )


def _variant(want: ImageRequest, locked: Locked, foresight: ImageAvailability, images: Any) -> Variant:
    made = locked.images.get(image_request.digest(want), {}).values()
    there = images.seen(want) if images else next((one.image for one in made), "")
    if not there:
        return Variant(bwrap=want.variant, why_not=foresight.why_not(want))
    size = next((one.size for one in made if one.image == there), 0)
    return Variant(bwrap=want.variant, image=there, size=size or (images.size(there) if images else 0))


def as_text(found: tuple[Row, ...], *, host: str, cache: Path, fault: str = "") -> str:
    lines = [f"images at {host}, pinned in {cache / 'images.lock.json'}"]
    lines += textwrap.wrap(f"as the lock file has it, for {fault}", WIDTH) if fault else []
    wide = max((len(row.name) for row in found), default=0)
    for row in found:
        lines += _lines(row, wide)
    return "\n".join(lines)


def _lines(row: Row, wide: int) -> Iterator[str]:
    size = " + ".join(f"{one.size / 1e6:,.0f}" for one in row.variants if one.image)
    ready = " ".join(one.bwrap for one in row.variants if one.image)
    middle = f"{row.provider:<12} {size + ' MB' if size else '':<10} {_short(row.pin):<12} {ready}"
    yield f"{row.name:<{wide}}  {row.state:<7}  {middle}".rstrip()
    if row.why_not:
        yield from textwrap.wrap(row.why_not, WIDTH, initial_indent="    ", subsequent_indent="    ")


def _short(pin: str) -> str:
    digest = pin.rpartition(":")[2]
    return digest[:12] if digest else ""
