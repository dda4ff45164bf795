"""Write matrix/codex/capabilities.toml: what released binaries can do, as measured."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import CodexSandboxError, InputError
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.releases.cache_files import write_whole
from pytest_codexsandbox.releases.version_names import order

HEAD: Final = """\
# What released Codex binaries can do, each asked itself (x86_64). A probe that says something else is red.
# Measured and written by: codexsandbox capabilities RELEASE --update
"""
FIELDS: Final = Capabilities.__struct_fields__


def write(path: Path, rows: Mapping[str, Capabilities]) -> None:
    """Only into a checkout: the data of an installed wheel is not the user's to change."""
    if not (path.parent.parent.parent / "pyproject.toml").is_file():
        raise InputError(
            "golden data is written in a checkout of this project only",
            where=str(path),
            next_step="git clone it, pip install -e it, and run the same line there",
        )
    try:
        write_whole(path, text(rows).encode())
    except OSError as problem:
        raise CodexSandboxError("golden data cannot be written", where=str(path), why=str(problem)) from problem


def text(rows: Mapping[str, Capabilities]) -> str:
    """The file's content; equal rows give equal bytes."""
    return HEAD + "".join(_table(release, rows[release]) for release in sorted(rows, key=order))


def _table(release: str, found: Capabilities) -> str:
    rows = [f"{name} = {_value(getattr(found, name))}\n" for name in FIELDS if name != "version"]
    return f'\n["{release}"]\n' + "".join(rows)


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'
