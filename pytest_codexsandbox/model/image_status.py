"""Image status: what `codexsandbox images` shows of the images that a backend makes."""

from typing import Literal

import msgspec

ImageState = Literal["ready", "in part", "to make", "not had"]


class ImageVariant(msgspec.Struct, frozen=True, kw_only=True):
    """One image of a distribution."""

    bwrap: str  # `distro` or `none`
    image: str = ""  # its id, where it is ready
    size: int = 0
    why_not: str = ""


class ImageRow(msgspec.Struct, frozen=True, kw_only=True):
    """Images of one distribution."""

    name: str
    state: ImageState
    provider: str  # of its base; how it would be made where it is missing; made with another cache: by its name
    pin: str
    made: str
    variants: tuple[ImageVariant, ...]

    @property
    def why_not(self) -> str:
        """Returns why a variant is unavailable; "" if every variant is there or can be tried."""
        return next((one.why_not for one in self.variants if one.why_not), "")


class ImageListing(msgspec.Struct, frozen=True, kw_only=True):
    """All images, and the engine that was queried."""

    engine: str
    rows: tuple[ImageRow, ...]
    fault: str = ""  # why the engine gave no answer: the rows come from the lock file


class BuiltImages(msgspec.Struct, frozen=True, kw_only=True):
    """Result of `images build` and `images pull`, by image name."""

    made: dict[str, str]  # ids
    left_out: dict[str, str] = {}  # why it was not tried
    failed: dict[str, str] = {}  # why it could not be made


class RemovedImage(msgspec.Struct, frozen=True, kw_only=True):
    """Image or archive that `images prune` removed."""

    what: str
    size: int
    why_not: str = ""  # it stays
