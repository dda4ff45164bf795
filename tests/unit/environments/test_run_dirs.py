"""Where environments may lie, and whose they are."""

import os
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.environments import run_dirs
from pytest_codexsandbox.environments.host_facts import start_time
from pytest_codexsandbox.environments.run_dirs import Owner
from pytest_codexsandbox.errors import InputError


@pytest.mark.parametrize("place", ["/tmp", "/tmp/below", "/dev/shm/x"])
def test_a_folder_that_every_policy_may_write_is_refused(place: str) -> None:
    with pytest.raises(InputError, match=f"^{place} .* {'/dev/shm' if 'shm' in place else '/tmp'}"):
        run_dirs.prepare(Path(place), "word")


def test_a_link_to_such_a_folder_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/shm")
    with pytest.raises(InputError, match="/dev/shm"):
        run_dirs.prepare(tmp_path / "link" / "x", "word")


@pytest.mark.parametrize("owner", [run_dirs.OWNER, run_dirs.RUN])
def test_an_owner_keeps_its_folder_as_long_as_any_of_its_files(
    owner: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, stays = tmp_path / "run", tmp_path / "run" / "main" / "stays"
    stays.mkdir(parents=True)
    (folder / owner).write_text("{}")
    rmdir = os.rmdir

    def refuse(name: str, *, dir_fd: int) -> None:
        if name == "stays":
            raise PermissionError(1, "Operation not permitted")
        rmdir(name, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr("os.rmdir", refuse)
        assert run_dirs.remove_owned(folder) == ["run/main/stays: Operation not permitted"]
    assert (folder / owner).exists()
    assert run_dirs.remove_owned(folder) == []
    assert not folder.exists()


@pytest.mark.parametrize("variable", ["HOME", "CODEX_HOME"])
def test_the_users_own_codex_folder_is_refused(variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    with pytest.raises(InputError, match="CODEXSANDBOX_CACHE"):
        run_dirs.prepare(tmp_path / ".codex" / "x", "word")


def test_we_live() -> None:
    assert Owner.me("word").state == "lives"


def test_a_number_that_is_another_process_by_now_is_dead() -> None:
    me = Owner.me("word")
    assert msgspec.structs.replace(me, start=me.start + 1).state == "dead"
    assert msgspec.structs.replace(me, start=0).state == "dead"
    assert msgspec.structs.replace(me, boot="earlier").state == "dead"


def test_an_owner_out_of_sight_counts_as_alive() -> None:
    me = Owner.me("word")
    assert msgspec.structs.replace(me, pids="pid:[1]").state == "unknown"
    assert msgspec.structs.replace(me, boot="other", node="another-machine").state == "unknown"


def test_a_process_that_is_not_there_has_no_start() -> None:
    assert start_time(2**22 + 1) == 0
    assert start_time(os.getpid()) > 0


@pytest.mark.parametrize(
    ("place", "stays"), [("a\\040b/sys", True), ("a\\040b", True), ("a", False), ("a\\040bc", False)]
)
def test_nothing_is_removed_while_something_is_mounted_below(
    place: str, stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, mounts = tmp_path / "a b", tmp_path / "mountinfo"
    (folder / "sys").mkdir(parents=True)
    mounts.write_text(f"36 35 98:0 / / rw - ext4 /dev/x rw\n37 36 0:22 / {tmp_path}/{place} rw - sysfs sysfs rw\n")
    monkeypatch.setattr(run_dirs, "_MOUNTS", mounts)
    left = run_dirs.remove_owned(folder)
    assert (folder / "sys").is_dir() is stays
    assert bool(left) is stays
    assert all("is mounted" in one for one in left)
