"""npm configuration: the registry that it names, for machines without npm, and the login that goes with it."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from pytest_codexsandbox.system import environ

_VARIABLE: Final = re.compile(r"\$\{([^}]+)\}")
_SCOPE: Final = "@openai:registry"


class Registry(msgspec.Struct, frozen=True, kw_only=True):
    url: str  # without a slash at the end
    tokens: dict[str, str] = {}  # `//host/path` → token, as .npmrc has them

    @classmethod
    def configured(cls) -> "Registry | None":
        """Returns the registry, in npm's order: environment, the project's .npmrc, the user's. None where nothing is
        configured."""
        home = os.environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 (pathlib's own fails where there is none)
        return configured(environ.copied(), (Path.cwd() / ".npmrc", Path(home) / ".npmrc"))

    def login(self, url: str = "") -> dict[str, str]:
        """Returns the header for an address that the configuration has a token for."""
        parts = urlsplit(url or f"{self.url}/")
        where = f"//{parts.netloc}{parts.path}"
        for place in sorted(self.tokens, key=len, reverse=True):
            if where.startswith(place.rstrip("/") + "/"):
                return {"Authorization": f"Bearer {self.tokens[place]}"}
        return {}


def configured(variables: Mapping[str, str], files: tuple[Path, ...]) -> Registry | None:
    settings: dict[str, str] = {}
    for file in reversed(files):
        settings.update(_settings(file, variables))
    for name, value in variables.items():
        if name.lower() == "npm_config_registry" and value:
            settings["registry"] = value
    url = settings.get(_SCOPE) or settings.get("registry", "")
    if not url:
        return None
    ending = ":_authToken"
    tokens = {key.removesuffix(ending): value for key, value in settings.items() if key.endswith(ending) and value}
    return Registry(url=url.rstrip("/"), tokens=tokens)


def _settings(file: Path, variables: Mapping[str, str]) -> dict[str, str]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        name, sign, value = line.partition("=")
        if sign and not name.lstrip().startswith(("#", ";")):
            filled = _VARIABLE.sub(lambda word: variables.get(word[1], ""), value.strip().strip("\"'"))
            found[name.strip()] = filled
    return found
