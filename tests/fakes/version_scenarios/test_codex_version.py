"""Scenarios of the toy suite: Codex says which version it is."""

from functools import partial
from typing import Any

from pytest_codexsandbox.api import promise

about_version = partial(
    promise,
    kind="claim",
    severity="low",
    needs="nothing",
    source="https://developers.openai.com/codex/cli/reference",
    policies=("as-printed",),
    suite="version",
)


@about_version("version.is-printed")
def test_codex_prints_its_version(version_trial: Any) -> None:
    """Codex prints its name and a version, asked by both names of the option."""
    version_trial.prints("codex-cli ")


@about_version("version.is-from-the-future")
def test_codex_is_a_version_that_does_not_exist(version_trial: Any) -> None:
    """No release keeps this promise."""
    version_trial.prints("99.99.99")


@about_version("version.is-long")
def test_codex_prints_a_long_version(version_trial: Any) -> None:
    """No release keeps this one either. Its violation follows from the other."""
    version_trial.prints("99.99.99.99")


@about_version("version.is-signed")
def test_codex_signs_its_version(version_trial: Any) -> None:
    """The runner of the suite says that this cannot be asked."""
    version_trial.prints("signed")


@about_version("version.is-heard")
def test_codex_says_its_version_aloud(version_trial: Any) -> None:
    """The plan of the suite says that this cannot be asked."""
    version_trial.prints("heard")
