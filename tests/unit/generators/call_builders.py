"""A request for a generator that is called in this process, on a home of its own."""

from pathlib import Path
from typing import Any

from pytest_codexsandbox.model.generator import Request


def home(folder: Path, content: bytes | None = None) -> Path:
    """The configuration below a new home; its folder is there."""
    config = folder / "home" / ".codex" / "config.toml"
    config.parent.mkdir(parents=True)
    (folder / "work").mkdir()
    if content is not None:
        config.write_bytes(content)
    return config


def request(config: Path, **words: Any) -> Request:
    """`config` as `home` made it. The default is a Linux and no intent at all."""
    codex_home = config.parent
    given: dict[str, Any] = {
        "platform": "linux",
        "version": "0.163.0",
        "home": str(codex_home.parent),
        "codex_home": str(codex_home),
        "config": str(config),
        "workspace": str(codex_home.parent.parent / "work"),
    }
    return Request(**(given | words))
