"""What matrix files say about containers: axis values, images and folders of a user's own, lock files."""

import re
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import lockfile
from pytest_codexsandbox.matrix.load import load, presets
from tests.unit.matrix.container_builders import matrix, written

SECCOMP = '{"defaultAction": "SCMP_ACT_ALLOW"}'


def refused(folder: Path, containers: str, **more: str) -> InputError:
    with pytest.raises(InputError) as caught:
        matrix(folder, containers, **more)
    return caught.value


def test_a_missing_key_has_a_default(tmp_path: Path) -> None:
    found = matrix(tmp_path, 'distros = ["debian-trixie"]').containers
    assert found is not None
    assert (found.bwraps, found.profiles, found.users, found.pairs) == (("distro",), ("docker-default",), ("root",), 0)


@pytest.mark.parametrize(
    ("containers", "place", "words"),
    [
        ('distros = ["debian-trixi"]', ":4:1 (distros)", "no 'debian-trixi'"),
        ('distros = ["debian-trixie"]\nbwraps = ["0.8"]', ":5:1 (bwraps)", "no '0.8'"),
        ('distros = ["debian-trixie"]\nprofiles = []', ":5:1 (profiles)", "empty"),
        ('distros = ["debian-trixie"]\nusers = ["root", "root"]', ":5:1 (users)", "twice"),
        ('distros = ["debian-trixie"]\nkernels = ["6.1"]', ":5:1 (kernels)", "unknown field `kernels`"),
        ('distros = "debian-trixie"', ":4:1 (distros)", "expected `array`"),
        ('bwraps = ["none"]', ":1:1 (distros)", "empty"),
        ('distros = ["debian-trixie"]\npairs = 4', ":5:1 (pairs)", "pairs is 4"),
        ('images = ["agent"]', ":4:1 (images)", "not NAME=IMAGE"),
        ('images = ["Mine=agent"]', ":4:1 (images)", "'Mine' cannot be the value of an axis"),
        ('images = ["debian-trixie=agent"]', ":4:1 (images)", "'debian-trixie' is shipped"),
        ('images = ["mine=--privileged"]', ":4:1 (images)", "not the name of an image"),
        ('images = ["mine=a b"]', ":4:1 (images)", "not the name of an image"),
        ('images = ["mine="]', ":4:1 (images)", "not the name of an image"),
        ('images = ["mine=a", "mine=b"]', ":1:1 (distros)", "twice"),
    ],
)
def test_a_wrong_key_is_reported_with_its_place(tmp_path: Path, containers: str, place: str, words: str) -> None:
    error = refused(tmp_path, containers)
    assert words in error.what
    assert place in error.where


def test_an_unknown_value_is_answered_with_the_nearest(tmp_path: Path) -> None:
    assert "'debian-trixie'?" in refused(tmp_path, 'distros = ["debian-trixi"]').why


@pytest.mark.parametrize(
    "written_as",
    [
        'images = ["mine=registry.example:5000/team/agent:1.2"]',
        '[containers.images]\nmine = "registry.example:5000/team/agent:1.2"',
    ],
)
def test_an_image_of_ones_own_is_a_distribution_taken_as_it_is(tmp_path: Path, written_as: str) -> None:
    found = matrix(tmp_path, written_as)
    assert found.containers is not None
    assert found.containers.distros == ("mine",)
    assert found.catalogue.image("mine").reference == "registry.example:5000/team/agent:1.2"


def test_images_of_ones_own_stand_behind_the_shipped_ones(tmp_path: Path) -> None:
    found = matrix(tmp_path, 'distros = ["debian-trixie"]\nimages = ["mine=agent", "other=agent@sha256:00"]')
    assert found.containers is not None
    assert found.containers.distros == ("debian-trixie", "mine", "other")


# ---- folders beside the matrix file
def beside(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_axis_values_of_ones_own_lie_beside_the_matrix_file(tmp_path: Path) -> None:
    beside(tmp_path, "distros/ours.toml", 'pull = "registry.example/base:1"\n')
    beside(tmp_path, "profiles/strict.toml", 'seccomp = "file:strict.json"\nread_only = true\n')
    beside(tmp_path, "profiles/seccomp/strict.json", SECCOMP)
    beside(tmp_path, "users/u4711.toml", "uid = 4711\ngid = 4711\n")
    found = matrix(
        tmp_path, 'distros = ["ours", "debian-trixie"]\nprofiles = ["strict"]\nusers = ["u4711"]\nbwraps = ["none"]'
    ).catalogue
    assert found.image("ours").pull == "registry.example/base:1"
    assert (found.profile("strict").seccomp, found.profile("strict").read_only) == (SECCOMP, True)
    assert found.user("u4711").uid == 4711


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("users/mine.toml", "uid = 1\nshell = 'sh'\n", "unknown field `shell`"),
        ("users/mine.toml", "uid = 'one'\n", "expected `int`"),
        ("users/mine.toml", "uid = \n", "the TOML is broken"),
        ("users/mine.toml", "name = 'mine'\nuid = 1\n", "name is not written"),
    ],
)
def test_a_wrong_value_is_reported_with_its_own_file(tmp_path: Path, file: str, text: str, words: str) -> None:
    path = beside(tmp_path, file, text)
    error = refused(tmp_path, 'distros = ["debian-trixie"]\nusers = ["mine"]')
    assert words in error.what
    assert error.where.startswith(str(path))


def test_a_shipped_filter_serves_a_profile_of_ones_own_and_does_not_hide_its_own(tmp_path: Path) -> None:
    beside(tmp_path, "profiles/mine.toml", 'seccomp = "file:podman-default.json"\n')
    beside(tmp_path, "profiles/other.toml", 'seccomp = "file:deny-mount.json"\n')
    beside(tmp_path, "profiles/seccomp/deny-mount.json", SECCOMP)
    found = matrix(tmp_path, 'distros = ["debian-trixie"]\nprofiles = ["mine", "other"]').catalogue
    assert found.profile("mine").seccomp == found.profile("podman-default").seccomp
    assert found.profile("other").seccomp == SECCOMP


def test_a_filter_that_is_not_there_or_elsewhere_is_refused(tmp_path: Path) -> None:
    for name in ("none.json", "../../etc/passwd"):
        beside(tmp_path, "profiles/mine.toml", f'seccomp = "file:{name}"\n')
        with pytest.raises(InputError, match=re.escape(name)):
            matrix(tmp_path / ".", 'distros = ["debian-trixie"]\nprofiles = ["mine"]')


def test_a_name_that_is_shipped_means_what_is_shipped(tmp_path: Path) -> None:
    path = beside(tmp_path, "users/root.toml", "uid = 1\n")
    error = refused(tmp_path, 'distros = ["debian-trixie"]\nusers = ["root"]')
    assert "'root' is shipped" in error.what
    assert str(path) in error.where


def test_unnamed_folders_are_not_read(tmp_path: Path) -> None:
    beside(tmp_path, "users/root.toml", "somebody else's file\n")
    matrix(tmp_path, 'distros = ["debian-trixie"]\nusers = ["u1000"]')


# ---- lock files
ROW = ("debian-trixie", "distro", "docker-default", "root", "0.163.0")


def test_a_locked_file_is_read_again_sorted_and_once(tmp_path: Path) -> None:
    other = ("debian-bookworm", *ROW[1:])
    path = tmp_path / "mine.lock.toml"
    lockfile.write(path, 2, (ROW, other, ROW))
    found = lockfile.read(path)
    assert found == lockfile.Lock(pairs=2, cells=(other, ROW))
    assert len([line for line in path.read_text().splitlines() if line.startswith("  [")]) == 2


def test_a_lock_lies_beside_its_matrix_file_and_is_no_preset(tmp_path: Path) -> None:
    file = written(tmp_path, 'distros = ["debian-trixie"]')
    assert load(str(file)).lock is None
    lockfile.write(tmp_path / "mine.lock.toml", 3, (ROW,))
    assert load(str(file)).lock == lockfile.Lock(pairs=3, cells=(ROW,))
    assert not [name for name in presets() if "lock" in name]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pairs = 2\ncells = [['a', 'b']]\n", "has 2 values"),
        ("pairs = 5\ncells = []\n", "pairs is 2 or 3"),
        ("pairs = 2\n", "missing required field `cells`"),
        ("pairs = 2\ncells = [\n", "the TOML is broken"),
    ],
)
def test_a_lock_that_is_wrong_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    file = written(tmp_path, 'distros = ["debian-trixie"]')
    (tmp_path / "mine.lock.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        load(str(file))
    assert words in caught.value.what
    assert "mine.lock.toml" in caught.value.where


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(str(tmp_path / "none" / "mine.lock.toml"))):
        lockfile.write(tmp_path / "none" / "mine.lock.toml", 2, (ROW,))
