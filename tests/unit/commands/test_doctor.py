"""`codexsandbox doctor`: what is there, what is not, and the line that fixes it."""

from pathlib import Path

import pytest

from pytest_codexsandbox.commands import doctor
from pytest_codexsandbox.commands.doctor import _cache, of_backends, of_runs, of_start
from pytest_codexsandbox.commands.doctor_findings import as_text
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.harness import backends
from pytest_codexsandbox.model.doctor_finding import DoctorFinding
from pytest_codexsandbox.model.record import Diagnosis
from pytest_codexsandbox.model.sandbox_state import SandboxState


def test_a_sandbox_that_starts_is_a_yes_with_its_marks() -> None:
    found = of_start("read-only", lambda: SandboxState(state="on", why="own namespaces", by="bwrap"))
    assert (found.answer, found.why, found.needed) == ("yes", "bwrap, own namespaces", True)


def test_one_that_does_not_start_brings_cause_and_remedy() -> None:
    known = Diagnosis(fingerprint="userns-denied", cause="the kernel refuses", remedy="sysctl -w this=1")
    found = of_start("read-only", lambda: SandboxState(state="failed", why="it ended with 1", diagnosis=known))
    assert (found.answer, found.fix) == ("no", "sysctl -w this=1")
    assert "the kernel refuses" in found.why


def test_a_sandbox_that_is_off_or_unknown_is_a_no() -> None:
    for state in ("off", "unknown"):
        found = of_start("read-only", lambda state=state: SandboxState(state=state, why="no mark"))  # type: ignore[misc]
        assert found.answer == "no"
        assert found.fix


def test_a_machine_that_cannot_tell_is_a_no_without_a_traceback() -> None:
    def broken() -> SandboxState:
        raise HarnessError("the agent died", why="no memory", next_step="try again")

    found = of_start("read-only", broken)
    assert (found.answer, found.why, found.fix) == ("no", "the agent died; no memory", "try again")


def test_a_fix_is_shown_where_something_is_missing_only() -> None:
    there = DoctorFinding(what="Codex", answer="yes", why="0.163.0", fix="never shown")
    missing = DoctorFinding(what="sandbox, read-only, root", answer="no", why="word " * 60, fix="do this")
    shown = as_text((there, missing))
    assert "never shown" not in shown
    assert shown.splitlines()[-1].strip() == "fix       do this"
    assert all(len(line) <= 80 for line in shown.splitlines())  # what a terminal of unknown width is taken for


def test_a_cache_below_a_folder_that_may_not_be_looked_into_is_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    def stat(path: object, **words: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setenv("CODEXSANDBOX_CACHE", "/proc/closed/cache")
    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(Path, "is_dir", lambda path: True)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    found = _cache()
    assert found.answer == "no" and found.why.startswith("/proc/closed/cache ")


def test_the_disk_use_of_cache_and_runs_has_words_and_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CODEXSANDBOX_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "images").mkdir(parents=True)
    (tmp_path / "cache" / "images" / "x").write_bytes(b"x" * 3_000_000)
    found = _cache()
    assert found.disk_bytes is not None and 3_000_000 <= found.disk_bytes < 3_500_000
    assert "3.0 MB, of which 0 releases 0.0 MB" in found.why
    run = tmp_path / "reports" / "2026-01-01T00-00-00"
    run.mkdir(parents=True)
    (run / "journal.ndjson").write_text('{"line":"run","id":"2026-01-01T00-00-00"}\n' + " " * 2_000_000)
    found = of_runs(tmp_path / "reports")
    assert found.disk_bytes is not None and 2_000_000 <= found.disk_bytes < 2_500_000
    assert "1 run, 2.0 MB" in found.why and "sweep --runs" in found.why
    assert "no runs" in of_runs(tmp_path / "none").why


def test_in_a_container_a_sandbox_is_not_needed() -> None:
    found = of_start(
        "workspace-write",
        lambda: SandboxState(state="off", why="no mark"),
        kind="a container",
        where="debian-bookworm, open",
    )
    assert (found.answer, found.needed, found.why) == ("no", False, "debian-bookworm, open: no mark")


def test_an_engine_that_is_not_there_is_a_no_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    (found,) = of_backends(None)
    assert (found.what, found.answer, found.needed) == ("containers", "no", False)
    assert "does not answer" in found.why
    assert found.fix


def test_a_backend_without_its_package_is_a_no_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(group: str, name: str) -> object:
        raise ImportError("No module named 'docker'", name="docker.errors")

    monkeypatch.setattr(doctor, "names", lambda group: ("docker", "other"))
    monkeypatch.setattr(backends, "load_plugin", missing)
    first, second = of_backends(None)
    assert (first.what, first.answer, first.fix) == ("docker", "no", "pip install 'pytest-codexsandbox[docker]'")
    assert "No module named 'docker'" in first.why
    assert second.fix == "pip install docker"
