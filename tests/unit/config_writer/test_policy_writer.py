"""The exemplary generator's effects: what a file is besides its bytes, who else is at it, and what is refused."""

import fcntl
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli

from pytest_codexsandbox.config_writer import Refused, apply, atomic_write, generate
from pytest_codexsandbox.config_writer.__main__ import main

USER = b'# mine\r\nmodel = "x"\r\n'


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "home" / ".codex" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_bytes(USER)
    return path


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def says(path: Path) -> object:
    return tomli.loads(path.read_bytes().decode()).get("sandbox_mode")


def test_the_policy_is_in_the_file_and_nothing_else_was_added(config: Path) -> None:
    config.chmod(0o640)
    done = apply(config, roots=["/srv/board"])
    assert (done.changed, done.path) == (True, str(config))
    assert config.read_bytes().endswith(USER)
    assert stat.S_IMODE(config.stat().st_mode) == 0o640
    assert names(config.parent) == {"config.toml"}


def test_a_second_time_nothing_is_written(config: Path) -> None:
    apply(config)
    before = config.stat()
    assert apply(config).changed is False
    assert (config.stat().st_ino, config.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_missing_file_and_folder_are_made_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / ".codex" / "config.toml"
    apply(path)
    assert [stat.S_IMODE(p.stat().st_mode) for p in (path.parent, path)] == [0o700, 0o600]


@pytest.mark.parametrize("there", [True, False])
def test_links_are_followed_and_stay(config: Path, there: bool) -> None:
    real = config.parent.parent / "dotfiles.toml"
    config.rename(real)
    config.symlink_to("../dotfiles.toml")
    if not there:
        real.unlink()
    apply(config)
    assert str(config.readlink()) == "../dotfiles.toml"
    assert says(real) == "workspace-write"
    assert names(config.parent) == {"config.toml"}


def hard_link(path: Path) -> None:
    os.link(path, path.with_name("other"))


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def in_the_way(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()
    path.parent.write_bytes(b"")


def void(path: Path) -> None:
    path.write_bytes(b'default_permissions = ":read-only"\n')


@pytest.mark.parametrize("make", [hard_link, folder, fifo, loop, in_the_way, void, lambda path: path.chmod(0o444)])
def test_it_refuses_what_it_could_not_replace_without_loss(config: Path, make: Callable[[Path], None]) -> None:
    make(config)
    before = {str(path): path.lstat() for path in sorted(config.parent.parent.rglob("*"))}
    with pytest.raises(Refused, match=r"where|why|next"):
        apply(config)
    assert {str(path): path.lstat() for path in sorted(config.parent.parent.rglob("*"))} == before


def test_a_refused_intent_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="absolute"):
        apply(tmp_path / "new" / "config.toml", roots=["here"])
    assert names(tmp_path) == set()


def test_no_root_may_hold_the_home_under_any_name(config: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(config.parent.parent)
    for root in (config.parent.parent, tmp_path / "link", tmp_path, config.parent):
        with pytest.raises(Refused, match="too wide"):
            apply(config, roots=[root], home=config.parent.parent)
    assert config.read_bytes() == USER
    apply(config, roots=[tmp_path / "board"], home=config.parent.parent)


def test_a_writer_that_does_not_lock_loses_nothing(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody adds a key after the file was read and before it is replaced."""
    written = atomic_write._written
    added: list[bytes] = []

    def meanwhile(new: Path, content: bytes, seen: atomic_write.FileSnapshot) -> None:
        written(new, content, seen)
        if not added:
            added.append(b"late = true\n")
            config.write_bytes(config.read_bytes() + added[0])

    monkeypatch.setattr(atomic_write, "_written", meanwhile)
    apply(config)
    assert tomli.loads(config.read_bytes().decode())["late"] is True
    assert says(config) == "workspace-write"
    assert names(config.parent) == {"config.toml"}


def test_a_file_that_never_rests_is_left_alone(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = atomic_write._written

    def meanwhile(new: Path, content: bytes, seen: atomic_write.FileSnapshot) -> None:
        written(new, content, seen)
        config.write_bytes(config.read_bytes() + b"# again\n")

    monkeypatch.setattr(atomic_write, "_written", meanwhile)
    with pytest.raises(Refused, match="changes while"):
        apply(config)
    assert says(config) is None
    assert names(config.parent) == {"config.toml"}


def test_a_held_lock_is_waited_for_and_not_for_ever(config: Path) -> None:
    fd = os.open(config.parent, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with pytest.raises(Refused, match="has held"):
        apply(config, patience=0.05)
    threading.Timer(0.1, os.close, [fd]).start()
    assert apply(config).changed


def test_many_at_once_leave_one_whole_policy(config: Path) -> None:
    intents = [[f"/srv/{number}"] for number in range(8)]
    threads = [threading.Thread(target=apply, args=(config,), kwargs={"roots": roots}) for roots in intents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    roots = tomli.loads(config.read_bytes().decode())["sandbox_workspace_write"]["writable_roots"]
    assert roots in intents
    assert config.read_bytes().endswith(USER)


def test_leftovers_of_a_killed_writer_are_removed(config: Path) -> None:
    (config.parent / ".config.toml.codexsandbox-new").write_bytes(b"half")
    apply(config)
    assert names(config.parent) == {"config.toml"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_owner_stays(config: Path) -> None:
    os.chown(config, 12345, 23456)
    apply(config)
    assert (config.stat().st_uid, config.stat().st_gid) == (12345, 23456)


def test_a_trusted_projects_own_words_are_no_surprise_later(config: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "work" / "deep"
    (tmp_path / "work" / ".codex").mkdir(parents=True)
    workspace.mkdir()
    (tmp_path / "work" / ".codex" / "config.toml").write_bytes(b'sandbox_mode = "read-only"\n')
    (told,) = apply(config, workspace=workspace).warnings
    assert "sets sandbox_mode: " in told
    config.write_bytes(f'[projects."{tmp_path / "work"}"]\ntrust_level = "trusted"\n'.encode())
    with pytest.raises(Refused, match="sets sandbox_mode"):
        apply(config, workspace=workspace)


def request(config: Path, **words: object) -> dict[str, object]:
    home = str(config.parent.parent)
    given = {"platform": "linux", "version": "", "home": home, "codex_home": str(config.parent), "config": str(config)}
    return {**given, "workspace": f"{home}/w", **words}


def test_run_as_a_generator_it_reports_its_result(config: Path) -> None:
    assert generate(request(config, roots=["/srv/x"], network=True))["files"] == [str(config)]
    assert generate(request(config, roots=["/srv/x"], network=True))["files"] == []


@pytest.mark.parametrize(
    "words",
    [
        {"platform": "windows"},
        {"capabilities": {"uid_map": False}},
        {"capabilities": {"netns": False}},
        {"roots": ["rel"]},
        {"approval": "sometimes"},
        {"params": {"sandbox": "none"}},
    ],
)
def test_run_as_a_generator_it_refuses_and_touches_nothing(config: Path, words: dict[str, object]) -> None:
    told = generate(request(config, **words))
    assert told["refused"]
    assert told["reason"]
    assert config.read_bytes() == USER


def test_without_a_network_namespace_the_network_must_be_on(config: Path) -> None:
    assert "refused" not in generate(request(config, capabilities={"netns": False}, network=True))


def test_on_the_command_line(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", str(config), "--root", "/srv/x", "--network", "on"]) == 0
    assert "written" in capsys.readouterr().out
    assert main(["--config", str(config), "--root", "x"]) == 3
    assert "the root 'x' " in capsys.readouterr().err
