"""Nothing starts here: npm, node and pip are where these tests say."""

import shutil
from pathlib import Path

import pytest

from pytest_codexsandbox.generators.third_party import package
from pytest_codexsandbox.system import pip


@pytest.fixture(autouse=True)
def _our_own_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CODEXSANDBOX_CACHE_LIMIT", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(pip, "program", lambda: ("/usr/bin/pip",))
    monkeypatch.setattr(package, "data_folder", lambda name: tmp_path / "data" / name)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"
