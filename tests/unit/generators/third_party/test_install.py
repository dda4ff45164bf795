"""A tool comes whole into the cache, once, or one error says why and nothing is left."""

import shutil
import threading
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.errors import CodexSandboxError, InputError, Unavailable
from pytest_codexsandbox.generators.third_party.install import InstalledTool, forecast_of, install, ready
from pytest_codexsandbox.generators.third_party.package import package_of
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.generator import Declaration
from pytest_codexsandbox.releases.locks import let_go
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.system.download import NotReached, NotThere
from tests.unit.generators.third_party.builders import TOOL, WHEEL, Fails, Npm, Pip, everything_below, npm_error
from tests.unit.releases.builders import Heard


def never(command: Command) -> CommandResult:
    raise AssertionError(f"started {command.argv}")


def lock_of(declaration: Declaration, text: str) -> Path:
    package = package_of(declaration)
    assert package is not None
    package.lock().parent.mkdir(parents=True, exist_ok=True)
    package.lock().write_text(text)
    return package.lock()


# ---- what it comes to
def test_a_tool_of_npm_is_started_by_node(cache: Path) -> None:
    heard = Heard()
    found = install(TOOL, cache, run=Npm(), progress=heard)
    program = f"{found.folder}/node_modules/@some/tool/dist/tool.js"
    assert found.commands == {"tool": ("/usr/bin/node", program), "node": ("/usr/bin/node",)}
    assert Path(program).read_text() == "console.log('tool')\n"
    assert found.shown == (found.folder,)
    assert heard.lines == ["installing @some/tool 1.2.3 from npm"]


def test_a_program_without_a_name_is_called_as_its_package(cache: Path) -> None:
    assert "tool" in install(TOOL, cache, run=Npm(bins="dist/tool.js")).commands


def test_a_tool_of_pypi_is_started_by_the_base_python_and_finds_itself(cache: Path) -> None:
    found = install(WHEEL, cache, run=Pip())
    assert set(found.commands) == {"some-tool", "python"}
    assert found.commands["some-tool"][1] == f"{found.folder}/bin/some-tool"
    assert found.env["PYTHONPATH"] == found.folder
    assert found.env["PYTHONDONTWRITEBYTECODE"] == "1"


def test_files_of_the_installers_are_not_in_it(cache: Path) -> None:
    found = install(TOOL, cache, run=Npm())
    assert not [path for path in Path(found.folder).rglob("*") if "kept" in path.name]
    assert not any((cache / "staging").iterdir())


def test_no_script_runs_and_nothing_of_the_users_is_written(cache: Path) -> None:
    npm_run, pip_run = Npm(), Pip()
    install(TOOL, cache, run=npm_run)
    install(WHEEL, cache, run=pip_run)
    assert {"--ignore-scripts", "--no-bin-links"} <= set(npm_run.asked[0].argv)
    for name in ("npm_config_cache", "npm_config_prefix", "TMPDIR"):
        assert Path(npm_run.asked[0].env[name]).is_relative_to(cache / "staging"), name
    argv = pip_run.asked[0].argv
    assert {"--no-cache-dir", "--only-binary"} <= set(argv)
    assert Path(argv[argv.index("--target") + 1]).is_relative_to(cache / "staging")


def test_with_a_lock_nothing_is_resolved_anew(cache: Path) -> None:
    lock_of(TOOL, '{"lockfileVersion": 3}')
    text = lock_of(WHEEL, "some-tool==2.0\n")
    npm_run, pip_run = Npm(), Pip()
    found = install(TOOL, cache, run=npm_run)
    install(WHEEL, cache, run=pip_run)
    assert npm_run.asked[0].argv[1] == "ci"
    assert (Path(found.folder) / "package-lock.json").read_text() == '{"lockfileVersion": 3}'
    assert found.facts["lock"].startswith("lock sha256:")
    argv = pip_run.asked[0].argv
    assert argv[argv.index("--constraint") + 1] == str(text)


def test_without_a_lock_npm_resolves(cache: Path) -> None:
    run = Npm()
    assert install(TOOL, cache, run=run).facts["lock"] == ""
    assert run.asked[0].argv[1] == "install"


def test_without_an_installation_no_tool_starts(cache: Path) -> None:
    assert (
        install(Declaration(name="codex", run="cmd:codex features enable goals"), cache, run=never) == InstalledTool()
    )
    assert not cache.exists()


# ---- once
def test_an_installed_tool_is_not_fetched_again_even_without_a_network(cache: Path) -> None:
    first = install(TOOL, cache, run=Npm())
    assert install(TOOL, cache, run=never, offline=True) == first


def test_many_at_once_bring_it_once(cache: Path) -> None:
    run, found = Npm(), []
    threads = [threading.Thread(target=lambda: found.append(install(TOOL, cache, run=run))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(run.asked) == 1
    assert len(found) == 6
    assert len({one.folder for one in found}) == 1


def test_offline_it_must_be_here_already(cache: Path) -> None:
    with pytest.raises(Unavailable, match=r"@some/tool 1\.2\.3 .* cache"):
        install(TOOL, cache, run=never, offline=True)


@pytest.mark.parametrize("spoil", ["change", "remove", "shorten"])
def test_an_installation_that_was_changed_is_brought_anew(cache: Path, spoil: str) -> None:
    program = Path(install(TOOL, cache, run=Npm()).commands["tool"][1])
    other = program.parent.parent / "package.json"
    if spoil == "change":
        program.write_text("console.log('evil')\n")  # of the same length
    elif spoil == "remove":
        other.unlink()
    else:
        other.write_text("{}")
    run = Npm()
    again = install(TOOL, cache, run=run)
    assert len(run.asked) == 1
    assert Path(again.commands["tool"][1]).read_text() == "console.log('tool')\n"


def test_a_tool_fetched_by_other_versions_is_fetched_anew(cache: Path) -> None:
    lock_of(TOOL, '{"lockfileVersion": 3}')
    old = install(TOOL, cache, run=Npm())
    lock_of(TOOL, '{"lockfileVersion": 3, "packages": {}}')
    run = Npm()
    new = install(TOOL, cache, run=run)
    assert len(run.asked) == 1
    assert new.facts["lock"] != old.facts["lock"]
    assert Path(old.folder).is_dir()  # somebody may be at work with it
    assert install(TOOL, cache, run=never) == new


# ---- or not at all
@pytest.mark.parametrize(
    ("code", "summary", "kind", "words"),
    [
        ("E404", "404 Not Found - GET https://r/none", NotThere, "npm has no @some/tool 1.2.3"),
        ("ETARGET", "No matching version found for dep@^9", NotThere, "dep@"),
        ("ENOTFOUND", "request to https://r failed, getaddrinfo", NotReached, "cannot be installed"),
        ("ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:9", NotReached, "cannot be installed"),
        ("E503", "503 Service Unavailable", NotReached, "cannot be installed"),
        ("E401", "401 Unauthorized", Unavailable, "cannot be installed"),
        ("EINTEGRITY", "sha512-a integrity checksum failed", CodexSandboxError, "not the ones that the registry"),
        ("ENOSPC", "no space left on device", CodexSandboxError, "CODEXSANDBOX_CACHE"),
        ("EBADENGINE", "Unsupported engine", Unavailable, "cannot be installed"),
    ],
)
def test_an_error_of_npm_becomes_one_error_and_leaves_no_file(
    cache: Path, code: str, summary: str, kind: type[CodexSandboxError], words: str
) -> None:
    with pytest.raises(kind, match=words) as told:
        install(TOOL, cache, run=Fails(stdout=npm_error(code, summary)))
    assert type(told.value) is kind
    assert summary.split()[0] in told.value.why or kind is CodexSandboxError
    assert everything_below(cache) == []


@pytest.mark.parametrize("declaration", [TOOL, WHEEL], ids=["npm", "pip"])
@pytest.mark.parametrize(
    "how",
    [
        {"ended": "timeout", "exit": 0},
        {"ended": "signal", "signal": 9},
        {"ended": "not-started", "error": "no such file"},
        {"stdout": b"\xff\xfe not JSON", "stderr": b"\xff broken"},
        {"stdout": b"[]"},
        {"stdout": b'{"error": "a word"}'},
    ],
)
def test_an_installer_that_fails_in_any_way_leaves_nothing(
    cache: Path, declaration: Declaration, how: dict[str, object]
) -> None:
    with pytest.raises(Unavailable):
        install(declaration, cache, run=Fails(**how))
    assert everything_below(cache) == []
    with pytest.raises(Unavailable):
        install(declaration, cache, run=never, offline=True)


def test_after_a_failure_the_next_try_succeeds(cache: Path) -> None:
    with pytest.raises(Unavailable):
        install(TOOL, cache, run=Fails(stdout=npm_error("ENOTFOUND", "no network")))
    assert install(TOOL, cache, run=Npm()).folder


def test_a_package_that_pip_does_not_find_is_reported_by_its_name(cache: Path) -> None:
    said = b"ERROR: No matching distribution found for some-tool==2.0\n"
    with pytest.raises(NotThere, match=r"some-tool 2\.0") as caught:
        install(WHEEL, cache, run=Fails(stderr=said))
    assert "pydantic" not in str(caught.value)
    with pytest.raises(NotThere, match="pydantic"):
        install(WHEEL, cache, run=Fails(stderr=said.replace(b"some-tool==2.0", b"pydantic>=9")))


def test_a_full_disk_is_reported(cache: Path) -> None:
    with pytest.raises(CodexSandboxError, match="CODEXSANDBOX_CACHE"):
        install(WHEEL, cache, run=Fails(stderr=b"OSError: [Errno 28] No space left on device\n"))


def test_a_link_in_a_package_is_refused_and_not_followed(cache: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")

    def link(place: Path) -> None:
        (place / "node_modules/link").symlink_to(secret)

    with pytest.raises(CodexSandboxError, match="link"):
        install(TOOL, cache, run=Npm(then=link))
    assert everything_below(cache) == []


def test_a_package_without_end_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_codexsandbox.generators.third_party.install._MOST_BYTES", 10)
    with pytest.raises(CodexSandboxError, match="too large"):
        install(TOOL, cache, run=Npm())
    assert everything_below(cache) == []


def test_a_disk_without_room_is_seen_before_anything_starts(cache: Path) -> None:
    with pytest.raises(CodexSandboxError, match="CODEXSANDBOX_CACHE"):
        install(msgspec.structs.replace(TOOL, megabytes=10**9), cache, run=never)


def test_without_npm_it_says_so(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Unavailable, match="npm"):
        install(TOOL, cache, run=never)


class Node:
    """Says its version, and nothing else is ever started."""

    def __init__(self, said: bytes) -> None:
        self.said = said

    def __call__(self, command: Command) -> CommandResult:
        assert command.argv == ("/usr/bin/node", "--version")
        return CommandResult(ended="exit", stdout=self.said)


@pytest.mark.parametrize("said", [b"v18.19.0\n", b"", b"no version"])
def test_a_node_that_is_too_old_for_a_tool_is_reported_before_any_download(cache: Path, said: bytes) -> None:
    with pytest.raises(Unavailable, match=r"Node\.js >=20"):
        install(msgspec.structs.replace(TOOL, node=">=20"), cache, run=Node(said))
    assert not cache.exists()


def test_a_node_that_it_runs_with_is_no_hindrance(cache: Path) -> None:
    install(TOOL, cache, run=Npm())
    wanting = msgspec.structs.replace(TOOL, node=">=20")
    assert install(wanting, cache, run=Node(b"v22.1.0\n")).folder


def test_a_range_that_is_none_is_a_wrong_declaration(cache: Path) -> None:
    with pytest.raises(InputError, match="node = 'new'"):
        install(msgspec.structs.replace(TOOL, node="new"), cache, run=never)


def test_a_wrong_limit_is_said_before_the_download(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEXSANDBOX_CACHE_LIMIT", "much")
    with pytest.raises(InputError, match="not a size"):
        install(TOOL, cache, run=never)


# ---- in the cache
def test_the_cache_knows_it_by_its_name_and_no_release_of_codex_is_called_so(cache: Path) -> None:
    install(TOOL, cache, run=Npm())
    store = Store(cache)
    assert [store.names(entry) for entry in store.entries()] == [("@some/tool@1.2.3",)]
    assert store.releases() == ()


def test_pruning_leaves_used_tools_and_removes_unused_ones(cache: Path) -> None:
    found = install(TOOL, cache, run=Npm())
    store = Store(cache)
    (entry,) = store.entries()
    assert store.prune(0) == ()
    let_go(entry)
    assert store.prune(0) == (entry,)
    assert not Path(found.folder).exists()


# ---- put to work
def test_the_first_word_is_replaced_by_what_was_brought(cache: Path) -> None:
    found = install(TOOL, cache, run=Npm())
    program = found.commands["tool"][1]
    made = ready(TOOL, found)
    assert made.run == f"cmd:/usr/bin/node {program} add demo --to @CONFIG@"
    assert made.installed == (found.folder,)
    assert made.env == {"A": "b"}


def test_a_folder_with_a_space_stays_one_word() -> None:
    found = InstalledTool(folder="/c d", commands={"tool": ("/usr/bin/node", "/c d/tool.js")})
    assert ready(TOOL, found).run == "cmd:/usr/bin/node '/c d/tool.js' add demo --to @CONFIG@"


def test_a_launch_stays_a_launch_and_its_own_words_come_first(cache: Path) -> None:
    found = install(WHEEL, cache, run=Pip())
    made = ready(msgspec.structs.replace(WHEEL, env={"PYTHONPATH": "/mine"}), found)
    assert made.run == f'launch:{found.commands["python"][0]} -c "import tool"'
    assert made.env["PYTHONPATH"] == "/mine"


def test_a_command_without_a_scheme_is_a_command() -> None:
    found = InstalledTool(folder="/c", commands={"tool": ("/usr/bin/node", "/c/tool.js")})
    assert ready(msgspec.structs.replace(TOOL, run="tool"), found).run == "cmd:/usr/bin/node /c/tool.js"


def test_an_unknown_program_is_reported_with_the_known_ones(cache: Path) -> None:
    found = install(TOOL, cache, run=Npm())
    with pytest.raises(InputError, match="'other'") as told:
        ready(msgspec.structs.replace(TOOL, run="cmd:other x"), found)
    assert "tool" in told.value.why


def test_without_an_installation_a_declaration_is_unchanged() -> None:
    assert ready(TOOL, InstalledTool()) is TOOL


# ---- planned
def test_a_plan_says_what_would_be_brought_and_starts_nothing(cache: Path) -> None:
    assert forecast_of(TOOL, cache).megabytes == 1
    assert forecast_of(TOOL, cache).source == "npm"
    assert not cache.exists()
    install(TOOL, cache, run=Npm())
    assert forecast_of(TOOL, cache).cached
    assert forecast_of(Declaration(run="cmd:codex"), cache).cached


def test_a_plan_says_what_cannot_be_brought_here(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "node" in forecast_of(TOOL, cache).why_not
