"""An engine that keeps images in a dictionary: what `Images` asks of one, and nothing more."""

import hashlib
import io
import json
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pytest_codexsandbox.errors import HarnessError, Unavailable


class FakeApi:
    def __init__(self, engine: "FakeEngine") -> None:
        self._engine = engine
        self.timeout = 60

    def images(self, filters: dict[str, str]) -> list[dict[str, Any]]:
        wished = filters.get("label", "").partition("=")
        return [one for one in self._engine.images() if one["Labels"].get(wished[0]) == wished[2]]

    def inspect_image(self, reference: str) -> dict[str, Any]:
        return self._engine.inspected(reference)

    def tag(self, reference: str, repository: str, tag: str) -> None:
        self._engine.tags[f"{repository}:{tag}"] = self._engine.image_id(reference)

    def import_image_from_stream(self, stream: Any, *, repository: str, tag: str, changes: list[str]) -> str:
        content = b"".join(stream)
        tag = "latest" if self._engine.podman else tag  # as Podman 4.3 does
        marks = dict(one[6:].split("=", 1) for one in changes)
        return json.dumps({"id": self._engine.keep(f"{repository}:{tag}", content.hex(), marks)})

    def remove_image(self, reference: str, **_: Any) -> None:
        del self._engine.tags[reference]

    def build(self, **words: Any) -> Iterator[dict[str, Any]]:
        with tarfile.open(fileobj=io.BytesIO(words["fileobj"].read())) as context:
            file = context.extractfile("Dockerfile")
            assert file is not None
            dockerfile = file.read().decode()
        self._engine.builds.append(dockerfile)
        time.sleep(self._engine.slowness)
        yield {"stream": "Step 1/3 : FROM base\n"}
        if self._engine.build_says:
            yield {"stream": self._engine.build_says}
            yield {"error": "The command returned a non-zero code: 100"}
            return
        image = self._engine.keep(words["tag"], dockerfile + str(len(self._engine.builds)), words["labels"])
        yield {"aux": {"ID": image}}

    def close(self) -> None:
        pass


class FakeEngine:
    """`registry`: what can be pulled. `pulls` and `builds`: what was done."""

    podman = False

    def __init__(self, *, registry: dict[str, str] | None = None, refusal: str = "no such host") -> None:
        self.host, self.api = "unix:///fake.sock", FakeApi(self)
        self.podman = False
        self.registry, self.refusal = registry or {}, refusal
        self.tags: dict[str, str] = {}
        self._labels: dict[str, dict[str, str]] = {}
        self.pulls: list[str] = []
        self.builds: list[str] = []
        self.build_says = ""
        self.slowness = 0.0
        self.arch = "x86_64"
        self._one = threading.Lock()

    def keep(self, tag: str, content: str, labels: dict[str, str]) -> str:
        with self._one:
            image = f"sha256:{hashlib.sha256(json.dumps([content, labels]).encode()).hexdigest()}"
            self.tags[tag], self._labels[image] = image, labels
            return image

    def forget(self) -> None:
        """As when somebody cleaned the engine."""
        self.tags.clear()
        self._labels.clear()

    def image_id(self, reference: str) -> str:
        if reference in self._labels:
            return reference
        return self.tags.get(reference, "")

    def inspected(self, reference: str) -> dict[str, Any]:
        image = self.image_id(reference)
        if not image:
            raise Unavailable("no such image")
        digests = [tag for tag in self.tags if "@" in tag and self.tags[tag] == image]
        return {"Id": image, "Size": 1000, "RepoDigests": digests, "Config": {"Labels": self._labels[image]}}

    def images(self) -> list[dict[str, Any]]:
        return [{"Id": image, "Labels": marks, "Created": 1} for image, marks in self._labels.items()]

    def about(self) -> dict[str, Any]:
        return {"ID": "fake", "Name": "fake", "Architecture": self.arch, "Components": [{"Name": "Engine"}]}

    def close(self) -> None:
        pass

    @contextmanager
    def asked(self, what: str) -> Iterator[None]:
        yield

    # ---- in the place of provision.pull.pull
    def pull(self, engine: Any, reference: str, **_: Any) -> str:
        self.pulls.append(reference)
        name = reference.partition("@")[0].rpartition(":")[0] or reference.partition("@")[0]
        content = self.registry.get(reference) or self.registry.get(name)
        if content is None:
            raise Unavailable(f"{reference} cannot be pulled", why=f"no registry answered: {self.refusal}")
        digest = f"{name}@sha256:{hashlib.sha256(content.encode()).hexdigest()}"
        image = self.keep(reference, content, {})
        self.tags[digest] = image
        return digest


def broken(*_: Any, **__: Any) -> Any:
    raise HarnessError("the container engine does not answer")
