"""Needs: programs that a test asks of the machine, with the line that installs them.

A test whose program is missing is skipped with that line. Where CODEXSANDBOX_NEED_REGISTRIES is set, as in the gate,
the test runs nevertheless and fails.
"""

import functools
import os
import shutil
from typing import Final

import pytest

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.system.download import NotReached

REGISTRIES: Final = "CODEXSANDBOX_NEED_REGISTRIES"
DOCKER: Final = "CODEXSANDBOX_NEED_DOCKER"
NPM: Final = ("node", "npm")
INSTALL_NPM: Final = "apt install npm (Debian, Ubuntu)"


def missing(*programs: str, install: str) -> str:
    """Returns the reason for a skip, or "" where all programs are on PATH."""
    absent = [name for name in programs if shutil.which(name) is None]
    return f"needs {' and '.join(absent)}: {install}" if absent else ""


def programs(*names: str, install: str) -> pytest.MarkDecorator:
    """Marks a test, a parameter or a module that starts these programs."""
    reason = missing(*names, install=install)
    return pytest.mark.skipif(bool(reason) and not os.environ.get(REGISTRIES), reason=reason or "all of it is here")


def npm() -> pytest.MarkDecorator:
    """Marks a test that brings or starts a tool of npm."""
    return programs(*NPM, install=INSTALL_NPM)


@functools.cache
def no_engine() -> str:
    """Returns why no container can be started here, with the line that mends it, or ""."""
    try:
        Engine(timeout=10).close()
    except CodexSandboxError as problem:
        return f"needs a container engine: {problem.why or problem.what}; apt install docker.io (Debian, Ubuntu)"
    return ""


def engine() -> pytest.MarkDecorator:
    """Marks a test outside tests/docker that plans containers: a plan asks the engine first."""
    reason = no_engine()
    return pytest.mark.skipif(bool(reason) and not os.environ.get(DOCKER), reason=reason or "one answers")


def skip_unreachable(what: str, problem: CodexSandboxError) -> None:
    """Skips the running test where a registry does not answer or npm is missing. Returns for any other problem."""
    reason = missing("npm", install=INSTALL_NPM) if "npm" in problem.next_step else ""
    if os.environ.get(REGISTRIES) or not (reason or isinstance(problem, NotReached)):
        return
    told = f"{problem.what}: {problem.why}" if problem.why else problem.what
    pytest.skip(f"{what} is not available: {reason or f'{told}; {problem.next_step}'}")
