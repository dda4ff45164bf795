"""No report names the real paths of a run: not its folders, not the cache, not the user's home."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.selftest.fake_codex_script import write
from pytest_codexsandbox.selftest.fake_codexes import ALLOW_ALL
from tests.plugin.conftest import Done, Matrix

pytestmark = pytest.mark.live
USER = "quagga-the-user"
MINE = """
def test_is_refused(codex_sandbox):
    seen = codex_sandbox.run("touch", "@OUTSIDE@/x", looks=["@OUTSIDE@/x"])
    assert seen.code == 0, seen.stderr

def test_says_where_it_is(codex_sandbox):
    seen = codex_sandbox.run("sh", "-c", "pwd; pwd >&2; ln -s $PWD link; false", looks=["@WORKSPACE@/link"])
    assert seen.stdout == "@WORKSPACE@\\n"
    assert codex_sandbox.look(seen, "@WORKSPACE@/link").link == "@WORKSPACE@"
    assert seen.code == 0, seen.stderr

def test_fails_there(codex_sandbox):
    seen = codex_sandbox.run("sh", "-c", "cd @HOME@ && cat $PWD/nothing")
    assert seen.code == 0, vars(seen) if hasattr(seen, "__dict__") else repr(seen)
"""
FORMATS = ("--codex-report=html,markdown,json", "--junitxml=junit.xml", "--alluredir=allure", "-vv")


@pytest.fixture(scope="module")
def quagga(codex_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """A machine whose user, home and cache have names that nothing else has."""
    home = codex_cache / USER
    (home / ".cache").mkdir(parents=True)
    return Matrix(root=tmp_path_factory.mktemp("private"), home=home, cache=home / ".cache" / "zebra")


@pytest.fixture(scope="module", params=["codex", "allow-all"])
def run(request: pytest.FixtureRequest, quagga: Matrix, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    """The real Codex with tests of the user's own, and one without a sandbox with shipped promises."""
    if request.param == "codex":
        yield quagga.run("test_mine.py", *FORMATS, files={"test_mine.py": MINE}, plugins=("allure_pytest.plugin",))
    else:
        fake = write(tmp_path_factory.mktemp("fake"), ALLOW_ALL)
        only = "--codex-only=filesystem.outside-*,sqlite.wal-outside-*,process.*"
        yield quagga.run(only, f"--codex-bin={fake}", *FORMATS, plugins=("allure_pytest.plugin",))


def written(run: Done) -> dict[str, str]:
    """Everything that a reader may get of the run, by its name; of a repro script the comments."""
    folder = run.reports[0].parent
    found = {str(path): path.read_text(errors="replace") for path in (run.folder / "allure").rglob("*")}
    found |= {name: (folder / name).read_text() for name in ("index.html", "report.md", "report.json")}
    found |= {"junit.xml": (run.folder / "junit.xml").read_text(), "the screen": run.out}
    for script in folder.rglob("repro/*.sh"):
        found[script.name] = "\n".join(line for line in script.read_text().splitlines() if line.startswith("#"))
    for words in (("diagnose", folder), ("report", folder, "-v")):
        told = subprocess.run(
            [sys.executable, "-m", "pytest_codexsandbox", *map(str, words)], capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, told.stderr
        found[f"codexsandbox {words[0]}"] = told.stdout
    return found


def test_no_format_names_the_cache_the_run_or_the_user(run: Done, quagga: Matrix) -> None:
    assert run.code == 1, run.out
    places = run.journal.run.places
    folder = next(path for path, word in places.items() if word == "@RUN@")
    secrets = (str(quagga.cache), Path(folder).name, str(quagga.home), USER, "zebra")
    found = written(run)
    assert len([name for name in found if name.endswith(".sh")]) >= 2
    assert [(name, word) for name, text in found.items() for word in secrets if word in text] == []
    assert any("@OUTSIDE@" in text for text in found.values())


def test_a_refused_write_in_the_world_is_reported_as_refused(run: Done) -> None:
    causes = {key.promise: record.diagnosis for key, record in run.journal.states().items() if record.diagnosis}
    assert "home-state-refused" not in {one.fingerprint for one in causes.values()}, run.out
    if "user.test-mine-py-test-is-refused" in causes:
        assert causes["user.test-mine-py-test-is-refused"].fingerprint == "write-outside-roots"


def test_a_repro_script_of_it_still_runs(run: Done, quagga: Matrix) -> None:
    record = next(one for one in run.journal.states().values() if one.repro and one.direction)
    script = run.reports[0].parent / record.repro
    shown = subprocess.run(
        ["sh", str(script)], env=quagga.environment({}), capture_output=True, text=True, check=False, timeout=180
    )
    assert "== exit code" in shown.stdout, (shown.stdout, shown.stderr)
