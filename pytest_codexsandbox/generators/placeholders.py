"""Placeholders such as `@HOME@`: filled into arguments before a run, put back into records after a run. Pure."""

import json
import re
from collections.abc import Mapping
from typing import Final

from pytest_codexsandbox.model.generator import Intent
from pytest_codexsandbox.model.generator_spec import FOLDERS

_PLACEHOLDER: Final = re.compile(r"@([A-Z][A-Z0-9_]*)@")
_PLACEHOLDER_BYTES: Final = re.compile(rb"@([A-Z][A-Z0-9_]*)@")
NETWORK: Final = {True: "1", False: "0", None: ""}


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replaces known placeholders in one pass. A path that contains a placeholder is not replaced again."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def fill_bytes(content: bytes, values: Mapping[str, str]) -> bytes:
    def value(found: re.Match[bytes]) -> bytes:
        known = values.get(found[1].decode("ascii"))
        return found[0] if known is None else known.encode("utf-8", "surrogateescape")

    return _PLACEHOLDER_BYTES.sub(value, content)


def shown(path: str, values: Mapping[str, str]) -> str:
    """Returns a path with the placeholder of its private folder; of nested folders the innermost."""
    inner = sorted((name for name in FOLDERS if name in values), key=lambda name: -len(values[name]))
    for name in inner:
        if path == values[name] or path.startswith(values[name] + "/"):
            return f"@{name}@{path[len(values[name]) :]}"
    return path


def of_folders(folders: Mapping[str, str], own: str) -> dict[str, str]:
    """Returns the placeholders that are paths. `own`: the folder of the request and the result."""
    paths = {name: folders[name] for name in FOLDERS if name in folders}
    return {
        **paths,
        "CONFIG": f"{paths['CODEX_HOME']}/config.toml",
        "REQUEST": f"{own}/request.json",
        "RESULT": f"{own}/result.json",
    }


def of_intent(intent: Intent, version: str, paths: Mapping[str, str]) -> dict[str, str]:
    """Returns the placeholders that describe the intent."""
    return {
        "ROOTS_JSON": json.dumps(roots(intent, paths), ensure_ascii=False),
        "NETWORK": NETWORK[intent.network],
        "PLATFORM": intent.platform,
        "VERSION": version if intent.version is None else intent.version,
    }


def roots(intent: Intent, paths: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(fill(root, paths) for root in intent.roots)
