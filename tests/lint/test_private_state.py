"""No object reads the private state of another one: `_x` of anything but `self`, `cls` and `super()`."""

import ast
from collections.abc import Iterator
from datetime import date
from typing import Final

import pytest

from tests.lint.tracked import ROOT, files

PRODUCT: Final = "pytest_codexsandbox"
DOCUMENTED: Final = ("_exit", "_replace", "_asdict", "_fields", "_make")  # of `os`, and of named tuples


CHECKED: Final = "2026-11-19"  # when each row was last compared with the current releases of its package
EXEMPT: Final = {
    (
        "environments/container/attached_stream.py",
        "_sock",
    ): "docker-py wraps the socket of an attached stream, and gives no way to unwrap it",
    ("environments/container/engine.py", "_raise_for_status"): "the errors of the next row's request",
    ("environments/container/engine.py", "_url"): "docker-py has no call for HEAD of an archive",
    ("environments/container/provision/pull.py", "_post"): "docker-py's own pull has no limit of time",
    ("environments/container/provision/pull.py", "_raise_for_status"): "the errors of that request",
    ("environments/container/provision/pull.py", "_stream_helper"): "its progress",
    ("environments/container/provision/pull.py", "_url"): "its address",
    (
        "environments/container/provision/registry_ping.py",
        "_raise_for_status",
    ): "of a request that podman has and docker-py lacks",
    (
        "generators/third_party/pypi.py",
        "_base_executable",
    ): "Python has no public name for the interpreter behind a virtual environment",
    ("pytest_plugin/controller.py", "_file"): "the stream behind pytest's writer, for its encoding",
    (
        "pytest_plugin/controller.py",
        "_tw",
    ): "TerminalReporter shows neither the terminal's width nor whether it has colours",
    (
        "pytest_plugin/fixture_owner.py",
        "_arg2fixturedefs",
    ): "pytest does not tell whose fixture a name leads to, nor leave one out",
    ("pytest_plugin/options.py", "_inicfg"): "its public name is deprecated from pytest 9.0 on",
    ("pytest_plugin/options.py", "_inidict"): "pytest does not list the keys of the ini that plugins know",
    ("pytest_plugin/options.py", "_parser"): "the way to that list",
}
"""State of pytest, of Python or of a third party for which there is no public way: where, what and why."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in DOCUMENTED


def is_own(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def found_in(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=value, attr=name) if is_private(name) and not is_own(value):
                yield node.lineno, name
            case ast.ImportFrom(module=str(module), names=names) if module.startswith(PRODUCT):
                yield from ((node.lineno, one.name) for one in names if is_private(one.name))
            case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[value, ast.Constant(value=str(name)), *_]):
                if is_private(name) and not is_own(value):
                    yield node.lineno, name


def modules() -> dict[str, str]:
    folder = ROOT / PRODUCT
    paths = [path for path in files() if path.suffix == ".py" and folder in path.parents]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_no_object_reads_the_private_state_of_another() -> None:
    sources = modules()
    assert len(sources) > 400
    bad = [
        f"{file}:{line}: {name}"
        for file in sources
        for line, name in found_in(sources[file])
        if (file, name) not in EXEMPT
    ]
    assert bad == []


def test_each_exemption_is_used_and_explained() -> None:
    used = {(file, name) for file, source in modules().items() for _, name in found_in(source)}
    assert EXEMPT.keys() <= used
    assert all(EXEMPT.values()) and date.fromisoformat(CHECKED)


@pytest.mark.parametrize(
    "line",
    [
        "other._kept",
        "self.cache._kept",
        "made._x = 1",
        "getattr(other, '_kept')",
        "from pytest_codexsandbox.harness.trial import _x",
    ],
)
def test_it_is_found(line: str) -> None:
    assert list(found_in(line))


@pytest.mark.parametrize("line", ["self._kept", "cls._made", "super()._made()", "os._exit(1)", "self.__dict__"])
def test_it_is_no_private_state_of_another(line: str) -> None:
    assert not list(found_in(line))
