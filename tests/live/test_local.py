"""The real Codex in this machine's environment: how it is seen from outside, and what it leaves."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.doors.sandbox_cli import SandboxDoor
from pytest_codexsandbox.doors.support.observe import observe
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.base_acts import BASE_ACTS, FORBIDDEN, PERMITTED
from pytest_codexsandbox.model.policy import POLICIES, READ_ONLY, WORKSPACE_WRITE
from pytest_codexsandbox.protocols import Environment, Subject
from tests.fakes.machine import installed_codex, local_environment


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    with local_environment() as environment:
        yield environment


@pytest.fixture(scope="module")
def codex(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return installed_codex(tmp_path_factory.mktemp("cache"))


def test_the_sandbox_is_read_from_outside_while_the_probe_waits(environment: Environment, codex: Subject) -> None:
    (seen,) = observe(SandboxDoor(), environment, codex, POLICIES[READ_ONLY], BASE_ACTS, None)
    assert (seen.rows[FORBIDDEN].ok, seen.rows[PERMITTED].ok) == (False, True), seen
    (reading,) = seen.readings
    assert reading.namespaces["user"] != reading.hand_namespaces["user"]
    assert reading.namespaces["mnt"] != reading.hand_namespaces["mnt"]
    assert reading.filters > reading.hand_filters
    assert reading.no_new_privs == 1
    assert reading.stdout_is_ours
    assert reading.chain[0].exe == str(Path(codex.binary).resolve())
    assert seen.survivors == ()


def test_a_call_leaves_nothing_in_shared_folders(environment: Environment, codex: Subject) -> None:
    watched = environment.world()
    observe(SandboxDoor(), environment, codex, POLICIES[WORKSPACE_WRITE], BASE_ACTS, None)
    assert environment.litter(watched, []) == ()
    looks = environment.look(watched, ["@TMPDIR@"])
    assert looks["@TMPDIR@"].names == ()
    environment.clear(watched)


def test_sixteen_calls_at_once_do_not_disturb_each_other(environment: Environment, codex: Subject) -> None:
    acts = {**BASE_ACTS, "t/write": Act(verb="write", path="@WORKSPACE@/new", params={"data": "x"})}
    call = Call(copies=16, timeout=120)
    seen = observe(SandboxDoor(), environment, codex, POLICIES[WORKSPACE_WRITE], acts, call)
    assert len(seen) == 16
    assert [(one.code, one.finished, one.rows["t/write"].ok) for one in seen] == [(0, True, True)] * 16, seen
    assert len({one.readings[0].pid for one in seen}) == 16


def test_the_users_own_codex_folder_is_neither_read_nor_written(
    environment: Environment, codex: Subject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A configuration that does not load would end the call."""
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text("this is = = no TOML")
    monkeypatch.setenv("HOME", str(tmp_path))
    before = _digest(tmp_path)
    with local_environment() as fresh:
        (seen,) = observe(SandboxDoor(), fresh, codex, POLICIES[READ_ONLY], BASE_ACTS, None)
    assert seen.finished, seen
    assert _digest(tmp_path) == before


def _digest(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
