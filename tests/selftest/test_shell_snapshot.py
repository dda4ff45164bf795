"""The shell that Codex starts for itself: it counts only where it was seen to run."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.commands.scratch_dir import workbench
from pytest_codexsandbox.commands.selftest import rehearsals, select
from pytest_codexsandbox.matrix import scenario_index
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.selftest import GOOD, Fake
from pytest_codexsandbox.selftest.fake import mutant

ASKED = {promise.id: promise for promise, _ in scenario_index.promises(data_folder("scenarios"))}
PROMISE = "process.shell-of-codex-is-confined"


@pytest.fixture(scope="module")
def rehearsed() -> Iterator[object]:
    pairs = select(PROMISE, scenario_index.promises(data_folder("scenarios")))
    with workbench("shell-snapshot") as folder, rehearsals(pairs, folder) as records_of:
        yield records_of


@pytest.mark.parametrize(
    ("fake", "verdict", "says"),
    [
        (GOOD, Verdict.CONFORMS, "outside missing"),
        (mutant("open", "has an open shell", PROMISE, flaws=("snapshot:open",)), Verdict.VIOLATES, "saw: outside file"),
        (
            mutant("none", "starts no shell", PROMISE, flaws=("snapshot:none",)),
            Verdict.BROKEN,
            "Codex's own shell: in the workspace missing",
        ),
        (mutant("unkept", "keeps none", PROMISE, flaws=("snapshot:unkept",)), Verdict.BROKEN, "file, snapshots 0"),
    ],
    ids=["confined", "open", "none", "unkept"],
)
def test_a_shell_that_was_not_seen_is_no_finding(rehearsed: object, fake: Fake, verdict: Verdict, says: str) -> None:
    assert callable(rehearsed)
    ((key, record),) = rehearsed(fake, "exec").items()
    assert (key.promise, record.verdict) == (PROMISE, verdict)
    assert says in record.reason


def test_no_other_door_is_asked(rehearsed: object) -> None:
    assert callable(rehearsed)
    assert [rehearsed(GOOD, door) for door in ("sandbox", "app-server")] == [{}, {}]


def test_a_shell_that_was_seen_in_the_workspace_has_tried_the_outside(tmp_path: Path) -> None:
    """Each write waits for its reader: a shell that wrote in the workspace first would wait for ever here."""
    (given, *_) = ASKED[PROMISE].acts["shell"].given
    script = given.content
    for word in ("OUTSIDE", "WORKSPACE"):
        (tmp_path / word).mkdir()
        os.mkfifo(tmp_path / word / "x-codex")
        script = script.replace(f"@{word}@", str(tmp_path / word))
    both = [str(tmp_path / word / "x-codex") for word in ("OUTSIDE", "WORKSPACE")]
    (tmp_path / "startup").write_text(script.replace("@NAME@", "x"))
    with subprocess.Popen(["sh", str(tmp_path / "startup")]) as shell:
        try:
            read = subprocess.run(["cat", *both], capture_output=True, timeout=20, check=True)
        finally:
            shell.kill()
    assert read.stdout == b"let through\nran\n"


def test_words_of_a_startup_file_are_no_snapshot(tmp_path: Path) -> None:
    script = ASKED[PROMISE].acts["shell"].params["argv"][-1].replace("@WORKSPACE@/@NAME@", str(tmp_path / "x"))
    (tmp_path / ".profile").write_text("echo welcome to this machine\n")

    def said() -> list[str]:
        env = {"PATH": os.defpath, "HOME": str(tmp_path), "CODEX_HOME": str(tmp_path)}
        ended = subprocess.run(["sh", "-lc", script], env=env, capture_output=True, text=True, timeout=20, check=True)
        return ended.stdout.splitlines()

    assert said() == ["welcome to this machine"]
    (tmp_path / "shell_snapshots").mkdir()
    (tmp_path / "shell_snapshots/a.sh").touch()
    assert said() == ["welcome to this machine", "kept-snapshot a.sh"]
