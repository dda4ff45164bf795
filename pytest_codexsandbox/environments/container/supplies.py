"""What a container is given to read: the hand with its Python, and the Codexes that will be called in it.

A folder of this machine is bound only where the engine was seen to read this machine's files; else its content is
sent, once, into a volume that is named by its digest.
"""

import hashlib
import io
import secrets
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.environments.container import labels, subjects
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import CodexSandboxError, MachineFault, NotHad

SUBJECTS: Final = "/opt/codexsandbox/codex"
_COMPLETE: Final = ".codexsandbox-complete"


class Supply(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of this machine that is seen at `inside`."""

    folder: str
    inside: str
    digest: str


def of_subject(binary: str, digest: str, cache: Path) -> tuple[Supply, str]:
    """The folder that a Codex needs with its neighbours, and where its program is found inside."""
    folder, program = subjects.place_of(binary, digest, cache)
    inside = f"{SUBJECTS}/{digest[:16]}"
    return Supply(folder=str(folder), inside=inside, digest=digest), f"{inside}/{program}"


class Supplier:
    """For one engine."""

    def __init__(self, engine: Engine, cache: Path) -> None:
        self._engine, self._cache = engine, cache
        self._near: bool | None = None

    def mounts(self, supplies: tuple[Supply, ...], image: str) -> list[dict[str, Any]]:
        return [self._mount(supply, image) for supply in supplies]

    def _mount(self, supply: Supply, image: str) -> dict[str, Any]:
        if self.near(image):
            return {"Type": "bind", "Source": supply.folder, "Target": supply.inside, "ReadOnly": True}
        return {"Type": "volume", "Source": self._volume(supply, image), "Target": supply.inside, "ReadOnly": True}

    # ---- does the engine see our files?
    def near(self, image: str) -> bool:
        """Proved by a word that we write and read back through the engine; asked once."""
        if self._near is None:
            self._near = self._is_near(image)
        return self._near

    def _is_near(self, image: str) -> bool:
        folder = self._cache / "hands" / f"near-{secrets.token_hex(6)}"
        folder.mkdir(parents=True)
        word = secrets.token_hex(16)
        try:
            (folder / "word").write_text(word, encoding="ascii")
            mount = {"Type": "bind", "Source": str(folder), "Target": "/opt/codexsandbox/near", "ReadOnly": True}
            with self._engine.helper(image, [mount]) as helper:
                return self._engine.read_file(helper, "/opt/codexsandbox/near/word", limit=4096) == word.encode()
        except CodexSandboxError:
            return False  # it does not know the folder: it is elsewhere
        finally:
            (folder / "word").unlink(missing_ok=True)
            folder.rmdir()

    # ---- volumes
    def _volume(self, supply: Supply, image: str) -> str:
        name = f"codexsandbox-{hashlib.sha256(f'{supply.inside} {supply.digest}'.encode()).hexdigest()[:24]}"
        mount = {"Type": "volume", "Source": name, "Target": "/opt/codexsandbox/volume"}
        with self._engine.asked(f"make the volume {name}"):
            self._engine.api.create_volume(name, labels=labels.kept("supply"))
        with self._engine.helper(image, [mount]) as helper:
            if not self._is_complete(helper):
                self._fill(helper, Path(supply.folder))
        return name

    def _is_complete(self, helper: str) -> bool:
        try:
            return self._engine.read_file(helper, f"/opt/codexsandbox/volume/{_COMPLETE}", limit=4096) == b"complete"
        except NotHad:
            return False

    def _fill(self, helper: str, folder: Path) -> None:
        """The mark goes in last: what was only half sent is sent again."""
        for pack in (lambda archive: archive.add(folder, arcname="."), _mark):
            with self._engine.asked("take our files"):
                if not self._engine.api.put_archive(helper, "/opt/codexsandbox/volume", _packed(pack)):
                    raise MachineFault("the container engine did not take our files", where=str(folder))


def _mark(archive: tarfile.TarFile) -> None:
    member = tarfile.TarInfo(_COMPLETE)
    member.size, member.mode = len(b"complete"), 0o444
    archive.addfile(member, io.BytesIO(b"complete"))


def _packed(pack: Any) -> Iterator[bytes]:
    """The tar, piece by piece, through an anonymous file: never whole in memory."""
    import tempfile

    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
            pack(archive)
        file.seek(0)
        while piece := file.read(1 << 20):
            yield piece
