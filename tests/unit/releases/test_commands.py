"""`codexsandbox cache` and `codexsandbox capabilities`, as a person types them."""

import json
import re
from pathlib import Path

import pytest

from pytest_codexsandbox import cli
from pytest_codexsandbox.commands import capabilities
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.releases import known_releases
from pytest_codexsandbox.releases.locks import let_go, use_lock
from pytest_codexsandbox.releases.resolve import resolve as real_resolve
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.system.progress import Progress
from tests.unit.releases.builders import Machine, Registry, age, codex_of, dist, tgz
from tools import capability_snapshot


@pytest.fixture
def warm(server: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two releases in the cache, and a `resolve` on whose machine nothing starts."""
    npm = {f"{name}-linux-x64": dist(server.tarball(name, tgz(codex_of(name)))) for name in ("0.136.0", "0.145.0")}
    run = Machine(npm=npm)
    for release in ("0.136.0", "0.145.0"):
        spec = SubjectSpec(label=release, release=release)
        real_resolve(spec, cache=cache, progress=Progress(), run=run)
    for number, entry in enumerate(Store(cache).entries()):
        let_go(entry)
        age(use_lock(entry), 1_700_000_000 + number)

    def resolve(*words: object, **named: object) -> object:
        return real_resolve(*words, run=run, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(capabilities, "resolve", resolve)
    return run


@pytest.mark.usefixtures("warm")
def test_the_list_shows_what_is_there_and_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cache", "list"]) == 0
    out = capsys.readouterr().out
    assert "0.136.0" in out
    assert "of 10,000 MB in" in out
    assert cli.main(["cache", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["entries"]
    assert sorted(row["releases"][0] for row in rows) == ["0.136.0", "0.145.0"]
    assert [row["last_used"] for row in rows] == ["2023-11-14T22:13:20+00:00", "2023-11-14T22:13:21+00:00"]


def test_a_cache_that_cannot_be_read_is_not_called_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CODEXSANDBOX_CACHE", str(tmp_path / "file"))
    for words in (("cache", "list"), ("cache", "prune"), ("sweep",), ("sweep", "--dry-run")):
        assert cli.main([*words]) == 4
        assert str(tmp_path / "file") in capsys.readouterr().err
    monkeypatch.setenv("CODEXSANDBOX_CACHE", str(tmp_path / "none"))
    assert cli.main(["cache", "list"]) == 0


@pytest.mark.usefixtures("warm")
def test_pruning_frees_what_is_over_the_limit_and_says_what(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cache", "prune"]) == 0
    assert "freed 0 MB" in capsys.readouterr().out
    assert len(Store(cache).entries()) == 2
    assert cli.main(["cache", "prune", "--all"]) == 0
    out = capsys.readouterr().out
    assert "removed  0.136.0" in out
    assert "removed  0.145.0" in out
    assert Store(cache).entries() == ()


@pytest.mark.usefixtures("warm")
def test_a_dry_run_says_the_same_and_removes_nothing(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, half = Store(cache), cache / "staging" / "0.137.0~x86_64.2"
    half.mkdir(parents=True)
    before = [(entry, store.last_used(entry)) for entry in store.entries()]
    assert cli.main(["cache", "prune", "--all", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert [(entry, store.last_used(entry)) for entry in store.entries()] == before
    assert half.is_dir()
    assert cli.main(["cache", "prune", "--all"]) == 0
    assert told == capsys.readouterr().out.replace("removed", "would remove").replace("freed", "would free")
    assert "0.136.0" in told and str(half) in told
    assert not half.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["list", "--all"],
        ["list", "--dry-run"],
        ["prune", "--all", "--limit", "1GB"],
        ["prune", "--limit", "much"],
        ["prune", "--json"],
    ],
)
def test_contradictions_and_nonsense_are_wrong_input(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cache", *words]) == 4
    assert capsys.readouterr().err.startswith("codexsandbox: ")


@pytest.mark.usefixtures("warm")
def test_capabilities_of_all_that_is_here_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["capabilities"]) == 0
    out = capsys.readouterr().out
    assert out.index("0.136.0  (npm") < out.index("0.145.0  (npm")
    assert cli.main(["capabilities", "0.136.0", "--json", "--offline"]) == 0
    assert json.loads(capsys.readouterr().out)["0.136.0"]["capabilities"]["sandbox"] == "sandbox"


def test_an_empty_cache_says_what_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["capabilities"]) == 0
    assert "codexsandbox capabilities 0.163.0" in capsys.readouterr().out


@pytest.mark.usefixtures("warm")
def test_a_disagreement_with_golden_data_is_an_error_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Capabilities(
        version="0.136.0", sandbox="none", workspace_write="config", full_access=True, default_permissions=True
    )
    monkeypatch.setattr(known_releases, "capabilities", lambda: {"0.136.0": other})
    assert cli.main(["capabilities", "0.136.0"]) == 1
    assert re.search(r"0\.136\.0 .*: sandbox is 'sandbox', was 'none'", capsys.readouterr().err)


@pytest.mark.usefixtures("warm")
def test_the_tool_adds_to_the_golden_data_and_a_second_time_changes_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "capabilities.toml"
    monkeypatch.setattr(known_releases, "golden", lambda: file)
    monkeypatch.setattr(known_releases, "capabilities", dict)
    assert capability_snapshot.add(["0.136.0", "0.145.0"], cache) == ["0.136.0", "0.145.0"]
    first = file.read_text()
    assert '["0.136.0"]\nsandbox = "sandbox"\n' in first
    capability_snapshot.add(["0.145.0", "0.136.0"], cache)
    assert file.read_text() == first


def test_known_releases_are_listed_without_a_network(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_releases, "known", lambda: {"0.136.0": known_releases.Known(npm=92, pypi=90)})
    assert cli.main(["capabilities", "--list"]) == 0
    assert capsys.readouterr().out == "0.136.0    npm 92 MB, PyPI 90 MB\n"


@pytest.mark.parametrize("name", ["cache", "capabilities"])
def test_help_teaches_with_lines_to_paste(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([name, "--help"])
    assert caught.value.code == 0
    assert f"codexsandbox {name}" in capsys.readouterr().out.partition("examples:")[2]
