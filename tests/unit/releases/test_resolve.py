"""Cached before installed before PyPI before npm; and what is told when none of them has it."""

import re
import threading
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, InputError, Unavailable
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.releases import binary_cache, installed_package, known_releases, npm
from pytest_codexsandbox.releases.locks import let_go
from pytest_codexsandbox.releases.resolve import ResolvedSubject, resolve
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.system import pip
from pytest_codexsandbox.system.download import NotReached, NotThere
from pytest_codexsandbox.system.progress import Progress
from tests.unit.releases.builders import (
    TRIPLE,
    X86,
    Machine,
    Registry,
    codex_of,
    dist,
    download_info,
    leftovers,
    said,
    tgz,
    wheel,
)


def spec(release: str, source: str = "") -> SubjectSpec:
    return SubjectSpec(label=release, release=release, source=source)


def get(release: str, cache: Path, run: Machine, **words: bool) -> ResolvedSubject:
    return resolve(spec(release), cache=cache, progress=Progress(), run=run, **words)


def on_npm(server: Registry, release: str) -> Machine:
    return Machine(npm={f"{release}-linux-x64": dist(server.tarball(release, tgz(codex_of(release))))})


def as_wheel(release: str) -> bytes:
    start = f"package/vendor/{TRIPLE}/"
    return wheel({name.replace(start, "codex_cli_bin/"): data for name, data in codex_of(release).items()})


def install_codex(monkeypatch: pytest.MonkeyPatch, folder: Path, release: str) -> None:
    folder.mkdir()
    binary = folder / "codex"
    binary.write_text(f"#!/bin/sh\necho codex-cli {release}")
    binary.chmod(0o755)
    monkeypatch.setattr(
        installed_package, "find", lambda: installed_package.InstalledPackage(release=release, binary=str(binary))
    )


def test_a_release_of_npm_is_a_subject_with_all_its_facts(server: Registry, cache: Path) -> None:
    found: Subject = get("0.136.0", cache, on_npm(server, "0.136.0"))
    assert isinstance(found, ResolvedSubject)
    assert (found.version, found.source, found.disagreement) == ("0.136.0", "npm", "")
    assert Path(found.binary).is_file()
    assert len(found.digest) == 64
    assert found.capabilities.bundled_bwrap
    assert set(found.provenance) == {"url", "integrity", "entry"}


def test_the_second_time_nothing_is_downloaded_and_nothing_is_started(server: Registry, cache: Path) -> None:
    first = get("0.136.0", cache, on_npm(server, "0.136.0"))
    nothing = Machine()
    assert get("0.136.0", cache, nothing, offline=True) == first
    assert nothing.commands == []
    assert len(server.asked) == 1


def test_pypi_is_asked_before_npm(server: Registry, cache: Path) -> None:
    run = on_npm(server, "0.136.0")
    run.pypi["0.136.0"] = download_info(server.wheel("0.136.0", as_wheel("0.136.0")))
    assert get("0.136.0", cache, run).source == "pypi"
    assert run.started("npm") == 0


def test_a_release_that_the_data_knows_as_npms_alone_costs_no_question_to_pip(
    server: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_releases, "known", lambda: {"0.136.0": known_releases.Known(npm=92)})
    run = on_npm(server, "0.136.0")
    assert get("0.136.0", cache, run).source == "npm"
    assert run.started("pip") == 0


def test_the_one_package_of_old_releases_is_found(server: Registry, cache: Path) -> None:
    archive = server.tarball("0.40.0", tgz({f"package/bin/codex-{TRIPLE}": b"#!/bin/sh\necho codex-cli 0.40.0"}))
    run = Machine(npm={"0.40.0": dist(archive)})
    assert get("0.40.0", cache, run).version == "0.40.0"
    assert run.started("npm") == 2


def test_the_installed_one_is_used_where_it_lies(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_codex(monkeypatch, tmp_path / "site", "0.163.0")
    run = Machine()
    found = get("0.163.0", cache, run, offline=True)
    assert (found.source, found.binary) == ("installed", str(tmp_path / "site" / "codex"))
    assert found.provenance == {"package": "openai-codex-cli-bin 0.163.0"}
    assert {command.argv[0] for command in run.commands} == {found.binary}


def test_the_cached_one_comes_before_the_installed_unless_that_one_was_asked_for(
    server: Registry, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = on_npm(server, "0.163.0")
    get("0.163.0", cache, run)
    install_codex(monkeypatch, tmp_path / "site", "0.163.0")
    assert get("0.163.0", cache, run).source == "npm"
    asked = resolve(spec("0.163.0", "installed"), cache=cache, progress=Progress(), run=run)
    assert asked.source == "installed"


def test_offline_names_what_is_cached(server: Registry, cache: Path) -> None:
    get("0.136.0", cache, on_npm(server, "0.136.0"))
    with pytest.raises(Unavailable, match=r"0\.137\.0") as caught:
        get("0.137.0", cache, Machine(), offline=True)
    assert caught.value.why == "cached: 0.136.0"


def test_a_release_that_does_not_exist_is_said_not_to(cache: Path) -> None:
    with pytest.raises(NotThere, match=r"9\.9\.9"):
        get("9.9.9", cache, Machine())
    assert leftovers(cache) == []


def test_a_release_whose_archive_is_missing_does_exist(server: Registry, cache: Path) -> None:
    run = on_npm(server, "9.9.9")
    server.put("/codex-9.9.9.tgz", b"", status=404)
    with pytest.raises(Unavailable, match=r"9\.9\.9") as caught:
        get("9.9.9", cache, run)
    assert f"({server.address}/codex-9.9.9.tgz): HTTP 404" in caught.value.why


def test_a_limit_that_is_none_is_said_before_the_download(
    server: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEXSANDBOX_CACHE_LIMIT", "lots")
    with pytest.raises(InputError, match="not a size"):
        get("0.136.0", cache, on_npm(server, "0.136.0"))
    assert server.asked == []


def test_a_wheel_that_its_index_does_not_give_is_got_from_npm(server: Registry, cache: Path) -> None:
    run = on_npm(server, "0.136.0")
    run.pypi["0.136.0"] = download_info(server.wheel("0.136.0", as_wheel("0.136.0")))
    server.put("/codex-0.136.0.whl", b"", status=403)
    assert get("0.136.0", cache, run).source == "npm"


def test_a_wheel_that_is_not_the_announced_one_ends_the_search(server: Registry, cache: Path) -> None:
    run = on_npm(server, "0.136.0")
    run.pypi["0.136.0"] = download_info(server.wheel("0.136.0", as_wheel("0.136.0")))
    server.put("/codex-0.136.0.whl", as_wheel("0.99.0"))
    with pytest.raises(CodexSandboxError, match="announced"):
        get("0.136.0", cache, run)
    assert run.started("npm") == 0
    assert leftovers(cache) == []


def test_without_npm_and_registry_the_three_ways_out_are_said(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npm, "command", lambda: "")
    monkeypatch.setattr(pip, "program", tuple)
    with pytest.raises(Unavailable, match=r"0\.114\.0") as caught:
        get("0.114.0", cache, Machine())
    assert all(one in caught.value.next_step for one in ("install npm", "npm_config_registry", "--codex-bin"))


def test_a_dead_network_is_reported_and_not_taken_for_absence(cache: Path) -> None:
    def run(command: Command) -> CommandResult:
        if command.argv[0] == "npm":
            return said('{"error": {"code": "ECONNREFUSED", "summary": "connect ECONNREFUSED"}}', code=1)
        return said(code=1, stderr="NewConnectionError: refused\nERROR: No matching distribution")

    with pytest.raises(NotReached, match=r"0\.140\.0") as caught:
        resolve(spec("0.140.0"), cache=cache, progress=Progress(), run=run)
    assert "ECONNREFUSED" in caught.value.why


def test_many_workers_at_once_download_it_once_and_get_the_same(server: Registry, cache: Path) -> None:
    run = on_npm(server, "0.136.0")
    found: list[ResolvedSubject] = []
    workers = [threading.Thread(target=lambda: found.append(get("0.136.0", cache, run))) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert len(found) == 8
    assert all(one == found[0] for one in found)
    assert len(server.asked) == 1
    assert leftovers(cache) == []


def test_a_binary_that_was_changed_in_the_cache_is_fetched_anew(server: Registry, cache: Path) -> None:
    run = on_npm(server, "0.136.0")
    first = get("0.136.0", cache, run)
    right = Path(first.binary).read_bytes()
    Path(first.binary).write_bytes(right[::-1])
    with pytest.raises(Unavailable, match=r"0\.136\.0"):
        get("0.136.0", cache, run, offline=True)
    assert Path(get("0.136.0", cache, run).binary).read_bytes() == right


def test_a_new_release_makes_room_for_itself_but_not_under_the_feet_of_this_run(
    server: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEXSANDBOX_CACHE_LIMIT", "1KB")
    first = get("0.136.0", cache, on_npm(server, "0.136.0"))
    second = get("0.137.0", cache, on_npm(server, "0.137.0"))
    assert Path(first.binary).is_file()
    for entry in Store(cache).entries():
        let_go(entry)
    monkeypatch.setenv("CODEXSANDBOX_CACHE_LIMIT", "1")
    third = get("0.138.0", cache, on_npm(server, "0.138.0"))
    assert [Path(one.binary).is_file() for one in (first, second, third)] == [False, False, True]


def test_a_release_that_is_not_what_was_measured_is_said_to_differ(
    server: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = Capabilities(
        version="0.136.0", sandbox="sandbox-linux", workspace_write="config", full_access=True, default_permissions=True
    )
    monkeypatch.setattr(known_releases, "capabilities", lambda: {"0.136.0": measured})
    found = get("0.136.0", cache, on_npm(server, "0.136.0"))
    assert "sandbox is 'sandbox', was 'sandbox-linux'" in found.disagreement


def test_a_release_that_calls_itself_otherwise_is_said_to_differ(server: Registry, cache: Path) -> None:
    archive = server.tarball("0.136.0", tgz(codex_of("0.99.0")))
    found = get("0.136.0", cache, Machine(npm={"0.136.0-linux-x64": dist(archive)}))
    assert found.disagreement == "version is '0.99.0', was '0.136.0'"


def test_a_path_is_used_as_it_is_and_compared_with_nothing(cache: Path, tmp_path: Path) -> None:
    binary = tmp_path / "codex"
    binary.write_text("#!/bin/sh\necho codex-cli 0.0.0")
    binary.chmod(0o755)
    mine = SubjectSpec(label="mine", path=str(binary), as_version="0.170.0", source="path")
    found = resolve(mine, cache=cache, progress=Progress(), run=Machine())
    assert (found.binary, found.version, found.source) == (str(binary), "0.0.0", "path")
    assert (found.spec.as_version, found.disagreement) == ("0.170.0", "")


def test_a_script_that_starts_another_codex_today_is_asked_again(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the launchers of version managers do: the script stays, and what it starts is replaced."""
    script = tmp_path / "codex"
    script.write_text("#!/bin/sh\nexec the-current-codex 0.118.0")
    script.chmod(0o755)
    mine = SubjectSpec(label="mine", path=str(script), source="path")
    machine = Machine()
    assert resolve(mine, cache=cache, progress=Progress(), run=machine).version == "0.118.0"
    count = len(machine.commands)
    assert resolve(mine, cache=cache, progress=Progress(), run=machine).version == "0.118.0"
    assert len(machine.commands) == count  # not twice by one process
    monkeypatch.setattr(binary_cache, "_asked", {})  # another process
    monkeypatch.setattr(machine, "codex", lambda words, text: Machine.codex(machine, words, "codex 0.169.0"))
    assert resolve(mine, cache=cache, progress=Progress(), run=machine).version == "0.169.0"


def test_a_build_that_is_replaced_while_it_is_asked_is_recorded_under_no_digest(cache: Path, tmp_path: Path) -> None:
    """Else the journal would name the old digest, with all that the new program does."""
    build = tmp_path / "codex"
    build.write_bytes(elf := b"\x7fELF\x02\x01" + bytes(12) + X86.machine.to_bytes(2, "little") + b" of today 0.117.0")
    build.chmod(0o755)

    class Rebuilding(Machine):
        def __call__(self, command: Command) -> CommandResult:
            build.write_bytes(elf.replace(b"0.117.0", b"0.118.0"))
            return super().__call__(command)

    mine = SubjectSpec(label="mine", path=str(build), source="path")
    with pytest.raises(HarnessError, match=re.escape(str(build))):
        resolve(mine, cache=cache, progress=Progress(), run=Rebuilding())
    assert resolve(mine, cache=cache, progress=Progress(), run=Machine()).version == "0.118.0"
    build.write_bytes(elf)
    assert resolve(mine, cache=cache, progress=Progress(), run=Machine()).version == "0.117.0", "nothing was noted"


def test_a_name_that_is_no_release_is_refused_before_anything_happens(cache: Path) -> None:
    with pytest.raises(InputError, match="'latest'"):
        get("latest", cache, Machine())
    assert not cache.exists()


def test_every_failure_can_travel_between_processes(cache: Path) -> None:
    import pickle

    with pytest.raises(CodexSandboxError) as caught:
        get("9.9.9", cache, Machine())
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), str(caught.value))
