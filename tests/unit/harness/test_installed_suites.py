"""Installed suites: what is loaded by entry point, and what is refused with a name."""

from importlib.metadata import EntryPoint

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness.suites import installed
from pytest_codexsandbox.model.suite_traits import SuiteTraits
from tests.fakes.toy_suite import VersionSuite

OURS = {
    "sandbox": "pytest_codexsandbox.harness.suites.sandbox:SandboxSuite",
    "generator": "pytest_codexsandbox.harness.suites.generator:GeneratorSuite",
}


class SameFixture(VersionSuite):
    traits = SuiteTraits(name="same")
    fixture = "trial"


class SamePolicy(VersionSuite):
    traits = SuiteTraits(name="same", policies=("as-asked",))


class NoFixture(VersionSuite):
    fixture = "two words"


class NoSuite:
    traits = SuiteTraits(name="version")


class Fails(VersionSuite):
    def __init__(self) -> None:
        raise RuntimeError("no licence")


def install(monkeypatch: pytest.MonkeyPatch, **suites: str) -> None:
    group = "codexsandbox.suites"
    points = tuple(EntryPoint(name=name, value=value, group=group) for name, value in (OURS | suites).items())
    monkeypatch.setattr(installed, "points", lambda group: points)
    monkeypatch.setattr(installed, "names", lambda group: tuple(sorted({point.name for point in points})))
    installed.installed_suites.cache_clear()


@pytest.fixture(autouse=True)
def forget() -> object:
    yield
    installed.installed_suites.cache_clear()


def test_the_sandbox_suite_is_first_and_the_others_follow_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, version="tests.fakes.toy_suite:VersionSuite")
    assert list(installed.installed_suites()) == ["sandbox", "generator", "version"]


@pytest.mark.parametrize(
    ("name", "target", "word"),
    [
        ("same", "SameFixture", "fixture: trial"),
        ("same", "SamePolicy", "policy: as-asked"),
        ("other", "SameFixture", "name of the entry point"),
        ("version", "NoFixture", "two words"),
        ("version", "NoSuite", "no subclass"),
        ("version", "Fails", "no licence"),
        ("version", "Missing", "Missing"),
    ],
)
def test_a_suite_with_an_ambiguous_name_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, target: str, word: str
) -> None:
    install(monkeypatch, **{name: f"{__name__}:{target}"})
    with pytest.raises(InputError) as refused:
        installed.installed_suites()
    assert word in f"{refused.value.what} {refused.value.why}"
    assert name in refused.value.what
