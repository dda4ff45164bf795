"""A machine without an engine, a network or tools, but those that a test gives it."""

from pathlib import Path

import pytest

from tests.unit.environments.container.provision.builders import Workshop


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    return Workshop(tmp_path / "cache", monkeypatch)
