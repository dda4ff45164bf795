"""This machine as an environment, and the Codex that is installed beside the tests."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.environments.local import LocalBackend
from pytest_codexsandbox.protocols import Environment, Subject
from pytest_codexsandbox.releases.known_releases import installed
from pytest_codexsandbox.releases.resolve import resolve


@contextmanager
def run_folder() -> Iterator[Path]:
    """Not below /tmp, which is a writable root of Codex and where it refuses helper programs."""
    with tempfile.TemporaryDirectory(prefix="codexsandbox-tests-", dir="/var/tmp") as folder:
        yield Path(folder)


@contextmanager
def local_environment() -> Iterator[Environment]:
    with run_folder() as folder, LocalBackend().open(this_machine(), folder / "run") as environment:
        yield environment


def installed_codex(cache: Path) -> Subject:
    spec = installed()
    assert spec is not None, "the tests need Codex: pip install openai-codex-cli-bin"
    return resolve(spec, cache=cache)
