"""The real generators that are shipped as data: what `--codex-generator=real` stands for."""

from functools import cache
from pathlib import Path

import msgspec

from pytest_codexsandbox.errors import WrongInput
from pytest_codexsandbox.matrix import toml_files
from pytest_codexsandbox.model.generator import Declaration
from pytest_codexsandbox.registry import shipped


@cache
def names_of_real() -> tuple[str, ...]:
    return tuple(name for name in sorted(_files()) if declared(name).real)


@cache
def declared(name: str) -> Declaration:
    there = _files()
    if name not in there:
        raise WrongInput(f"there is no generator {name!r}", why=f"known: {', '.join(sorted(there))}")
    found = toml_files.convert(toml_files.read(there[name]), Declaration)
    return msgspec.structs.replace(found, name=name)


@cache
def _files() -> dict[str, Path]:
    return {path.stem: path for path in (shipped("matrix") / "generators").glob("*.toml")}
