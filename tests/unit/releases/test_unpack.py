"""Every layout of facts, and every archive that somebody could want us to unpack to our harm."""

import io
import tarfile
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.releases import unpack
from tests.unit.releases.builders import CODEX, MODERN, TRIPLE, tgz, tgz_of, wheel


def from_tar(data: bytes, folder: Path) -> unpack.Unpacked:
    return unpack.unpack_tar(io.BytesIO(data), folder, TRIPLE)


def from_wheel(data: bytes, folder: Path) -> unpack.Unpacked:
    path = folder.parent / "it.whl"
    path.write_bytes(data)
    return unpack.unpack_wheel(path, folder, TRIPLE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    return place


def under(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


@pytest.mark.parametrize(
    ("members", "binary"),
    [
        ({f"package/bin/codex-{TRIPLE}": CODEX, "package/bin/codex-aarch64-apple-darwin": b"other"}, "bin/codex"),
        ({f"package/vendor/{TRIPLE}/codex/codex": CODEX, f"package/vendor/{TRIPLE}/path/rg": b"rg"}, "codex/codex"),
        ({f"package/vendor/{TRIPLE}/codex/codex": CODEX, "package/vendor/other/codex/codex": b"no"}, "codex/codex"),
    ],
    ids=["0.40: one package for all", "0.99: one for each platform", "0.65: vendor folder of all platforms"],
)
def test_the_program_of_an_old_layout_is_found(folder: Path, members: dict[str, bytes], binary: str) -> None:
    found = from_tar(tgz(members), folder)
    assert found.binary == binary
    assert under(folder) == [binary]
    assert (folder / binary).read_bytes() == CODEX
    assert (folder / binary).stat().st_mode & 0o777 == 0o755


def test_the_modern_layout_keeps_what_codex_looks_for_and_leaves_the_heavy_rest(folder: Path) -> None:
    found = from_tar(tgz(MODERN), folder)
    assert under(folder) == ["bin/codex", "codex-package.json", "codex-path/rg", "codex-resources/bwrap"]
    assert [file.path for file in found.files] == under(folder)


def test_a_wheel_unpacks_to_the_same_layout(folder: Path) -> None:
    inside = {name.replace(f"package/vendor/{TRIPLE}/", "codex_cli_bin/"): data for name, data in MODERN.items()}
    found = from_wheel(wheel({**inside, "codex_cli_bin/__init__.py": b""}), folder)
    assert under(folder) == ["bin/codex", "codex-package.json", "codex-path/rg", "codex-resources/bwrap"]
    assert found.binary == "bin/codex"


def special(name: str, kind: bytes, target: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return tgz_of([(info, b"")])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (tgz({"../evil": b"x"}), "evil"),
        (tgz({"/etc/evil": b"x"}), "evil"),
        (tgz({f"package/vendor/{TRIPLE}/../../evil": b"x"}), "evil"),
        (special("package/link", tarfile.SYMTYPE, "/etc"), "link or a device"),
        (special("package/link", tarfile.LNKTYPE, "package/other"), "link or a device"),
        (special("package/null", tarfile.CHRTYPE), "link or a device"),
        (special("package/pipe", tarfile.FIFOTYPE), "link or a device"),
        (tgz({"package/README.md": b"no codex"}), "no Codex for this machine"),
        (tgz(MODERN)[:-200], "damaged"),
        (b"<html>not an archive</html>", "damaged"),
        (b"", "damaged"),
    ],
    ids=[
        "dots",
        "absolute",
        "dots inside",
        "symlink",
        "hard link",
        "device",
        "pipe",
        "nothing for us",
        "cut off",
        "not an archive",
        "empty",
    ],
)
def test_a_bad_tar_is_refused_and_writes_nothing_outside(folder: Path, data: bytes, words: str) -> None:
    with pytest.raises(unpack.BadArchive, match=words):
        from_tar(data, folder)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["place"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (wheel({"../evil": b"x"}), "evil"),
        (wheel({"codex_cli_bin/bin/codex": b"/etc/passwd"}, kinds={"codex_cli_bin/bin/codex": 0o120777}), "link"),
        (wheel({"codex_cli_bin/__init__.py": b""}), "no Codex for this machine"),
        (b"PK not a zip", "damaged"),
    ],
    ids=["dots", "symlink", "nothing for us", "not a zip"],
)
def test_a_bad_wheel_is_refused_and_writes_nothing_outside(folder: Path, data: bytes, words: str) -> None:
    with pytest.raises(unpack.BadArchive, match=words):
        from_wheel(data, folder)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["it.whl", "place"]


def test_an_archive_larger_than_any_codex_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "_MOST_BYTES", 10)
    with pytest.raises(unpack.BadArchive, match="larger"):
        from_tar(tgz(MODERN), folder)


def test_a_name_that_occurs_twice_is_refused(folder: Path) -> None:
    name = f"package/vendor/{TRIPLE}/bin/codex"
    info = tarfile.TarInfo(name)
    with pytest.raises(unpack.BadArchive, match="twice"):
        from_tar(tgz_of([(info, b""), (info, b"")]), folder)


def test_a_damaged_archive_is_an_error_of_the_product_like_every_other() -> None:
    assert issubclass(unpack.BadArchive, CodexSandboxError)
