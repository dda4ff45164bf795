"""What is proved of an engine once, and when it is proved again."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.mounts import Mount, MountPlanner, VisibilityCache
from pytest_codexsandbox.errors import Unavailable


class FakeEngine:
    """Sees the files of this machine if it is near; counts the helpers that it was asked for."""

    host = "unix:///fake"

    def __init__(self, *, near: bool = True) -> None:
        self.near, self.helpers, self.made, self.sent = near, 0, "yesterday", 0
        self._mounts: dict[str, str] = {}
        self._filled: set[str] = set()
        self.api = self

    @contextmanager
    def asked(self, what: str) -> Iterator[None]:
        yield

    @contextmanager
    def helper(self, image: str, mounts: Sequence[Mapping[str, Any]] = ()) -> Iterator[str]:
        self.helpers += 1
        self._mounts = {str(mount["Target"]): str(mount["Source"]) for mount in mounts}
        yield "helper"

    def read_file(self, helper: str, path: str, *, limit: int) -> bytes:
        folder, _, name = path.rpartition("/")
        source = self._mounts[folder]
        if not source.startswith("/"):
            if source not in self._filled:
                raise Unavailable("there is no such file")
            return b"complete"
        if not self.near:
            raise Unavailable("there is no such folder")
        return (Path(source) / name).read_bytes()

    def file_status(self, helper: str, path: str) -> tuple[int, int] | None:
        target = next(target for target in self._mounts if path.startswith(f"{target}/"))
        there = (Path(self._mounts[target]) / path.removeprefix(f"{target}/")).lstat()
        return there.st_size, there.st_mtime_ns // 10**9

    def create_volume(self, name: str, labels: Mapping[str, str]) -> dict[str, str]:
        return {"CreatedAt": self.made}

    def put_archive(self, helper: str, path: str, pieces: Iterator[bytes]) -> bool:
        self.sent += sum(map(len, pieces)) > 0
        self._filled.update(self._mounts.values())
        return True


@pytest.fixture
def supply(tmp_path: Path) -> Mount:
    folder = tmp_path / "codex"
    folder.mkdir()
    (folder / "codex").write_bytes(b"a program")
    return Mount(folder=str(folder), inside="/opt/codex", digest="d1", sample="codex")


def asked(engine: FakeEngine, tmp_path: Path, supply: Mount, seen: VisibilityCache) -> str:
    """How it is mounted."""
    (mount,) = MountPlanner(cast(Engine, engine), tmp_path, seen).mounts((supply,), "image")
    return str(mount["Type"])


def test_an_engines_view_of_our_files_is_proved_once(tmp_path: Path, supply: Mount) -> None:
    engine, seen = FakeEngine(), VisibilityCache()
    assert [asked(engine, tmp_path, supply, seen) for _ in range(3)] == ["bind"] * 3
    assert engine.helpers == 1


def test_another_file_of_the_same_name_is_proved_anew(tmp_path: Path, supply: Mount) -> None:
    engine, seen = FakeEngine(), VisibilityCache()
    asked(engine, tmp_path, supply, seen)
    (Path(supply.folder) / "new").write_bytes(b"another program")
    (Path(supply.folder) / "new").rename(Path(supply.folder) / supply.sample)
    asked(engine, tmp_path, supply, seen)
    assert engine.helpers == 2


def test_an_engine_that_was_gone_proves_it_again(tmp_path: Path, supply: Mount) -> None:
    engine, seen = FakeEngine(), VisibilityCache()
    asked(engine, tmp_path, supply, seen)
    seen.forget("unix:///another")
    asked(engine, tmp_path, supply, seen)
    assert engine.helpers == 1
    seen.forget(engine.host)
    engine.near = False  # it came back somewhere else
    assert asked(engine, tmp_path, supply, seen) == "volume"


def test_the_view_of_one_engine_shows_nothing_about_another(tmp_path: Path, supply: Mount) -> None:
    seen, far = VisibilityCache(), FakeEngine(near=False)
    assert asked(FakeEngine(), tmp_path, supply, seen) == "bind"
    far.host = "unix:///far"
    assert asked(far, tmp_path, supply, seen) == "volume"


def test_a_volume_is_looked_into_once_and_again_when_it_was_made_anew(tmp_path: Path, supply: Mount) -> None:
    engine, seen = FakeEngine(near=False), VisibilityCache()
    assert [asked(engine, tmp_path, supply, seen) for _ in range(3)] == ["volume"] * 3
    assert (engine.helpers, engine.sent) == (2, 2)  # near? and: filled, with its mark
    engine.made = "today"
    engine._filled.clear()
    asked(engine, tmp_path, supply, seen)
    assert (engine.helpers, engine.sent) == (3, 4)
    engine.made = ""  # an engine that does not say when is asked each time
    asked(engine, tmp_path, supply, seen)
    asked(engine, tmp_path, supply, seen)
    assert engine.helpers == 5
