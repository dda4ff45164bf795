"""The cache: whole or not there, shared by many, pruned from its oldest end and never under somebody's feet."""

import os
import threading
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases import disk_space, locks
from pytest_codexsandbox.releases.cache_entry import Entry, Origin
from pytest_codexsandbox.releases.cache_files import PackageFile, sha256_of
from pytest_codexsandbox.releases.store import Store, entries, prune
from tests.unit.releases.builders import age, leftovers


def put(store: Store, release: str, content: bytes, *, used: float = 0) -> Entry:
    """An entry that nobody uses any more."""
    with store.building(release, "x86_64") as staging:
        place = staging / "0"
        (place / "bin").mkdir(parents=True)
        (place / "bin/codex").write_bytes(content)
        file = PackageFile(path="bin/codex", size=len(content), mode=0o755, sha256=sha256_of(place / "bin/codex"))
        origin = Origin(release=release, arch="x86_64", source="npm", url="http://registry/it.tgz")
        entry = store.put(place, binary="bin/codex", files=(file,), origin=origin)
    locks.let_go(entry)
    if used:
        age(locks.use_lock(entry), used)
    return entry


@pytest.fixture
def store(cache: Path) -> Store:
    return Store(cache)


def test_a_stored_binary_is_found_by_release_and_architecture(store: Store) -> None:
    entry = put(store, "0.136.0", b"one")
    assert store.find("0.136.0", "x86_64") == entry
    assert store.find("0.136.0", "aarch64") is None
    assert store.find("0.137.0", "x86_64") is None
    assert Path(entry.program).read_bytes() == b"one"
    assert leftovers(store.folder) == []


def test_the_same_content_under_two_names_is_kept_once(store: Store) -> None:
    first, second = put(store, "0.136.0", b"one"), put(store, "0.136.1", b"one")
    assert first.id == second.id
    assert store.names(first) == ("0.136.0", "0.136.1")
    assert len(store.entries()) == 1


def test_a_damaged_entry_is_as_good_as_none_and_is_replaced(store: Store) -> None:
    entry = put(store, "0.136.0", b"one")
    Path(entry.program).write_bytes(b"o")
    assert store.find("0.136.0", "x86_64") is None
    assert store.find("0.136.0", "x86_64") != put(store, "0.136.0", b"one")
    assert Path(entry.program).read_bytes() == b"one"


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"entry": 1}'])
def test_a_broken_note_is_as_good_as_none(store: Store, text: bytes) -> None:
    put(store, "0.136.0", b"one")
    (store.folder / "releases" / "0.136.0~x86_64.json").write_bytes(text)
    assert store.find("0.136.0", "x86_64") is None


def test_the_least_recently_used_go_first_and_only_as_many_as_needed(store: Store) -> None:
    for release, used in (("0.1.0", 300), ("0.2.0", 100), ("0.3.0", 200)):
        put(store, release, release.encode() * 20, used=used)
    gone = store.prune(2 * 100)
    assert [entry.origin.release for entry in gone] == ["0.2.0"]
    assert [entry.origin.release for entry in store.entries()] == ["0.3.0", "0.1.0"]
    assert store.find("0.2.0", "x86_64") is None
    assert leftovers(store.folder) == []


def test_using_an_entry_makes_it_the_most_recent(store: Store) -> None:
    first, second = put(store, "0.1.0", b"one", used=100), put(store, "0.2.0", b"two", used=200)
    with locks.shared(first) as there:
        assert there
    assert [entry.id for entry in store.entries()] == [second.id, first.id]


def test_an_entry_in_use_is_never_pruned(store: Store) -> None:
    entry, other = put(store, "0.1.0", b"one", used=100), put(store, "0.2.0", b"two", used=200)
    with locks.shared(entry), locks.shared(entry):
        assert [gone.id for gone in store.prune(0)] == [other.id]
        assert Path(entry.program).is_file()
    assert [gone.id for gone in store.prune(0)] == [entry.id]
    with locks.shared(entry) as there:
        assert not there


def test_a_dry_run_prints_the_removals_and_leaves_no_trace(store: Store) -> None:
    used, never = put(store, "0.1.0", b"one", used=100), put(store, "0.2.0", b"two")
    locks.use_lock(never).unlink()
    assert [gone.id for gone in store.prune(0, dry_run=True)] == [never.id, used.id]
    assert not locks.use_lock(never).exists()  # its time would be the last use
    with locks.shared(never):
        assert [gone.id for gone in store.prune(0, dry_run=True)] == [used.id]
    assert {entry.id for entry in store.entries()} == {used.id, never.id}


def test_an_entry_that_this_process_holds_is_never_pruned(store: Store) -> None:
    entry = put(store, "0.1.0", b"one")
    assert locks.hold(entry)
    try:
        assert store.prune(0) == ()
    finally:
        locks.let_go(entry)
    assert [gone.id for gone in store.prune(0)] == [entry.id]
    assert not locks.hold(entry)
    locks.let_go(entry)


def test_leftovers_of_a_killed_builder_are_swept_by_the_next_and_by_pruning(store: Store) -> None:
    for name in ("0.136.0~x86_64.1", "0.137.0~x86_64.2"):
        (store.folder / "staging" / name / "bin").mkdir(parents=True)
    with store.building("0.136.0", "x86_64"):
        assert not (store.folder / "staging" / "0.136.0~x86_64.1").exists()
        assert (store.folder / "staging" / "0.137.0~x86_64.2").exists()
    store.prune(10**9)
    assert leftovers(store.folder) == []


def test_pruning_does_not_touch_a_builder_at_work(store: Store) -> None:
    with store.building("0.136.0", "x86_64") as staging:
        store.prune(0)
        assert staging.is_dir()
    assert not staging.exists()


def test_a_second_builder_waits_and_gets_the_reason(store: Store) -> None:
    lines: list[str] = []
    order: list[str] = []
    waiting = threading.Event()

    def say(line: str) -> None:
        lines.append(line)
        waiting.set()

    def second() -> None:
        with store.building("0.136.0", "x86_64", say=say):
            order.append("second")

    thread = threading.Thread(target=second)
    with store.building("0.136.0", "x86_64"):
        thread.start()
        assert waiting.wait(60)
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]
    assert len(lines) == 1 and f"process {os.getpid()} gets Codex 0.136.0" in lines[0]


def test_a_builder_that_waits_too_long_says_for_whom(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_codexsandbox.releases.store.BUILD_PATIENCE", 0.1)
    with (
        store.building("0.136.0", "x86_64"),
        pytest.raises(CodexSandboxError, match=rf"process {os.getpid()} .*0\.136\.0"),
        store.building("0.136.0", "x86_64"),
    ):
        raise AssertionError("two builders at once")


def test_the_variable_names_the_folder_and_the_functions_use_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = put(store, "0.136.0", b"one")
    assert cache_folder() == store.folder
    assert entries() == (entry,)
    assert prune(0) == (entry,)
    monkeypatch.delenv("CODEXSANDBOX_CACHE")
    assert cache_folder().name == "pytest-codexsandbox"


def test_a_cache_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "none")
    assert store.entries() == ()
    assert store.prune(0) == ()


def test_a_cache_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(CodexSandboxError, match="Not a directory") as caught,
        Store(tmp_path / "file" / "cache").building("0.136.0", "x86_64"),
    ):
        raise AssertionError("built below a file")
    assert "CODEXSANDBOX_CACHE" in caught.value.next_step


def test_room_is_looked_at_before_anything_is_written(tmp_path: Path) -> None:
    disk_space.room_for(0, tmp_path)
    with pytest.raises(CodexSandboxError, match="CODEXSANDBOX_CACHE") as caught:
        disk_space.room_for(1 << 60, tmp_path)
    assert "codexsandbox cache prune" in caught.value.next_step
