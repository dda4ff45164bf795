"""Images: had already, pulled, or bootstrapped from the distribution's archive; then one second stage for all."""

from pathlib import Path

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import NotHad
from pytest_codexsandbox.model.container import ContainerSpec


class Images:
    def __init__(self, engine: Engine, cache: Path) -> None:
        self._engine, self._cache = engine, cache

    def have(self, spec: ContainerSpec) -> str:
        """The id of the image in which this is to run."""
        found = self._engine.image_id(spec.image.reference or "cxproto:bookworm")
        if not found:
            raise NotHad(f"there is no image {spec.image.reference}", where=self._engine.host)
        return found
