"""Scenario index: the promises in folders of scenario files, without pytest. Imports each file once, under a unique
name."""

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from pytest_codexsandbox.api import declared
from pytest_codexsandbox.errors import CodexSandboxError, InputError
from pytest_codexsandbox.model.ids import as_value
from pytest_codexsandbox.model.promise import Promise

FILES: Final = "test_*.py"
Declared = tuple[Promise, Callable[..., Any]]


def promises(*folders: Path) -> tuple[Declared, ...]:
    """Returns every promise below the folders: files sorted by path, within a file as written."""
    found: list[Declared] = []
    places: dict[str, Path] = {}
    for file in _files(folders):
        for promise, function in of_module(load(file)):
            if promise.id in places:
                raise InputError(
                    f"two scenarios promise {promise.id}",
                    where=f"{places[promise.id]} and {file}",
                    why="their results could not be distinguished",
                )
            places[promise.id] = file
            found.append((promise, function))
    return tuple(found)


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"there is no folder of scenarios {folder}")
        yield from sorted(folder.rglob(FILES))


def of_module(module: ModuleType) -> tuple[Declared, ...]:
    """Returns the promises that a module itself declares; imported ones belong to the other module."""
    found = ((declared(value), value) for value in vars(module).values() if callable(value))
    return tuple((promise, value) for promise, value in found if promise and value.__module__ == module.__name__)


def load(file: Path) -> ModuleType:
    """Imports a scenario file. The same file gives the same module again, until its text changes."""
    name = _module_name(file)
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"cannot import the scenario file {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _fault(file, error) from error
    return module


def _module_name(file: Path) -> str:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the scenario file {file}", why=str(error)) from error
    digest = hashlib.sha256(str(file.resolve()).encode() + b"\0" + content).hexdigest()[:12]
    return f"codexsandbox_scenario_{as_value(file.stem).replace('-', '_').replace('.', '_')}_{digest}"


def _fault(file: Path, error: BaseException) -> InputError:
    """Returns an error with the line of the file and the message of the original error."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        where = f"{file}:{error.lineno}:{error.offset or 1}"
        return InputError("a scenario file has a syntax error", where=where, why=str(error.msg))
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    where = f"{file}:{lines[-1]}" if lines else str(file)
    why = error.what if isinstance(error, CodexSandboxError) else f"{type(error).__name__}: {error}"
    return InputError("a scenario file cannot be imported", where=where, why=why)
