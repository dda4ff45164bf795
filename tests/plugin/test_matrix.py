"""The first minute of a new user: one flag, the real Codex, a matrix that adds up."""

import os
import re

import pytest

from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.journal.store import read
from pytest_codexsandbox.model.policy import POLICIES, SANDBOXED
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.releases.known_releases import installed
from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
SHORT = ("--codex-only=filesystem.*,process.*",)


def test_the_whole_matrix_is_green_on_this_machine(matrix: Matrix) -> None:
    run = matrix.run("--codex-report=html,markdown,json")
    journal = run.journal
    counts = journal.counts()
    assert run.code == 0, run.out
    assert counts["broken"] == counts["violates"] == counts["blocked"] == counts["stale"] == 0
    assert counts["conforms"] > 150
    assert sum(counts.values()) == len(journal.plan.keys)
    assert journal.end is not None
    assert journal.end.exit == 0
    assert re.search(rf"{len(journal.plan.keys)} planned = {counts['conforms']} conforms", run.out)
    assert {path.name for path in run.reports[0].parent.iterdir()} >= {"index.html", "report.md", "report.json"}
    assert max(map(len, run.out.splitlines())) <= 200


def test_only_what_is_asked_for_is_planned_but_the_standing_checks_stay(matrix: Matrix) -> None:
    run = matrix.run("--codex-only=sqlite.*")
    states = run.journal.states()
    topics = {key.promise.partition(".")[0] for key in states}
    assert topics == {"start", "trust", "sqlite"}
    assert {key.policy for key in states if key.promise == "start.sandbox-is-on"} <= set(POLICIES)
    assert run.code == 0, run.out


def test_returned_items_are_not_counted_as_deselected(matrix: Matrix) -> None:
    run = matrix.run("-k", "exit_code", "--codex-only=process.exit-code-kept,process.stdin-arrives,workspace-write")
    found = re.search(r"collected (\d+) items / (\d+) deselected / (\d+) selected", run.out)
    assert found, run.out
    collected, deselected, selected = map(int, found.groups())
    assert (selected, deselected) == (len(run.journal.plan.keys), collected - selected)
    assert f"{selected} passed, {deselected} deselected" in run.out


@pytest.mark.parametrize("words", [("-k", "exit"), ("--lf",), ("-k", "exit", "-x"), ("-k", "start")])
def test_pytests_own_selection_cannot_drop_the_standing_checks(matrix: Matrix, words: tuple[str, ...]) -> None:
    run = matrix.run("--codex-only=process.*", *words)
    states = run.journal.states()
    places = {(key.cell, key.door, key.policy) for key in states}
    for promise in ("start.sandbox-is-on", "trust.control-and-canaries"):
        assert {(key.cell, key.door, key.policy) for key in states if key.promise == promise} == places
    assert run.code == 0, run.out


@pytest.mark.parametrize("part", ["", "/test_codex_start.py", "/test_codex_start.py::{one}"])
def test_paths_cannot_leave_out_a_part_of_the_standing_checks(matrix: Matrix, part: str) -> None:
    """They name the start checks, or one of them: then the canaries and the other starts come all the same."""
    policy = "workspace-write-network"
    codex = installed()
    assert codex is not None
    cell = f"{this_machine().id}~codex-{codex.label}"
    one = f"test_the_sandbox_starts_and_is_really_on[{cell}-sandbox-{policy}]"
    start = f"{data_folder('scenarios')}/start{part.format(one=one)}"
    run = matrix.run(start, str(data_folder("scenarios") / "filesystem" / "test_codex_outside.py"))
    states = run.journal.states()
    places = {(key.cell, key.door, key.policy) for key in states}
    assert len(places) >= len(SANDBOXED), run.out
    for promise in ("start.sandbox-is-on", "trust.control-and-canaries"):
        assert {(key.cell, key.door, key.policy) for key in states if key.promise == promise} == places, promise
    assert run.code == 0, run.out


def test_k_knows_the_names_that_stand_in_the_matrix(matrix: Matrix) -> None:
    run = matrix.run("-k", "stdin-arrives", "--codex-only=process.*,workspace-write")
    assert run.code == 0, run.out
    wanted = {"start.sandbox-is-on", "trust.control-and-canaries", "process.stdin-arrives"}
    assert {key.promise for key in run.journal.plan.keys} == wanted


def test_a_glob_that_matches_nothing_is_an_error_that_says_what_exists(matrix: Matrix) -> None:
    run = matrix.run("--codex-only=sqlit.*")
    assert run.code == 4
    assert "sqlit.*" in run.out
    assert "sqlite" in run.out
    assert run.reports == []


def test_in_every_sandboxed_policy_the_sandbox_was_on(matrix: Matrix) -> None:
    states = matrix.run(*SHORT).journal.states()
    starts = {key.policy: record for key, record in states.items() if key.promise == "start.sandbox-is-on"}
    for policy in SANDBOXED:
        assert starts[policy].verdict is Verdict.CONFORMS
        assert "namespace" in starts[policy].evidence[0].saw or "seccomp" in starts[policy].evidence[0].saw
    if "danger-full-access" in starts:
        assert starts["danger-full-access"].verdict is Verdict.UNCONFINED


def test_strict_accepts_full_access_that_was_asked_for(matrix: Matrix) -> None:
    run = matrix.run("--codex-strict", "--codex-only=process.success-is-zero")
    assert run.journal.counts()["unconfined"], run.out
    assert run.code == 0, run.out


def test_a_users_own_test_runs_commands_through_the_real_codex(matrix: Matrix) -> None:
    text = """
        import pytest

        @pytest.mark.codex(policies=("workspace-write", "read-only"))
        def test_mine(codex_sandbox):
            seen = codex_sandbox.run("sh", "-c", "echo x > made", looks=["@WORKSPACE@/made"])
            made = codex_sandbox.look(seen, "@WORKSPACE@/made").kind == "file"
            assert made == (codex_sandbox.policy == "workspace-write")

        def test_not_ours():
            pass
    """
    import textwrap

    files = {"test_mine.py": textwrap.dedent(text)}
    for words, active in (((), False), (("test_mine.py",), True)):
        run = matrix.run(*words, files=files, matrix=active)
        states = run.journal.states()
        mine = {key.policy: record for key, record in states.items() if key.promise.startswith("user.")}
        assert {policy: record.verdict for policy, record in mine.items()} == {
            "workspace-write": Verdict.CONFORMS,
            "read-only": Verdict.CONFORMS,
        }, run.out
        assert {key.promise for key in states} >= {"start.sandbox-is-on", "trust.control-and-canaries"}
        assert run.code == 0, run.out
        assert ("1 deselected" in run.out) == active


def test_a_users_failing_assertion_is_a_violation(matrix: Matrix) -> None:
    text = "def test_mine(codex_sandbox):\n    assert codex_sandbox.run('touch', '@OUTSIDE@/x').code == 0\n"
    files = {"test_mine.py": text}
    run = matrix.run(files=files, matrix=False)
    mine = next(record for key, record in run.journal.states().items() if key.promise.startswith("user."))
    assert mine.verdict is Verdict.VIOLATES
    assert run.code == 1


def test_a_report_folder_whose_name_is_no_utf_8(matrix: Matrix) -> None:
    """Its bytes are what it is, also where nobody can say them."""
    name = os.fsdecode(b"reports-\xff")
    run = matrix.run(f"--codex-report-dir={name}", "--codex-report=html,markdown,json", *SHORT)
    assert run.code == 0, run.out
    (journal,) = run.folder.glob(f"{name}/*/journal.ndjson")
    assert read(journal).end is not None
    assert {path.name for path in journal.parent.iterdir()} >= {"index.html", "report.md", "report.json"}
