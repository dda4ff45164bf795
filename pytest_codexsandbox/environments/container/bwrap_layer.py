"""The bubblewrap of a container: laid there before it starts, and what is really there held against what was asked."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.environments.bubblewrap.bwrap_provider import INSIDE, provide
from pytest_codexsandbox.environments.bubblewrap.install_layer import packed, wrong
from pytest_codexsandbox.environments.container import labels
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import ConfigMismatch, HarnessError, Unavailable
from pytest_codexsandbox.guest.worlds import new_word
from pytest_codexsandbox.model.container import ContainerSpec

_LARGEST: Final = 64 << 20
_NAME: Final = "codexsandbox/with-bwrap"


class BwrapLayer:
    """Layer of one container, from its creation to what its agent reports."""

    def __init__(self, engine: Engine, asked: ContainerSpec, cache: Path) -> None:
        self._engine, self._spec = engine, asked.bwrap
        self._found = provide(asked.bwrap, cache) if asked.bwrap.ours else None
        self._archive = packed(self._found, asked.bwrap) if self._found else b""
        self._read_only = asked.profile.read_only

    def image(self, image: str) -> str:
        """Returns the image, with the bubblewrap built in if the container's file system is read-only."""
        return self._baked(image) if self._archive and self._read_only else image

    def lay(self, container: str) -> None:
        """Installs the bubblewrap into a container that is not started yet."""
        if self._archive and not self._read_only:
            self._put(container)

    def archive(self) -> str:
        """Returns a kept archive file of the installed bubblewrap; "" if none was installed."""
        if not self._found or self._read_only:
            return ""
        file = Path(self._found.folder) / f"laid-{hashlib.sha256(self._archive).hexdigest()[:16]}.tar"
        if not file.is_file():
            staging = file.with_name(f"{file.name}.{new_word()}")
            staging.write_bytes(self._archive)
            staging.replace(file)
        return str(file)

    def facts(self, agent_facts: Mapping[str, Any], container: str) -> dict[str, Any]:
        """Returns facts about the installed and the requested bubblewrap. Raises ConfigMismatch if they differ."""
        there = dict(agent_facts.get("bwrap") or {})
        if there.get("sha256") == "unreadable":  # by the user: the engine can
            there["sha256"] = self._digest(container, str(there["real"]))
        differs = wrong(self._spec, self._found, there)
        if differs:
            what = f"bubblewrap {self._spec.name} was requested and is not in the container"
            raise ConfigMismatch(what, where=INSIDE, why=differs)
        asked = {
            "name": self._spec.name,
            "source": self._spec.source,
            "free": self._spec.free,
            "sha256": there.get("sha256", ""),
            "version": there.get("version", ""),
        }
        return {"bwrap": there, "bwrap_asked": asked}

    # ---- by way of the engine
    def _put(self, container: str) -> None:
        with self._engine.asked(f"accept the bubblewrap for {INSIDE}"):
            if not self._engine.api.put_archive(container, "/", self._archive):
                raise HarnessError(f"the container engine did not accept the bubblewrap for {INSIDE}")

    def _baked(self, image: str) -> str:
        """Returns an image with the bubblewrap, named by its content, so that it is made once."""
        tag = hashlib.sha256(image.encode() + self._archive).hexdigest()[:24]
        found = self._engine.image_id(f"{_NAME}:{tag}")
        if found:
            return found
        with self._engine.helper(image) as helper:
            self._put(helper)
            with self._engine.asked("store an image with the bubblewrap in it"):
                self._engine.api.commit(helper, repository=_NAME, tag=tag, changes=labels.derived())
        return self._engine.image_id(f"{_NAME}:{tag}")

    def _digest(self, container: str, path: str) -> str:
        try:
            return hashlib.sha256(self._engine.read_file(container, path, limit=_LARGEST)).hexdigest()
        except Unavailable:
            return "unreadable"
