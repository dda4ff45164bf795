"""Selftest: fake subjects that must not pass, and one that must. Executables that take Codex's command line and break
one promise.

`codexsandbox selftest` runs them against every promise. Two of them are canaries in every run.
"""

from pathlib import Path

from pytest_codexsandbox.selftest.door_fakes import AT_EVERY_DOOR, AT_ONE_DOOR
from pytest_codexsandbox.selftest.fake import Fake
from pytest_codexsandbox.selftest.fake_codex_script import FakeSubject, subject, write
from pytest_codexsandbox.selftest.fake_codexes import ALLOW_ALL, FAKES, GOOD, named

__all__ = [
    "ALLOW_ALL",
    "AT_EVERY_DOOR",
    "AT_ONE_DOOR",
    "FAKES",
    "GOOD",
    "Fake",
    "FakeSubject",
    "canaries",
    "named",
    "subject",
    "write",
]


def canaries(folder: Path) -> tuple[FakeSubject, FakeSubject]:
    """Returns `allow-all`, which every sandboxed policy must catch, and `good`, which nothing but `start` may fail."""
    return subject(folder, ALLOW_ALL), subject(folder, GOOD)
