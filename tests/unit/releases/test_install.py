"""From an archive to an entry, or to one clear error with nothing left behind."""

import errno
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import pytest_codexsandbox.releases.install
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.guest import disk_space
from pytest_codexsandbox.releases import unpack
from pytest_codexsandbox.releases.artefact import Artefact
from pytest_codexsandbox.releases.cache_entry import Entry
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.system import download
from pytest_codexsandbox.system.download import Hash, NotReached
from pytest_codexsandbox.system.progress import Progress
from tests.unit.releases.builders import CODEX, MODERN, TRIPLE, X86, Heard, Registry, changed, leftovers, tgz, wheel


def install(artefact: Artefact, cache: Path, progress: Progress | None = None) -> Entry:
    store = Store(cache)
    with store.building(artefact.release, X86.arch) as staging:
        return pytest_codexsandbox.releases.install.install(artefact, store, staging, X86, progress or Progress())


def nothing_is_left(cache: Path) -> bool:
    return leftovers(cache) == [] and Store(cache).entries() == () and not any((cache / "releases").iterdir())


def test_an_archive_of_npm_becomes_an_entry(server: Registry, cache: Path) -> None:
    entry = install(server.tarball("0.136.0", tgz(MODERN)), cache)
    assert Path(entry.program).read_bytes() == CODEX
    assert entry.origin.source == "npm"
    assert entry.origin.integrity.startswith("sha512:")
    assert leftovers(cache) == []


def test_a_wheel_becomes_the_same_entry(server: Registry, cache: Path) -> None:
    inside = {name.replace(f"package/vendor/{TRIPLE}/", "codex_cli_bin/"): data for name, data in MODERN.items()}
    by_wheel = install(server.wheel("0.136.0", wheel(inside)), cache)
    by_npm = install(server.tarball("0.136.0", tgz(MODERN)), cache)
    assert by_wheel.id == by_npm.id
    assert by_wheel.origin.source == "pypi"
    assert leftovers(cache) == []


def test_bytes_that_are_not_the_announced_ones_leave_nothing(server: Registry, cache: Path) -> None:
    wrong = changed(server.tarball("0.136.0", tgz(MODERN)), expected=Hash(algorithm="sha512", digest="00" * 64))
    with pytest.raises(CodexSandboxError, match="announced"):
        install(wrong, cache)
    assert nothing_is_left(cache)
    assert len(server.asked) == 1


def test_garbage_in_place_of_an_archive_is_reported_as_wrong_bytes(server: Registry, cache: Path) -> None:
    right = server.tarball("0.136.0", tgz(MODERN))
    server.put("/codex-0.136.0.tgz", b"<html>please log in</html>")
    with pytest.raises(CodexSandboxError, match="announced"):
        install(right, cache)
    assert nothing_is_left(cache)


def test_an_announced_archive_that_is_none_is_reported_as_damaged(server: Registry, cache: Path) -> None:
    with pytest.raises(unpack.BadArchive, match="damaged") as caught:
        install(server.tarball("0.136.0", b"not an archive"), cache)
    assert caught.value.where == server.address + "/codex-0.136.0.tgz"
    assert nothing_is_left(cache)


def test_an_archive_that_reaches_out_of_its_folder_leaves_nothing(server: Registry, cache: Path) -> None:
    with pytest.raises(unpack.BadArchive, match="evil"):
        install(server.tarball("0.136.0", tgz({**MODERN, "../../evil": b"x"})), cache)
    assert nothing_is_left(cache)


def test_a_connection_that_breaks_once_is_tried_again(server: Registry, cache: Path) -> None:
    data = tgz(MODERN)
    artefact = server.tarball("0.136.0", data)
    tries: list[int] = []

    def half_at_first(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data if tries else data[: len(data) // 2])
        tries.append(1)

    server.put_answer("/codex-0.136.0.tgz", half_at_first)
    heard = Heard()
    assert Path(install(artefact, cache, heard).program).read_bytes() == CODEX
    assert len(heard.lines) == 1
    assert "trying again" in heard.lines[0]
    assert leftovers(cache) == []


def test_a_network_that_stays_dead_is_one_error_after_a_few_tries(server: Registry, cache: Path) -> None:
    server.put("/codex-0.136.0.tgz", b"", status=503)
    broken = changed(server.tarball("0.136.0", b"", status=503))
    with pytest.raises(NotReached, match="HTTP 503"):
        install(broken, cache)
    assert len(server.asked) == pytest_codexsandbox.releases.install.TRIES
    assert nothing_is_left(cache)


def test_a_disk_without_room_is_reported_before_any_file_is_unpacked(
    server: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_space, "least", lambda places: 1 << 10)
    with pytest.raises(CodexSandboxError, match="CODEXSANDBOX_CACHE") as caught:
        install(server.tarball("0.136.0", tgz(MODERN)), cache)
    assert caught.value.where == str(cache)  # a folder that is still there, and may be chosen
    assert nothing_is_left(cache)


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "cache prune"), (errno.EIO, "be written")])
def test_a_disk_that_fails_while_unpacking_leaves_nothing(
    server: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    def fail(*words: Any) -> None:
        raise OSError(number, "as asked")

    monkeypatch.setattr(unpack, "_copy", fail)
    with pytest.raises(CodexSandboxError, match=words):
        install(server.tarball("0.136.0", tgz(MODERN)), cache)
    assert nothing_is_left(cache)


def test_an_interrupted_installation_leaves_no_file(
    server: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: download.Download) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(download.Download, "finish", interrupt)
    with pytest.raises(KeyboardInterrupt):
        install(server.tarball("0.136.0", tgz(MODERN)), cache)
    assert nothing_is_left(cache)
