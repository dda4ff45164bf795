"""A machine without an engine, a network or tools, but those that a test gives it."""

from pathlib import Path

import pytest

from tests.unit.environments.container.provision.builders import ImagesWorld


@pytest.fixture
def images_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ImagesWorld:
    return ImagesWorld(tmp_path / "cache", monkeypatch)
