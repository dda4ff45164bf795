"""Dropped results are named, with their number and the plugin that dropped them; --codex-strict fails."""

import pytest

from tests.plugin.conftest import Done, Matrix

pytestmark = pytest.mark.live
PAIR = ("process.success-is-zero", "process.exit-code-kept")
ONLY = f"--codex-only={','.join(PAIR)}"
GONE = "process.exit-code-kept"
SLICES = """
import pytest

@pytest.hookimpl({when})
def pytest_collection_modifyitems(config, items):
    gone = [item for item in items if "process.exit-code-kept" in item.extra_keyword_matches]
    items[:] = [item for item in items if item not in gone]
    {more}
"""


def dropped(run: Done) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in run.journal.plan.not_planned:
        if one.kind == "deselected":
            found.setdefault(one.why, []).append(one.what)
    return found


def conftest(when: str = "", more: str = "pass") -> dict[str, str]:
    return {"conftest.py": SLICES.format(when=when, more=more)}


@pytest.mark.parametrize(
    ("words", "files", "who"),
    [
        (("-k", "not exit-code-kept"), {}, "-k not exit-code-kept"),
        ((), conftest(), "conftest.py"),
        ((), conftest("trylast=True"), "conftest.py"),
        ((), conftest(more="config.hook.pytest_deselected(items=gone)"), "conftest.py"),
    ],
    ids=["-k", "a conftest", "a conftest that comes last", "a conftest that tells pytest"],
)
def test_each_dropped_result_is_named(matrix: Matrix, words: tuple[str, ...], files: dict[str, str], who: str) -> None:
    run = matrix.run(ONLY, *words, files=files)
    assert run.code == 0, run.out
    ((why, whats),) = dropped(run).items()
    assert whats == [GONE], whats
    assert why == f"1 result dropped by {who}"
    assert f"not planned, {why}: {GONE}" in " ".join(run.out.split())


def test_a_strict_run_fails_over_it(matrix: Matrix) -> None:
    run = matrix.run(ONLY, "--codex-strict", files=conftest())
    assert run.code == 1, run.out
    assert "conftest.py" in run.out.partition("exit 1: strict: ")[2]


def test_a_part_of_a_promise_is_counted(matrix: Matrix) -> None:
    run = matrix.run(ONLY, "-k", "read-only")
    assert run.code == 0, run.out
    ((why, whats),) = dropped(run).items()
    assert why.endswith(" by -k read-only")
    assert "start.sandbox-is-on (5 of 6)" in whats and "process.success-is-zero (5 of 6)" in whats, whats


def test_workers_say_the_same(matrix: Matrix) -> None:
    run = matrix.run(ONLY, "-n2", "-k", "not exit-code-kept", plugins=("xdist.plugin",))
    assert run.code == 0, run.out
    ((why, whats),) = dropped(run).items()
    assert whats == [GONE] and why.endswith(" by -k not exit-code-kept")


def test_workers_accuse_only_a_plugin_that_may_have_dropped_it(matrix: Matrix) -> None:
    run = matrix.run(ONLY, "-n2", files=conftest(), plugins=("xdist.plugin", "allure_pytest.plugin"))
    assert run.code == 0, run.out
    ((why, whats),) = dropped(run).items()
    assert why.startswith("1 ") and why.endswith(" conftest.py") and whats == [GONE]


def test_tests_of_the_users_own_are_named_too(matrix: Matrix) -> None:
    mine = """
def test_one(codex_sandbox):
    assert codex_sandbox.run("true").code == 0

def test_two(codex_sandbox):
    assert codex_sandbox.run("false").code == 0
"""
    words = ("--codex-strict", "test_mine.py", "--deselect", "test_mine.py::test_two")
    run = matrix.run(*words, files={"test_mine.py": mine}, matrix=False)
    assert run.code == 1, run.out
    ((why, whats),) = dropped(run).items()
    assert why.startswith("1 ") and why.endswith(" by --deselect test_mine.py::test_two")
    assert whats == ["user.test-mine-py-test-two"]


def test_a_conftest_beside_the_users_own_tests_is_named(matrix: Matrix) -> None:
    """pytest loads it while it collects: its wrapper is then the outermost."""
    drops = """
import pytest

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if "test_two" not in item.name]
    return (yield)
"""
    mine = """
def test_one(codex_sandbox):
    assert codex_sandbox.run("true").code == 0

def test_two(codex_sandbox):
    assert codex_sandbox.run("false").code == 0
"""
    files = {"below/conftest.py": drops, "below/test_mine.py": mine}
    run = matrix.run("--codex-strict", "-p", "no:randomly", files=files, matrix=False)
    assert run.code == 1, run.out
    ((why, whats),) = dropped(run).items()
    assert why.startswith("1 ") and why.endswith(" below/conftest.py")
    assert whats == ["user.below-test-mine-py-test-two"]


def test_nothing_is_said_where_nothing_is_dropped(matrix: Matrix) -> None:
    run = matrix.run(ONLY, "-p", "no:randomly")
    assert run.code == 0 and dropped(run) == {}, run.out


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["one process", "two workers"])
def test_start_checks_that_are_selected_by_name_run_under_every_policy(
    matrix: Matrix, workers: tuple[str, ...]
) -> None:
    """The other promise has one policy. Start checks of the other policies depend on no result of it."""
    only = "--codex-only=start.sandbox-is-on,filesystem.workspace-read-only"
    run = matrix.run(only, "--codex-strict", "-p", "no:randomly", *workers, plugins=("xdist.plugin",))
    assert (run.code, dropped(run)) == (0, {}), run.out
    started = [key.policy for key in run.journal.plan.keys if key.promise == "start.sandbox-is-on"]
    assert len(started) == len(set(started)) == 6, started


def test_start_checks_that_are_selected_by_name_follow_the_keyword(matrix: Matrix) -> None:
    only = "--codex-only=start.sandbox-is-on,filesystem.workspace-read-only"
    run = matrix.run(only, "-k", "workspace-read-only")
    assert run.code == 0, run.out
    ((why, whats),) = dropped(run).items()
    assert why.endswith(" by -k workspace-read-only") and "start.sandbox-is-on (5 of 6)" in whats, (why, whats)
