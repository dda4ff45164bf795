"""`Images` on an engine that is none, with a bootstrap that is none: what the tests of them have in common."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.environments.container import images
from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.environments.container.provision import bootstrap, keyrings
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.container import BwrapSpec, ContainerSpec, ImageSpec, Profile, UserSpec
from pytest_codexsandbox.system.progress import Progress
from tests.unit.environments.container.provision.fake_engine import FakeEngine


class Heard(Progress):
    """What a person would have been told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.ended: list[str] = []

    def end(self, task: str, line: str) -> None:
        self.ended.append(line)

    def say(self, line: str) -> None:
        self.said.append(line)


class Tool:
    """mmdebstrap, as a process that writes a file; `says` with a `code` is how it fails."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.code, self.says = 0, ""
        self.end: CommandResult | None = None

    def __call__(self, command: Command) -> CommandResult:
        self.calls.append(command.argv)
        if self.end is not None:
            return self.end
        if self.code:
            return CommandResult(ended="exit", exit=self.code, stderr=self.says.encode())
        target = next(word for word in command.argv if word.endswith(".tar"))
        Path(target).write_bytes(f"file system {len(self.calls)}".encode())
        return CommandResult(ended="exit")


def a_distro(name: str = "debian-bookworm", **words: Any) -> ImageSpec:
    return ImageSpec(**{"name": name, "pull": "debian:bookworm", "suite": "bookworm", **words})


def a_container(image: ImageSpec | None = None, *, bwrap: str = "distro") -> ContainerSpec:
    source: Any = bwrap if bwrap in ("distro", "none") else "static"
    return ContainerSpec(
        image=image or a_distro(),
        bwrap=BwrapSpec(name=bwrap, source=source),
        profile=Profile(name="p"),
        user=UserSpec(name="root"),
    )


def want(image: ImageSpec | None = None, *, bubblewrap: bool = True) -> ImageRequest:
    return ImageRequest(image=image or a_distro(), bubblewrap=bubblewrap)


class ImagesWorld:
    """One machine: its engine, its cache, its tools."""

    def __init__(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cache, self.engine, self.tool, self.heard = cache, FakeEngine(), Tool(), Heard()
        self._patch = monkeypatch
        have: Callable[..., Any] = bootstrap.have
        self.have_tools("mmdebstrap")
        monkeypatch.setattr(keyrings, "FOLDER", cache / "nowhere")
        monkeypatch.setattr("platform.machine", lambda: "x86_64")
        monkeypatch.setattr(images, "pull", lambda engine, reference, **words: engine.pull(engine, reference, **words))
        monkeypatch.setattr(
            bootstrap,
            "have",
            lambda image, cache, **words: have(image, cache, run=self.tool, **words),
        )

    def have_tools(self, *names: str) -> None:
        self._patch.setattr("shutil.which", lambda name, **_: f"/bin/{name}" if name in names else None)

    def images(self, **words: Any) -> Images:
        engine: Any = words.pop("engine", self.engine)
        return Images(engine, self.cache, watch=self.heard, **words)

    def lock(self) -> Any:
        return json.loads((self.cache / "images.lock.json").read_text())
