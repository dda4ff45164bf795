"""Build: the engine builds the second stage, and imports a bootstrapped base."""

import io
import os
import re
import tarfile
from pathlib import Path
from typing import Any, BinaryIO, Final

from pytest_codexsandbox.environments.container import labels
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.environments.container.provision.build_errors import of_build
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.environments.container.provision.pull import bounded, patient
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.system.progress import Progress

SILENCE: Final = 600  # seconds without a word: a large package unpacks without one
_ID: Final = re.compile(r"sha256:[0-9a-f]{64}")
_SAID: Final = 1 << 16
_PROXIES: Final = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


def build(engine: Engine, want: ImageRequest, base: str, *, watch: Progress, afresh: bool = False) -> str:
    """Builds the second stage. Returns the image's id."""
    said, image = "", ""
    marks = {
        **labels.kept("image"),
        image_request.DIGEST: image_request.digest(want),
        image_request.NAME: want.image.name,
    }
    with patient(engine, SILENCE), engine.asked(f"build the image {want.what}"):
        events = engine.api.build(
            fileobj=_context(image_request.dockerfile(want, base)),
            custom_context=True,
            tag=want.tag,
            labels=marks,
            buildargs={name: os.environ[name] for name in _PROXIES if name in os.environ},
            rm=True,
            forcerm=True,
            nocache=afresh,
            decode=True,
            timeout=SILENCE,
        )
        for event in bounded(events, f"build the image {want.what}"):
            if "error" in event:
                raise of_build(want.what, said, " ".join(str(event["error"]).split()))
            image = str((event.get("aux") or {}).get("ID", image))
            said = (said + str(event.get("stream", "")))[-_SAID:]
            _progress(str(event.get("stream", "")), want, watch)
    return image or engine.image_id(want.tag)


def give(engine: Engine, archive: Path, tag: str, *, what: str, watch: Progress) -> str:
    """Imports a file system as an image. Returns the image's id."""
    repository, _, name = tag.rpartition(":")
    changes = [f"LABEL {key}={value}" for key, value in labels.kept("image").items()]
    with archive.open("rb") as file, patient(engine, SILENCE), engine.asked(f"accept {archive.name}"):
        reading = _CountingReader(file, archive.stat().st_size, what, watch)
        said = engine.api.import_image_from_stream(reading, repository=repository, tag=name, changes=changes)
    if engine.podman:
        _name(engine, str(said), repository, name)
    image = engine.image_id(tag)
    if not image:
        raise HarnessError("the container engine did not accept the image", where=what, why=str(said)[-300:])
    return image


def _name(engine: Engine, said: str, repository: str, name: str) -> None:
    """Tags an imported image, because Podman calls an import `latest` regardless of the requested tag."""
    found = _ID.search(said)
    if found is not None and not engine.image_id(f"{repository}:{name}"):
        with engine.asked("tag an image"):
            engine.api.tag(found[0], repository, name)
            engine.api.remove_image(f"{repository}:latest", noprune=True)


class _CountingReader:
    """Counts the bytes that the engine has read."""

    def __init__(self, file: BinaryIO, total: int, what: str, watch: Progress) -> None:
        self._file, self._total, self._what, self._watch = file, total, what, watch

    def __iter__(self) -> Any:
        done = 0
        while piece := self._file.read(1 << 20):
            done += len(piece)
            self._watch.stage(self._what, "loading it into the engine", done, self._total)
            yield piece


def _context(dockerfile: str) -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("Dockerfile")
        content = dockerfile.encode()
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    packed.seek(0)
    return packed


def _progress(line: str, want: ImageRequest, watch: Progress) -> None:
    if line.startswith("Step "):
        done, _, total = line.split()[1].partition("/")
        if done.isdigit() and total.isdigit():
            watch.stage(want.what, "installing packages", int(done) - 1, int(total))
