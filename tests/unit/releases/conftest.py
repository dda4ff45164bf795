"""Every test here has a registry of its own on loopback, a cache of its own, and a machine on which nothing starts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.releases import installed_package, known_releases, npm, resolve
from pytest_codexsandbox.releases.npmrc import Registry as Configured
from pytest_codexsandbox.system import pip
from tests.unit.releases.builders import X86, Registry, registry


@pytest.fixture(autouse=True)
def _our_own_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No proxy, registry, cache or installed Codex of the machine that runs the tests has a say."""
    for name in (
        "http_proxy",
        "HTTP_PROXY",
        "all_proxy",
        "ALL_PROXY",
        "CODEXSANDBOX_CACHE_LIMIT",
        "npm_config_registry",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("CODEXSANDBOX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(installed_package, "find", lambda: None)
    monkeypatch.setattr(known_releases, "known", dict)
    monkeypatch.setattr(known_releases, "capabilities", dict)
    monkeypatch.setattr(npm, "command", lambda: "npm")
    monkeypatch.setattr(pip, "program", lambda: ("pip",))
    monkeypatch.setattr(Configured, "configured", classmethod(lambda cls: None))
    monkeypatch.setattr(resolve, "here", lambda: X86)
    monkeypatch.setattr(resolve, "of_a_build", lambda: X86)


@pytest.fixture
def server() -> Iterator[Registry]:
    with registry() as known:
        yield known


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"
