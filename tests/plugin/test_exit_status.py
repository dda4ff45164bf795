"""The screen, the journal's `end` and `$?` are one number, whatever another plugin makes of the exit status."""

import re
from pathlib import Path

import pytest

from pytest_codexsandbox.reports.headlines import incomplete
from pytest_codexsandbox.selftest.fake_codex_script import write
from pytest_codexsandbox.selftest.fake_codexes import ALLOW_ALL
from tests.plugin.conftest import Done, Matrix

ONLY = "--codex-only=process.success-is-zero,workspace-write"
OVERWRITES = {
    "last in pytest_sessionfinish": """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    session.exitstatus = {code}
""",
    "wrapper of pytest_sessionfinish": """
import pytest

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    result = yield
    session.exitstatus = {code}
    return result
""",
    "after pytest_unconfigure": """
import pytest

KEPT = []

def pytest_sessionstart(session):
    KEPT.append(session)

@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    KEPT[0].exitstatus = {code}
""",
    "wrapper of pytest_cmdline_main": """
import pytest

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main():
    yield
    return {code}
""",
}


def _one_number(run: Done, code: int) -> None:
    end = run.journal.end
    assert end is not None
    assert (run.code, end.exit) == (code, code), run.out
    assert not incomplete(run.journal, run.journal.states())
    assert re.findall(r"^exit (\d+)", run.out, re.MULTILINE) == ([str(code)] if code else []), run.out
    assert [reason.partition(" ")[0] for reason in end.reasons][:1] == ([str(code)] if code else [])


@pytest.mark.parametrize("where", OVERWRITES)
def test_a_violation_cannot_be_overwritten_with_success(matrix: Matrix, tmp_path: Path, where: str) -> None:
    binary = write(tmp_path, ALLOW_ALL)
    files = {"conftest.py": OVERWRITES[where].format(code=0)}
    _one_number(matrix.run(ONLY, f"--codex-bin={binary}", files=files), 1)


@pytest.mark.live
@pytest.mark.parametrize("where", OVERWRITES)
def test_a_failure_of_another_plugin_is_in_the_journal(matrix: Matrix, where: str) -> None:
    files = {"conftest.py": OVERWRITES[where].format(code=7)}
    run = matrix.run(ONLY, "--codex-report=json", files=files)
    _one_number(run, 1)
    assert "exit 1: failed outside" in run.out
    assert '"exit": 1' in (run.reports[0].parent / "report.json").read_text()


@pytest.mark.live
def test_a_run_that_passed_stays_a_success(matrix: Matrix) -> None:
    _one_number(matrix.run(ONLY, files={"conftest.py": OVERWRITES["wrapper of pytest_cmdline_main"].format(code=0)}), 0)


@pytest.mark.live
def test_a_plugin_that_ends_pytest_before_the_journal_ends_is_no_success(matrix: Matrix) -> None:
    plugin = "import pytest\n\ndef pytest_sessionfinish():\n    pytest.exit('enough', returncode=0)\n"
    run = matrix.run(ONLY, files={"conftest.py": plugin})
    assert run.code == 11, run.out
    assert run.journal.end is None
    assert re.findall(r"^exit (\d+)", run.out, re.MULTILINE) == ["11"], run.out


@pytest.mark.live
def test_a_report_that_could_not_be_written_is_in_the_journal(matrix: Matrix) -> None:
    plugin = (
        "from pathlib import Path\n"
        "def pytest_sessionfinish():\n"
        "    for folder in Path('.codexsandbox').glob('2*'):\n"
        "        (folder / 'index.html').mkdir()\n"
    )
    run = matrix.run(ONLY, "--codex-report=html,json", files={"conftest.py": plugin})
    _one_number(run, 11)
    assert '"exit": 11' in (run.reports[0].parent / "report.json").read_text()


def test_the_part_that_returns_the_exit_status_cannot_be_switched_off(matrix: Matrix) -> None:
    run = matrix.run("-p", "no:codexsandbox-exit-status")
    assert run.code == 4, run.out
    assert "leave out -p no:codexsandbox-exit-status" in run.out


def test_an_empty_collection_is_no_success_even_if_a_plugin_changes_the_exit_code(matrix: Matrix) -> None:
    plugin = (
        "import pytest\n\n"
        "@pytest.hookimpl(wrapper=True, tryfirst=True)\n"
        "def pytest_collection_modifyitems(items):\n"
        "    yield\n"
        "    items.clear()\n" + OVERWRITES["wrapper of pytest_sessionfinish"].format(code=0)
    )
    run = matrix.run("test_mine.py", files={"conftest.py": plugin, "test_mine.py": "def test_mine():\n    pass\n"})
    assert run.code == 5, run.out


TWICE = """
import pytest

seen = []

def pytest_runtest_logreport(report):
    seen.append(report)
    if len(seen) == 7:
        raise KeyboardInterrupt

@pytest.hookimpl(tryfirst=True)
def pytest_keyboard_interrupt():
    raise KeyboardInterrupt
"""
AT_THE_END = """
def pytest_unconfigure():
    raise KeyboardInterrupt
"""


@pytest.mark.live
def test_a_second_interruption_ends_with_the_code_of_the_first(matrix: Matrix) -> None:
    words = (ONLY, "--junit-xml=junit.xml")
    run = matrix.run(*words, files={"twice.py": TWICE}, plugins=("twice",))
    end = run.journal.end
    assert end is not None and (end.exit, run.code) == (2, 2), run.out
    assert "exit 2: " in (run.folder / "junit.xml").read_text()


@pytest.mark.live
def test_an_interruption_after_the_end_is_no_other_code_than_that_of_the_journal(matrix: Matrix) -> None:
    run = matrix.run(ONLY, files={"late.py": AT_THE_END}, plugins=("late",))
    end = run.journal.end
    assert end is not None and run.code == end.exit != 0, run.out
