"""Function lookup: checks whether the source of a module names a function. It imports nothing, so no code runs."""

import ast
import importlib.machinery
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.suggestions import did_you_mean

# A module that contains one of these may define names that its source does not spell.
_DYNAMIC: Final = re.compile(r"import\s+\*|__getattr__|\b(?:globals|locals|vars|setattr|exec|eval)\s*\(|sys\.modules")


def check_function(module: str, function: str, path: Sequence[str], *, where: str) -> None:
    """Raises InputError for a submodule without a file, and for a function that the module's source never names. Passes
    whatever files cannot show: modules of custom finders, compiled code, names made at run time."""
    source = _source(module, path, where)
    if source is None or _DYNAMIC.search(source):
        return
    name = function.partition(".")[0]
    if re.search(rf"\b{re.escape(name)}\b", source):
        return
    raise InputError(
        f"module {module} has no function {name!r}", where=where, why=did_you_mean(name, _functions(source))
    )


def _source(module: str, path: Sequence[str], where: str) -> str | None:
    found: importlib.machinery.ModuleSpec | None = None
    places: Sequence[str] | None = path
    parts = module.split(".")
    for number in range(1, len(parts) + 1):
        if places is None:  # its parent is no package on disk
            return None
        name, package = ".".join(parts[:number]), found
        found = importlib.machinery.PathFinder.find_spec(name, list(places))
        if found is None:
            if package is None or _finds_others(package):
                return None
            raise InputError(
                f"there is no module {name!r}", where=where, why=f"package {package.name} holds no such file"
            )
        places = found.submodule_search_locations
    return _text(found)


def _finds_others(package: importlib.machinery.ModuleSpec) -> bool:
    """Checks whether a package may find its modules elsewhere once it is imported."""
    text = _text(package)
    return text is not None and ("__path__" in text or bool(_DYNAMIC.search(text)))


def _text(found: importlib.machinery.ModuleSpec | None) -> str | None:
    if found is None or not found.origin or not found.origin.endswith(".py"):
        return None
    try:
        return Path(found.origin).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _functions(source: str) -> list[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    functions = [one.name for one in tree.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [name for name in functions if not name.startswith("_")]
