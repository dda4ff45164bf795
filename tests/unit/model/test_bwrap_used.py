"""Which bubblewrap set up a sandbox, and whether it is the one that was asked for."""

from typing import Any

import pytest

from pytest_codexsandbox.diagnosis.sandbox_state import with_bwrap_used
from pytest_codexsandbox.model.bwrap_used import bwrap_not_used, unexpected_bwrap, used
from pytest_codexsandbox.model.observation import Link, ProcReading
from tests.unit.diagnosis.builders import landlocked, observation, reading, started

THERE, BESIDE = "a" * 64, "b" * 64
CODEX = Link(pid=1, exe="/opt/codex/bin/codex", name="codex")
DISTRO = Link(pid=2, exe="/usr/bin/bwrap", name="bwrap", sha256=THERE)
UNREADABLE = Link(pid=3, exe="", name="bwrap")  # as the inner one of a set-uid pair shows itself
WRAPPED = Link(pid=2, exe="/usr/bin/bwrap.real", name="bwrap.real", sha256=THERE)  # started by a script called bwrap
BROUGHT = Link(pid=2, exe="/opt/codex/codex-resources/bwrap", name="3", sha256=BESIDE)  # started by a handle


MINE = Link(pid=1, exe="/build/mine", name="mine")  # a Codex by another name: that of its stages stays
RENAMED = Link(pid=2, exe="/build/mine", name="codex-linux-san")
SHELL = Link(pid=9, exe="/usr/bin/dash", name="sh", sha256=BESIDE)  # of the command
DRIVER = Link(pid=1, exe="/opt/hand/bin/python3", name="python3")


def facts(name: str, source: str, *, sha256: str = THERE, free: bool = False) -> dict[str, Any]:
    there = {"path": "/usr/bin/bwrap", "sha256": sha256, "version": "bubblewrap 0.8.0"} if sha256 else {}
    version = there.get("version", "")
    asked = {"name": name, "source": source, "free": free, "sha256": sha256, "version": version}
    return {"bwrap": there, "bwrap_asked": asked}


def of(*links: Link, **words: Any) -> tuple[ProcReading, ...]:
    return (reading(chain=(CODEX, *links), **words),)


COMPILED_IN = of(CODEX, CODEX)
LANDLOCK = (landlocked(chain=(CODEX,)),)
ASKED = {
    "distro": facts("distro", "distro"),
    "0.8.0": facts("0.8.0", "static"),
    "0.11.0-pypi": facts("0.11.0-pypi", "wheel"),
    "none": facts("none", "none", sha256=""),
    "as-chosen": facts("as-chosen", "distro", free=True),
    "nobody": {"bwrap": {"sha256": THERE}},
}


@pytest.mark.parametrize(
    ("readings", "kind", "path", "sha256"),
    [
        (of(DISTRO, DISTRO), "found", "/usr/bin/bwrap", THERE),
        (of(DISTRO, UNREADABLE), "found", "/usr/bin/bwrap", THERE),
        (of(UNREADABLE), "found", "", ""),
        (of(BROUGHT, BROUGHT), "brought", BROUGHT.exe, BESIDE),
        (of(DISTRO, BROUGHT), "mixed", "", ""),
        (COMPILED_IN, "compiled-in", "", ""),
        (of(CODEX, WRAPPED, CODEX), "found", "/usr/bin/bwrap.real", THERE),
        ((reading(chain=(MINE, RENAMED, WRAPPED, RENAMED)),), "found", "/usr/bin/bwrap.real", THERE),
        ((reading(chain=(MINE, RENAMED, RENAMED)),), "compiled-in", "", ""),
        ((reading(chain=(DRIVER, CODEX, CODEX)),), "compiled-in", "", ""),
        ((reading(chain=(DRIVER, CODEX, CODEX, SHELL)),), "compiled-in", "", ""),
        ((reading(chain=(DRIVER, CODEX, WRAPPED, CODEX, SHELL)),), "found", "/usr/bin/bwrap.real", THERE),
        (LANDLOCK, "none", "", ""),
        ((landlocked(chain=(CODEX, WRAPPED)),), "none", "", ""),  # it set no mounts up
    ],
)
def test_the_used_bubblewrap_is_the_one_that_the_kernel_names(
    readings: tuple[ProcReading, ...], kind: str, path: str, sha256: str
) -> None:
    found = used(readings)
    assert found is not None
    assert (found.kind, found.path, found.sha256) == (kind, path, sha256)
    assert found.description


def test_without_a_reading_nothing_is_known() -> None:
    assert used(()) is None
    assert unexpected_bwrap(None, ASKED["0.8.0"]) == "" == bwrap_not_used(None, ASKED["0.8.0"])


def test_the_version_is_that_of_the_file_that_was_seen_and_of_no_other() -> None:
    assert (found := used(of(DISTRO), facts("distro", "distro"))) is not None and found.version == "bubblewrap 0.8.0"
    assert (found := used(of(BROUGHT), facts("distro", "distro"))) is not None and found.version == ""
    assert (found := used(of(DISTRO), facts("x", "static", sha256=BESIDE))) is not None and found.version == ""


@pytest.mark.parametrize(
    ("asked", "readings"),
    [
        *((name, of(DISTRO)) for name in ("distro", "0.8.0", "0.11.0-pypi", "as-chosen", "nobody")),
        *((name, of(BROUGHT)) for name in ("none", "as-chosen", "nobody")),
        *((name, COMPILED_IN) for name in ("none", "as-chosen", "nobody")),
        *((name, LANDLOCK) for name in ASKED),
    ],
)
def test_the_requested_bubblewrap_was_used(asked: str, readings: tuple[ProcReading, ...]) -> None:
    assert unexpected_bwrap(used(readings, ASKED[asked]), ASKED[asked]) == ""


@pytest.mark.parametrize(
    ("asked", "readings", "told"),
    [
        ("none", of(DISTRO), "requested bubblewrap none, used bwrap /usr/bin/bwrap (sha256 aaaaaaaaaaaa)"),
        ("0.8.0", of(BROUGHT), "requested bubblewrap 0.8.0, used Codex' own bwrap (sha256 bbbbbbbbbbbb)"),
        ("0.8.0", COMPILED_IN, "requested bubblewrap 0.8.0, used the bubblewrap that is compiled into Codex"),
        ("none", of(WRAPPED), "requested bubblewrap none, used bwrap /usr/bin/bwrap.real (sha256 aaaaaaaaaaaa)"),
        ("0.8.0", of(UNREADABLE), "requested bubblewrap 0.8.0, used bwrap unreadable (its digest is not known)"),
        ("0.8.0", of(DISTRO, BROUGHT), "requested bubblewrap 0.8.0, used several, one within the other"),
        ("distro", of(BROUGHT), "requested distro (bubblewrap 0.8.0), used Codex' own bwrap (sha256 bbbbbbbbbbbb)"),
        (
            "0.11.0-pypi",
            of(Link(pid=2, exe="/usr/bin/bwrap", name="bwrap", sha256="c" * 64)),
            "requested bubblewrap 0.11.0-pypi, used bwrap /usr/bin/bwrap (sha256 cccccccccccc)",
        ),
    ],
)
def test_another_bubblewrap_is_reported_with_the_requested_one(
    asked: str, readings: tuple[ProcReading, ...], told: str
) -> None:
    assert unexpected_bwrap(used(readings, ASKED[asked]), ASKED[asked]) == told


def test_the_requested_bubblewrap_is_recognised_by_its_bytes_and_not_by_its_place() -> None:
    elsewhere = Link(pid=2, exe="/usr/local/bin/bwrap", name="bwrap", sha256=BESIDE)
    assert unexpected_bwrap(used(of(elsewhere), ASKED["0.8.0"]), ASKED["0.8.0"])
    liar = Link(pid=2, exe="/opt/mine/codex-resources/bwrap", name="bwrap", sha256=THERE)
    assert unexpected_bwrap(used(of(liar), ASKED["0.8.0"]), ASKED["0.8.0"])


@pytest.mark.parametrize(
    ("asked", "has_no_say"),
    [("0.8.0", True), ("0.11.0-pypi", True), ("distro", False), ("none", False), ("as-chosen", False)],
)
def test_to_a_codex_that_starts_none_a_release_of_bubblewrap_means_nothing(asked: str, has_no_say: bool) -> None:
    assert bool(bwrap_not_used(used(LANDLOCK), ASKED[asked])) is has_no_say
    assert bwrap_not_used(used(of(DISTRO)), ASKED[asked]) == "" == bwrap_not_used(used(COMPILED_IN), ASKED[asked])


def test_among_parallel_calls_the_first_mismatch_decides() -> None:
    calls = [observation(readings=of(DISTRO)), observation(readings=of(BROUGHT)), observation(readings=())]
    found = with_bwrap_used(started(), calls, ASKED["0.8.0"])
    assert found.another.startswith("requested bubblewrap 0.8.0, used Codex' own bwrap")
    assert found.bwrap is not None and found.bwrap.kind == "found"
    assert with_bwrap_used(started(), calls[:1], ASKED["0.8.0"]).another == ""
    assert with_bwrap_used(started(), [observation(readings=LANDLOCK)], ASKED["0.8.0"]).without_say
