"""An image goes from one engine to another: what was made once is not made again on every host of a pool."""

import hashlib
from pathlib import Path
from typing import Final

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.system.locks import exclusive

_PATIENCE: Final = 900.0
_PIECE: Final = 4 << 20


def ship(image: str, *, home: Engine, there: Engine, cache: Path) -> None:
    """Sends an image to an engine that lacks it. Of many workers, one sends it and the others wait."""
    if there.image_id(image):
        return
    lock = cache / "locks" / f"ship-{hashlib.sha256(f'{there.host} {image}'.encode()).hexdigest()[:16]}.lock"
    with exclusive(lock, f"sends {image} to {there.host}", patience=_PATIENCE):
        if not there.image_id(image):
            _send(image, home, there)


def _send(image: str, home: Engine, there: Engine) -> None:
    with home.asked(f"export the image {image}"):
        pieces = home.api.get_image(image, chunk_size=_PIECE)
    with there.asked(f"import the image {image}"):
        for said in there.api.load_image(pieces):
            if "error" in said:
                raise HarnessError("the container engine did not accept the image", where=there.host, why=said["error"])
    if not there.image_id(image):
        raise HarnessError("the engine loaded the image under another name", where=f"{image} at {there.host}")
