"""Corpus: what a user's folders may contain before a generator runs. One folder for each case. Only reads files.

    NN-name/README.md      a title, then a paragraph with the reason: what broke, and where
    NN-name/config.toml    the user's file, byte for byte; none with `missing = true`
    NN-name/case.toml      the rest

Tokens in config.toml are replaced. `@BLOCK@` becomes what the generator writes (generators/case_blocks.py), `@SERVER@`
the name of one of its own MCP servers (generators/server_names.py). Placeholders such as `@HOME@` become paths.
"""

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import toml_files
from pytest_codexsandbox.matrix.toml_files import TomlFile
from pytest_codexsandbox.model.generator import Case, Intent, Platform
from pytest_codexsandbox.model.ids import is_value
from pytest_codexsandbox.registry import data_folder

GROUPS: Final = ("placement", "spelling", "bytes", "block", "together", "migration", "files", "inputs")
Group = Literal["placement", "spelling", "bytes", "block", "together", "migration", "files", "inputs"]
Link = Literal["", "symlink", "dangling", "hardlink", "symlinked-home", "missing-home", "directory"]
_FILES: Final = ("README.md", "case.toml", "config.toml")


class _CaseIntent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An intent as case.toml writes it: "unsaid" is None, which TOML cannot write."""

    roots: tuple[str, ...] = ()
    network: bool | Literal["unsaid"] = False
    platform: Platform = "linux"
    version: str | None = None
    approval: str = ""
    capabilities: dict[str, bool] = {}
    params: dict[str, str] = {}

    def intent(self) -> Intent:
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        return Intent(**{**given, "network": None if self.network == "unsaid" else self.network})


class _CaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of case.toml."""

    group: Group
    input: Literal["valid", "invalid"] = "valid"
    missing: bool = False
    ordinary: bool = False
    needs_block: bool = False
    mode: int = 0o644
    folder_mode: int = 0o755
    link: Link = ""
    files: dict[str, str] = {}  # path with a placeholder → a file of this folder; `…/` → "": a folder
    intent: _CaseIntent | None = msgspec.field(default=None, name="wish")
    voids: str = ""
    notes: str = ""


def shipped_cases() -> tuple[Case, ...]:
    return cases(data_folder("scenarios") / "generator" / "cases")


def cases(folder: Path) -> tuple[Case, ...]:
    """Returns the cases of all folders in `folder`, sorted by name."""
    if not folder.is_dir():
        raise InputError(f"there is no folder of cases: {folder}", next_step="one folder for each case below it")
    found = tuple(case(path) for path in sorted(folder.iterdir()) if path.is_dir())
    if not found:
        raise InputError(f"no case in {folder}", next_step="one folder for each case below it")
    return found


def case(folder: Path) -> Case:
    if not is_value(folder.name):
        raise InputError(
            f"{folder.name!r} cannot be the name of a case",
            where=str(folder),
            why="lower-case letters, digits and . + _ -",
        )
    file = toml_files.read(folder / "case.toml")
    read = toml_files.convert(file, _CaseFile)
    files = {path: _bytes(folder, name, file) if name else b"" for path, name in read.files.items()}
    _nothing_else(folder, read, file)
    words: dict[str, Any] = {
        name: getattr(read, name)
        for name in ("group", "input", "ordinary", "needs_block", "mode", "folder_mode", "link", "voids", "notes")
    }
    return Case(
        id=folder.name,
        why=_why(folder),
        config=_config(folder, read, file),
        files=files,
        intent=read.intent.intent() if read.intent else None,
        **words,
    )


def _config(folder: Path, read: _CaseFile, file: TomlFile) -> bytes | None:
    path = folder / "config.toml"
    if path.exists() and read.missing:
        raise InputError("missing = true, but there is a config.toml", where=file.place("missing"))
    if not path.exists() and not read.missing:
        raise InputError("there is no config.toml", where=str(folder), next_step="missing = true, or write it")
    return None if read.missing else path.read_bytes()


def _bytes(folder: Path, name: str, file: TomlFile) -> bytes:
    path = folder / name
    if "/" in name or not path.is_file():
        raise InputError(f"there is no {name!r} beside case.toml", where=file.place("files"))
    return path.read_bytes()


def _nothing_else(folder: Path, read: _CaseFile, file: TomlFile) -> None:
    """Raises InputError for a file that case.toml does not name: it would silently never be used."""
    known = {*_FILES, *read.files.values()}
    extra = sorted(path.name for path in folder.iterdir() if path.name not in known)
    if extra:
        raise InputError(f"{extra[0]!r} is not named in case.toml", where=str(folder), next_step="files = { … }")


def _why(folder: Path) -> str:
    """Returns the first paragraph below the title."""
    path = folder / "README.md"
    if not path.is_file():
        raise InputError("README.md is missing: it must say why the case exists", where=str(folder))
    paragraphs = [one.strip() for one in path.read_text(encoding="utf-8").split("\n\n")]
    found = next((one for one in paragraphs if one and not one.startswith("#")), "")
    if not found:
        raise InputError(
            "README.md does not say why the case exists", where=str(path), next_step="a paragraph below the title"
        )
    return " ".join(found.split())
