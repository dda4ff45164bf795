"""Registries are asked about releases that data does not know, all at once and within one limit."""

import threading
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.harness import feasibility
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.releases import download_estimate, sources
from pytest_codexsandbox.releases.artefact import Artefact
from pytest_codexsandbox.system.download import Hash, NotReached, NotThere

UNKNOWN = SubjectSpec(label="9.9.9", release="9.9.9")


def answering(patch: pytest.MonkeyPatch, *answers: object) -> list[str]:
    """Registries that give these answers: an error, an artefact, or an event to wait for."""
    asked: list[str] = []

    def finder(answer: object) -> object:
        def find(release: str, platform: object, *, run: object) -> Artefact:
            asked.append(release)
            if isinstance(answer, threading.Event):
                answer.wait(60)
            if isinstance(answer, Exception):
                raise answer
            return Artefact(release=release, source="pypi", form="wheel", url="http://x", expected=Hash())

        return find

    patch.setattr(sources, "EVERYWHERE", tuple(map(finder, answers)))
    patch.setattr(download_estimate, "size_of", lambda url, *, headers: 2_000_000)
    return asked


def test_a_release_that_data_knows_is_not_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, NotThere("none"), NotThere("none"))
    named = SubjectSpec(label="0.136.0", release="0.136.0")
    brought = SubjectSpec(label="candidate", path="/nonexistent")
    found = feasibility.forecasts([named, brought], tmp_path)
    assert asked == []
    assert list(found) == ["0.136.0"]


def test_one_place_that_has_it_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, NotThere("PyPI has none"), None)
    found = feasibility.forecasts([UNKNOWN], tmp_path)["9.9.9"]
    assert (found.source, found.megabytes, found.why_not) == ("pypi", 2, "")
    assert feasibility.of_releases({"9.9.9": found}) == ()


def test_a_release_that_no_place_has_is_said_with_both_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, NotThere("PyPI has none"), NotThere("npm has none"))
    (gone,) = feasibility.of_releases(feasibility.forecasts([UNKNOWN], tmp_path))
    assert gone.part == "codex 9.9.9"
    assert "Codex 9.9.9" in gone.why
    assert "PyPI has none" in gone.why and "npm has none" in gone.why


def test_a_network_that_fails_is_not_called_an_absence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, NotReached("no route"), NotReached("no name"))
    found = feasibility.forecasts([UNKNOWN], tmp_path)["9.9.9"]
    assert "no route" in found.why_not and "no name" in found.why_not and "there is no" not in found.why_not


@pytest.mark.parametrize("other", [NotThere("PyPI has none"), NotReached("no route")])
def test_silence_ends_with_the_limit_and_is_not_called_an_absence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: Exception
) -> None:
    never = threading.Event()
    answering(monkeypatch, other, never)
    try:
        found = feasibility.forecasts([UNKNOWN], tmp_path, limit=0.3)["9.9.9"]
    finally:
        never.set()
    assert "cannot tell" in found.why_not and "no answer" in found.why_not
    assert "--codex-timeout-scale" in found.why_not


def test_a_fault_of_another_kind_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, NotThere("none"), HarnessError("pip is broken"))
    with pytest.raises(HarnessError, match="pip is broken"):
        feasibility.forecasts([UNKNOWN], tmp_path)
