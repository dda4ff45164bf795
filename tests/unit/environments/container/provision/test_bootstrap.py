"""How the bootstrap tool is called, what is kept of its work, and what its failures are called."""

import io
import os
import shutil
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.environments import run_dirs
from pytest_codexsandbox.environments.container.provision import bootstrap, keyrings
from pytest_codexsandbox.errors import HarnessError, InputError, Unavailable
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.container import ContainerSpec, ImageSpec
from tests.unit.environments.container.provision.builders import ImagesWorld, Tool, a_container, a_distro


def _spec(**words: Any) -> ContainerSpec:
    return a_container(a_distro(**words))


def test_it_is_called_with_what_the_data_say(images_world: ImagesWorld) -> None:
    images_world.images().provide(_spec(components=("main", "universe"), expired=True))
    (call,) = images_world.tool.calls
    assert "mmdebstrap" in call
    words = call[call.index("mmdebstrap") :]
    assert {"--variant=apt", "--components=main,universe", "--format=tar"} <= set(words)
    assert '--aptopt=Acquire::Check-Valid-Until "false"' in words
    assert words[-2] == "bookworm"
    assert not any("http" in word for word in words), "the tool knows where its archives are"


def test_a_mirror_of_the_users_own_is_passed_on(images_world: ImagesWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEXSANDBOX_MIRROR_DEBIAN", "https://mirror.example/debian")
    images_world.images().provide(_spec())
    assert images_world.tool.calls[0][-1] == "https://mirror.example/debian"


def test_a_mirror_that_is_none_is_refused(images_world: ImagesWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEXSANDBOX_MIRROR_DEBIAN", "--setup-hook=id")
    with pytest.raises(InputError, match="not the address"):
        images_world.images().provide(_spec())
    assert not images_world.tool.calls


def test_nothing_of_our_environment_reaches_it_but_proxies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("APT_CONFIG", "/tmp/evil")
    command = bootstrap.command(a_distro(), tmp_path / "x.tar", key=None, tmp=tmp_path)
    assert command.env["https_proxy"] == "http://proxy:3128"
    assert set(command.env) <= {"PATH", "SOURCE_DATE_EPOCH", "LC_ALL", "TMPDIR", *bootstrap._KEPT_ENV}


def test_it_ends_with_us_and_within_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name, **_: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    command = bootstrap.command(a_distro(), tmp_path / "x.tar", key=None, tmp=tmp_path)
    assert command.argv[:6] == ("setpriv", "--pdeathsig", "TERM", "timeout", "--kill-after=30", "1800")
    assert command.timeout > 1800 + 30, "so that it cleans up by itself"


@pytest.mark.parametrize(
    ("said", "why", "next_step"),
    [
        ("E: The repository 'x bookworm Release' does not have a Release file.", "no suite bookworm", "MIRROR_DEBIAN="),
        ("E: Failed to fetch http://x  Temporary failure resolving 'x'", "could not be reached", "https_proxy"),
        (
            "E: Failed to fetch x  Could not connect to x:80 (1.2.3.4). - connect (111: Connection refused)",
            "could not be reached",
            "https_proxy",
        ),
        ("tar: write error: No space left on device\nE: tar failed", "the disk is full", "images prune --all"),
        ("W: GPG error: x InRelease: NO_PUBKEY 1234", "NO_PUBKEY 1234", "renew debian-archive-keyring"),
        ("E: Release file for x is expired (invalid since 12d 3h).", "have run out", "mirror"),
        ("E: Failed to execute external solver '3.0'", "too old for this suite", "newer mmdebstrap"),
        ("E: something else broke", "something else broke", ""),
    ],
)
def test_a_failure_is_called_by_its_name(images_world: ImagesWorld, said: str, why: str, next_step: str) -> None:
    images_world.tool.code, images_world.tool.says = 25, said
    with pytest.raises(Unavailable) as problem:
        images_world.images().provide(_spec(pull="", keyring_package="debian-archive-keyring"))
    assert why in problem.value.why
    assert next_step in problem.value.next_step
    assert not list((images_world.cache / "images" / "bases").iterdir()), "nothing half made stays"


@pytest.mark.parametrize(
    ("done", "kind", "why"),
    [
        (
            CommandResult(ended="exit", exit=124, stderr=b"I: downloading"),
            Unavailable,
            "after 30 minutes: I: downl",
        ),
        (CommandResult(ended="timeout", error="not done after 1860 s"), Unavailable, "after 30 minutes"),
        (CommandResult(ended="signal", signal=9), HarnessError, "ended by signal 9"),
        (CommandResult(ended="not-started", error="mmdebstrap: Permission denied"), HarnessError, "Permission denied"),
    ],
)
def test_an_unexpected_end_is_reported(
    done: CommandResult, kind: type[Exception], why: str, images_world: ImagesWorld
) -> None:
    images_world.tool.end = done
    with pytest.raises(kind) as problem:
        images_world.images().provide(_spec(pull=""))
    assert why in problem.value.why  # type: ignore[attr-defined]


def test_an_archive_that_was_cut_is_not_believed(images_world: ImagesWorld) -> None:
    images_world.images().provide(_spec())
    path, _ = bootstrap.archive(a_distro(), images_world.cache) or (Path(), "")
    path.write_bytes(b"cut")
    assert bootstrap.archive(a_distro(), images_world.cache) is None


# ---- keys
def test_this_machines_own_key_is_taken(
    images_world: ImagesWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(keyrings, "FOLDER", tmp_path)
    (tmp_path / "ubuntu-archive-keyring.gpg").write_bytes(b"key")
    images_world.images().provide(_spec(keyring="ubuntu-archive-keyring"))
    assert not any(word.startswith("--keyring") for word in images_world.tool.calls[0]), "the tool looks there itself"


def test_without_a_key_the_package_that_has_it_is_named(images_world: ImagesWorld) -> None:
    with pytest.raises(Unavailable) as problem:
        images_world.images().provide(
            _spec(pull="", keyring="ubuntu-archive-keyring", keyring_package="ubuntu-keyring")
        )
    assert problem.value.next_step == "apt install ubuntu-keyring"
    assert not images_world.tool.calls


def test_the_archives_own_key_counts_by_its_fingerprint_alone(images_world: ImagesWorld) -> None:
    gpg = Gpg({"GOOD"})
    key = keyrings.have(_ubuntu("GOOD"), images_world.cache, fetch=_package, run=gpg)
    assert key is not None
    assert key.read_bytes() == b"GOOD"
    assert keyrings.have(_ubuntu("GOOD"), images_world.cache, fetch=_never, run=gpg) == key, "once"
    assert all("--homedir" in argv for argv in gpg.calls), "nobody's own keys are read or written"


def test_gpg_has_a_home_with_a_short_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses a home whose socket's name would be too long: a cache may lie deep. All else lies in the folder of the
    build, which `sweep` knows."""
    cache, places = tmp_path / ("deep" * 20), list[str]()

    def fetch(image: ImageSpec, to: Path, **_: object) -> None:
        places.append(to.parent.parent.name)
        _package(image, to)

    monkeypatch.setattr(bootstrap, "_keyring_package", fetch)
    monkeypatch.setattr(shutil, "which", lambda program: f"/usr/bin/{program}")
    monkeypatch.setattr(keyrings, "FOLDER", tmp_path / "none")
    gpg, tool = Gpg({"GOOD"}), Tool()
    bootstrap.have(_ubuntu("GOOD"), cache, run=lambda one: (gpg if "--homedir" in one.argv else tool)(one))
    homes = {Path(argv[argv.index("--homedir") + 1]) for argv in gpg.calls}
    (place,) = places
    assert place.startswith("making-ubuntu-24.04-")
    assert gpg.calls and all(home.parent == run_dirs.SHARED[0] and not home.exists() for home in homes)


def test_the_next_build_removes_the_copy_of_the_key_that_a_killed_one_left(tmp_path: Path) -> None:
    folder = tmp_path / "making"
    folder.mkdir()
    copy = run_dirs.SHARED[0] / run_dirs.named_for(run_dirs.take(folder), "-key-x")
    copy.mkdir()
    assert run_dirs.give_back(folder) == []
    assert not folder.exists() and not copy.exists()


def test_an_unknown_key_is_not_taken(images_world: ImagesWorld) -> None:
    with pytest.raises(Unavailable, match="cannot be bootstrapped") as problem:
        keyrings.have(_ubuntu("GOOD"), images_world.cache, fetch=_package, run=Gpg({"OTHER"}))
    assert problem.value.why.endswith(" GOOD")
    assert problem.value.next_step == "apt install ubuntu-keyring"
    assert keyrings.found(_ubuntu("GOOD"), images_world.cache) is None
    assert not list((images_world.cache / "images" / "keyrings").iterdir())


def test_images_that_are_built_at_once_do_not_disturb_each_other_over_the_same_key(images_world: ImagesWorld) -> None:
    """Both are in the middle of their work at the same moment, and both get the whole key."""
    both = threading.Barrier(2, timeout=30)

    def fetch(image: ImageSpec, to: Path) -> None:
        _package(image, to)
        both.wait()
        assert to.is_file(), "the other one has removed it"

    def have(_: int) -> bytes:
        key = keyrings.have(_ubuntu("GOOD"), images_world.cache, fetch=fetch, run=Gpg({"GOOD"}))
        assert key is not None
        return key.read_bytes()

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(have, range(2))) == [b"GOOD", b"GOOD"]
    (kept,) = (images_world.cache / "images" / "keyrings").iterdir()
    assert kept == keyrings.found(_ubuntu("GOOD"), images_world.cache)


def _ubuntu(fingerprint: str) -> ImageSpec:
    return a_distro(
        "ubuntu-24.04", keyring="ubuntu-archive-keyring", keyring_package="ubuntu-keyring", signed_by=(fingerprint,)
    )


def _package(image: ImageSpec, to: Path) -> None:
    with tarfile.open(to, "w") as archive:
        member = tarfile.TarInfo(f"./usr/share/keyrings/{image.keyring}.gpg")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"keys"))


def _never(image: ImageSpec, to: Path) -> None:
    raise AssertionError("it was here already")


class Gpg:
    """Has imported what it was given; exports a key that it has, and writes nothing where it has none."""

    def __init__(self, has: set[str]) -> None:
        self.has, self.calls = has, list[tuple[str, ...]]()

    def __call__(self, command: Command) -> CommandResult:
        self.calls.append(command.argv)
        if "--export" in command.argv:
            to = Path(command.argv[command.argv.index("--output") + 1])
            found = [one for one in command.argv[command.argv.index("--export") + 1 :] if one in self.has]
            if found:
                to.write_text(" ".join(found))
        return CommandResult(ended="exit")


@pytest.mark.parametrize("place", ["turns", "bases"])
def test_every_process_reports_an_unusable_folder_alike(images_world: ImagesWorld, place: str) -> None:
    folder = images_world.cache / "images" / place
    folder.parent.mkdir(parents=True)
    folder.write_text("no folder")
    with pytest.raises(Unavailable) as problem:
        images_world.images().provide(_spec(pull=""))
    told = problem.value
    assert (told.where, told.why) == (str(folder), "File exists")
    assert "CODEXSANDBOX_CACHE" in told.next_step
    assert not images_world.tool.calls
