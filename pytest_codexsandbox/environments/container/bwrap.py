"""The bubblewrap of a container: laid there before it starts, and what is really there held against what was asked."""

import hashlib
import io
import struct
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.environments.bubblewrap.having import INSIDE, Bubblewrap, have
from pytest_codexsandbox.environments.container import labels
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import MachineFault
from pytest_codexsandbox.guest.worlds import new_word
from pytest_codexsandbox.model.container import BwrapSpec, ContainerSpec

CAPABILITY: Final = "security.capability"
_NET_RAW: Final = 1 << 13  # one that an engine leaves to containers: with another the kernel would not start it
# VFS_CAP_REVISION_2 with the effective bit: flags, then permitted and inheritable, low words first.
CAPABILITIES: Final = struct.pack("<IIIII", 0x02000001, _NET_RAW, 0, 0, 0)
_NAME: Final = "codexsandbox-bwrap"


class Layer:
    """Of one container, from its creation to what its hand says of itself."""

    def __init__(self, engine: Engine, asked: ContainerSpec, cache: Path) -> None:
        self._engine, self._spec = engine, asked.bwrap
        self._found = have(asked.bwrap, cache) if asked.bwrap.ours else None
        self._archive = packed(self._found, asked.bwrap) if self._found else b""
        self._read_only = asked.profile.read_only

    def image(self, image: str) -> str:
        """A container whose file system is read-only takes nothing: there it is in the image already."""
        return self._baked(image) if self._archive and self._read_only else image

    def lay(self, container: str) -> None:
        """Before it is started."""
        if self._archive and not self._read_only:
            self._put(container)

    def facts(self, told: Mapping[str, Any], container: str) -> dict[str, Any]:
        """What is there, and what was asked for; a fault of the machine when the one is not the other."""
        there = dict(told.get("bwrap") or {})
        if there.get("sha256") == "unreadable":  # by the user: the engine can
            there["sha256"] = self._digest(container, str(there["real"]))
        wrong = _wrong(self._spec, self._found, there)
        if wrong:
            raise MachineFault(f"bubblewrap {self._spec.name} was asked for, and is not there", where=INSIDE, why=wrong)
        asked = {
            "name": self._spec.name, "source": self._spec.source, "free": self._spec.free,
            "sha256": there.get("sha256", ""), "version": there.get("version", ""),
        }  # fmt: skip
        return {"bwrap": there, "bwrap_asked": asked}

    # ---- by way of the engine
    def _put(self, container: str) -> None:
        with self._engine.asked(f"take the bubblewrap for {INSIDE}"):
            if not self._engine.api.put_archive(container, "/", self._archive):
                raise MachineFault(f"the container engine did not take the bubblewrap for {INSIDE}")

    def _baked(self, image: str) -> str:
        """Named by what is in it, so that it is made once."""
        tag = hashlib.sha256(image.encode() + self._archive).hexdigest()[:24]
        found = self._engine.image_id(f"{_NAME}:{tag}")
        if found:
            return found
        helper = self._engine.create(
            image, ("/nothing",), {"NetworkMode": "none"}, Labels=labels.labels("helper", new_word())
        )
        try:
            self._put(helper)
            changes = [f"LABEL {name}={value}" for name, value in labels.kept("image").items()]
            with self._engine.asked("keep an image with the bubblewrap in it"):
                self._engine.api.commit(helper, repository=_NAME, tag=tag, changes=changes)
        finally:
            self._engine.remove(helper)
        return self._engine.image_id(f"{_NAME}:{tag}")

    def _digest(self, container: str, path: str) -> str:
        with self._engine.asked(f"read {path}"):
            pieces, _ = self._engine.api.get_archive(container, path)
            archive = b"".join(pieces)
        with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
            first = opened.next()
            file = opened.extractfile(first) if first is not None and first.isfile() else None
            return hashlib.sha256(file.read()).hexdigest() if file is not None else "unreadable"


def packed(found: Bubblewrap, spec: BwrapSpec) -> bytes:
    """Its files as an engine unpacks them at `/`, owned by root. The first is the program."""
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for place, file in enumerate(found.files):
            content = (Path(found.folder) / file.name).read_bytes()
            member = tarfile.TarInfo(file.inside.lstrip("/"))
            member.size, member.mode = len(content), file.mode if place else spec.mode
            if spec.file_caps and not place:
                member.pax_headers = {f"SCHILY.xattr.{CAPABILITY}": CAPABILITIES.decode("ascii")}
            archive.addfile(member, io.BytesIO(content))
    return into.getvalue()


def _wrong(spec: BwrapSpec, found: Bubblewrap | None, there: Mapping[str, Any]) -> str:
    if spec.source == "none":
        return f"a program finds {there['path']} on PATH" if there else ""
    if not there:
        return "there is no bwrap on PATH"
    if found is None:
        return ""
    wanted = {
        "real": INSIDE, "sha256": found.sha256, "mode": f"{spec.mode:o}",
        "capability": CAPABILITIES.hex() if spec.file_caps else "",
    }  # fmt: skip
    return "; ".join(
        f"{name} is {there.get(name)!r}, not {value!r}" for name, value in wanted.items() if there.get(name) != value
    )
