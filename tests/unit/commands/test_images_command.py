"""`codexsandbox images`: wrong words, the table, and what cannot be had. No engine is asked."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox import cli
from pytest_codexsandbox.environments.container import image_store
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest, base_digest, digest
from pytest_codexsandbox.environments.container.provision.lockfile import Base, Failure, Locked, LockFile, Made
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.matrix.axis_files import SHIPPED


@pytest.fixture(autouse=True)
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def gone(*_: object, **__: object) -> None:
        raise HarnessError("the container engine does not answer", where="unix:///gone", why="no such file")

    monkeypatch.setenv("CODEXSANDBOX_CACHE", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", "unix:///gone")
    monkeypatch.setattr(image_store, "Engine", gone)
    monkeypatch.setattr("shutil.which", lambda name, **_: None)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["list", "debian-bookwrm"], "did you mean 'debian-bookworm'"),
        (["list", "--all"], "--all belongs to"),
        (["build", "--dry-run"], "--dry-run belongs to"),
        (["list", "--update"], "--update belongs to"),
        (["prune", "--update"], "--update belongs to"),
        (["build", "--jobs", "-1"], "--jobs is a number"),
    ],
)
def test_wrong_words_are_answered(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["images", *words]) == 4
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["build", "--update", "debian-trixie"],
        ["build", "debian-trixie", "--jobs", "1", "debian-sid"],
        ["prune", "--dry-run", "debian-trixie"],
    ],
)
def test_names_may_stand_behind_options(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["images", *words]) == 4
    assert "unix:///gone" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["build", "pull", "prune"])
def test_without_an_engine_nothing_is_tried(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["images", what]) == 4
    assert capsys.readouterr().err.count("container engine") == 1


def test_the_table_says_what_is_there_and_why_something_is_not(
    no_engine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _locked(no_engine)
    assert cli.main(["images", "list"]) == 0
    shown = capsys.readouterr().out
    lines = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert "lock file" in shown
    assert "ready    bootstrapped 80 + 79 MB 123456789abc distro none" in lines["debian-bookworm"]
    assert re.search(r"to make +pull .*bootstrap", lines["debian-sid"])
    assert "not had  pull" in lines["fedora-43"]
    assert "(try again: codexsandbox images build" in shown
    assert max(map(len, shown.splitlines()[2:])) <= 80


def test_the_table_is_there_for_programs(no_engine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _locked(no_engine)
    assert cli.main(["images", "list", "debian-bookworm", "fedora-43", "busybox", "--json"]) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert shown["engine"] == "unix:///gone"
    assert "does not answer" in shown["engine_fault"]
    first, second, third = shown["images"]
    assert (first["name"], first["state"], first["pin"]) == ("debian-bookworm", "ready", "sha256:123456789abcdef")
    assert [one["bwrap"] for one in first["variants"]] == ["distro", "none"]
    assert second["state"] == "not had"
    assert [one["why_not"].partition(",")[0] for one in second["variants"]] == ["no registry answered"] * 2
    assert (third["state"], [one["bwrap"] for one in third["variants"]]) == ("to make", ["none"])


def _locked(cache: Path) -> None:
    import time

    image, when = SHIPPED.image("debian-bookworm"), "2026-01-01T00:00:00Z"
    base = Base(name=image.name, provider="bootstrapped", pin="sha256:123456789abcdef", image="b", tag="t", made=when)
    made = {
        digest(ImageRequest(image=image, bubblewrap=bubblewrap)): {
            "e": Made(name=image.name, variant="v", image="sha256:i", base="", tag="t", size=size, made=when)
        }
        for bubblewrap, size in ((True, 80_000_000), (False, 79_000_000))
    }
    failed = Failure(
        name="fedora-43",
        what="x",
        why="no registry answered: dial",
        next_step="",
        short="no registry answered",
        when=time.time(),
    )
    LockFile(cache).change(
        lambda _: Locked(
            bases={base_digest(image): {"e": base}},
            images=made,
            failures={base_digest(SHIPPED.image("fedora-43")): failed},
        )
    )
