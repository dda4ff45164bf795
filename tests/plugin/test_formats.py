"""Every format of a run says what its journal says, and a run that fails has a failure or an error in each."""

import html
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pytest_codexsandbox.model.ledger import known_without_sandbox, measured_cells
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports import allure_results
from pytest_codexsandbox.selftest.fake_codex_script import write
from pytest_codexsandbox.selftest.fake_codexes import ALLOW_ALL
from tests.fakes.machine import installed_codex
from tests.plugin.conftest import Done, Matrix
from tests.plugin.test_faults import KNOWN, NEVER_STARTS

EXIT = "--codex-only=process.exit-code-kept"
KINDS = {
    Verdict.CONFORMS: "passed", Verdict.UNCONFINED: "passed", Verdict.VIOLATES: "failure", Verdict.STALE: "failure",
    Verdict.BROKEN: "error", Verdict.BLOCKED: "skipped", Verdict.NOT_APPLICABLE: "skipped",
    Verdict.EXPECTED: "skipped",
}  # fmt: skip
ALLURE = {"passed": "passed", "failed": "failure", "broken": "error", "skipped": "skipped"}
PROPERTIES = {"cell", "door", "policy", "promise", "verdict", "direction", "fingerprint", "repro"}
STALE = """
[[deviation]]
id = "never"
where = {}
promise = "process.exit-code-kept"
direction = "denied"
fingerprint = "write-outside-roots"
issue = "https://github.com/openai/codex/issues/1"
owner = "me"
until = 2099-01-01
reason = "none"
"""
# The machine has no room for the call of the promise itself.
BROKEN = """
from pytest_codexsandbox.environments.agent_environment import AgentEnvironment
from pytest_codexsandbox.model.command import CommandResult
run, calls = AgentEnvironment.run_together, []

def refused(self, commands):
    calls.extend(command for command in commands if command.argv[0].endswith('/codex'))
    if len(calls) < 2 or commands[0] not in calls:
        return run(self, commands)
    return tuple(CommandResult(ended='not-started', error='codex: Too many open files') for _ in commands)

AgentEnvironment.run_together = refused
"""
INTERRUPTED = """
seen = []

def pytest_runtest_logreport(report):
    seen.append(report)
    if len(seen) == 7:
        raise KeyboardInterrupt
"""
HOOK_FAILS = """
def pytest_codexsandbox_record(config, record):
    raise RuntimeError("not today")
"""
SPOILS = """
from pathlib import Path

def pytest_sessionfinish():
    Path("junit.xml").write_text("not XML")
"""


@pytest.fixture
def run(matrix: Matrix) -> Callable[..., Done]:
    def with_every_format(*words: str, plugins: tuple[str, ...] = (), **files: str) -> Done:
        named = {name.replace("_", "."): text for name, text in files.items()}
        every = ("--codex-report=html,markdown,json", "--junit-xml=junit.xml", "--alluredir=allure")
        return matrix.run(*words, *every, files=named, plugins=("allure_pytest.plugin", *plugins))

    return with_every_format


def kinds(done: Done) -> dict[Key, str]:
    """Map each result to its word in a format that knows four."""
    states = done.journal.states()
    fine = measured_cells(states.values()) | known_without_sandbox(states.values())
    decides = {key for key, one in states.items() if one.verdict is Verdict.BLOCKED and key.cell not in fine}
    return {key: "error" if key in decides else KINDS[record.verdict] for key, record in states.items()}


def in_junit_file(done: Done) -> ElementTree.Element:
    return next(ElementTree.parse(done.folder / "junit.xml").iter("testsuite"))


def in_junit(done: Done) -> tuple[dict[Key, tuple[str, dict[str, str]]], list[str], ElementTree.Element]:
    """Results by key; what else is red; the suite."""
    suite = in_junit_file(done)
    found: dict[Key, tuple[str, dict[str, str]]] = {}
    others: list[str] = []
    for case in suite.iter("testcase"):
        kind = next((kind for kind in ("failure", "error", "skipped") if case.find(kind) is not None), "passed")
        told = {one.get("name", ""): one.get("value", "") for one in case.iterfind("properties/property")}
        if not told:
            others += [kind] if kind in ("failure", "error") else []
            continue
        key = Key(**{name: told.get(name, "") for name in ("cell", "door", "policy", "promise", "case")})
        assert key not in found, f"two cases of {key}"
        found[key] = kind, told
    return found, others, suite


def in_allure(done: Done) -> tuple[dict[str, str], list[str]]:
    found: dict[str, str] = {}
    others: list[str] = []
    for path in sorted((done.folder / "allure").glob("*-result.json")):
        result = json.loads(path.read_text())
        labels = {one["name"]: one["value"] for one in result.get("labels", ())}
        key = labels.get("codexsandbox-key", "")
        if " · " in key:
            assert key not in found, f"two results of {key}"
            found[key] = ALLURE[result["status"]]
        elif result["status"] in ("failed", "broken"):
            others.append(result["name"])
    return found, others


def agree(done: Done, code: int) -> dict[Key, Record]:
    journal = done.journal
    assert journal.end is not None
    assert (done.code, journal.end.exit) == (code, code), done.out
    states, wanted = journal.states(), kinds(done)

    cases, others, suite = in_junit(done)
    assert {key: kind for key, (kind, _) in cases.items()} == wanted
    for key, (_, told) in cases.items():
        record = states[key]
        fingerprint = record.diagnosis.fingerprint if record.diagnosis else ""
        assert told.keys() >= PROPERTIES
        assert (told["verdict"], told["direction"]) == (record.verdict.value, record.direction)
        assert (told["fingerprint"], told["repro"]) == (fingerprint, record.repro)
    counted = Counter([*wanted.values(), *others])
    assert (int(suite.get("failures", "")), int(suite.get("errors", ""))) == (counted["failure"], counted["error"])
    assert int(suite.get("skipped", "")) == counted["skipped"]
    assert bool(counted["failure"] + counted["error"]) == bool(code), others
    told = {one.get("name", ""): one.get("value", "") for one in suite.iterfind("properties/property")}
    assert {f"codexsandbox.{word}": str(count) for word, count in journal.counts().items()}.items() <= told.items()
    assert told["codexsandbox.exit"] == str(code)

    results, red = in_allure(done)
    assert results == {str(key): kind for key, kind in wanted.items()}
    assert bool(red or {"failure", "error"} & set(results.values())) == bool(code)

    folder = done.reports[0].parent
    document = json.loads((folder / "report.json").read_text())
    assert document["exit"] == code
    assert tuple(document["reasons"]) == journal.end.reasons
    assert document["counts"] == journal.counts()
    listed = {
        Key(**{name: one[name] for name in ("cell", "door", "policy", "promise", "case")}): one["verdict"]
        for one in document["results"]
    }
    assert listed == {key: record.verdict.value for key, record in states.items()}

    markdown = (folder / "report.md").read_text()
    assert markdown.startswith("## ❌" if code else "## ✅")
    assert re.findall(r"^- (?:exit|also) (\d+)", markdown, re.MULTILINE) == list(codes(done))
    page = html.unescape((folder / "index.html").read_text())
    assert ('<header class="red"' in page) == bool(code)
    for reason in journal.end.reasons:
        assert reason.partition(" ")[2] in page
    assert re.findall(r"^(?:exit|also) (\d+):", done.out, re.MULTILINE) == list(codes(done))
    for text in (done.out, markdown):
        flat = " ".join(text.replace("\\", "").split())
        assert f"{len(states):,} planned" in flat
        assert f"{journal.counts()['violates']:,} violates" in flat
    return states


def codes(done: Done) -> Iterator[str]:
    assert done.journal.end is not None
    yield from (reason.partition(" ")[0] for reason in done.journal.end.reasons)


def verdicts(states: dict[Key, Record]) -> set[str]:
    return {record.verdict.value for record in states.values()}


@pytest.mark.live
@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_a_run_that_passes(run: Callable[..., Done], workers: tuple[str, ...]) -> None:
    agree(run(EXIT, *workers, plugins=("xdist.plugin",)), 0)


def test_violations_and_what_they_block(run: Callable[..., Done], tmp_path: Path) -> None:
    binary = write(tmp_path, ALLOW_ALL)
    found = agree(run("--codex-only=dns.*", f"--codex-bin={binary}"), 1)
    assert verdicts(found) >= {"violates", "blocked", "unconfined", "n/a"}


@pytest.mark.live
@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_a_stale_expectation(run: Callable[..., Done], workers: tuple[str, ...]) -> None:
    words = (EXIT, "--codex-expectations=known.toml", *workers)
    done = run(*words, known_toml=STALE, plugins=("xdist.plugin",))
    found = agree(done, 12)
    assert verdicts(found) >= {"stale", "conforms"}
    assert "1 failed, " in done.out.splitlines()[-1], "pytest's own last line"
    assert "attempts differ" not in done.out, "it was measured once"


@pytest.mark.live
def test_a_strict_run_of_the_default_policies_passes(run: Callable[..., Done]) -> None:
    found = agree(run("--codex-only=process.success-is-zero", "--codex-strict"), 0)
    assert verdicts(found) == {"conforms", "unconfined"}


def test_a_strict_run_lists_what_it_fails(matrix: Matrix, tmp_path: Path) -> None:
    binary = write(tmp_path, ALLOW_ALL)
    words = ("--codex-only=process.success-is-zero", "--codex-strict", f"--codex-bin={binary}")
    run = matrix.run(*words, "--codex-report=json", "--junit-xml=junit.xml")
    assert run.code == 1, run.out
    blocked = {key for key, one in run.journal.states().items() if one.verdict is Verdict.BLOCKED}
    assert blocked, run.out
    flat = " ".join(run.out.split())
    assert f"strict fails {len(blocked)} results, blocked: process.success-is-zero: " in flat
    listed = json.loads((run.reports[0].parent / "report.json").read_text())["strict_fails"]
    assert {Key(**one) for one in listed} == blocked
    assert {key for key, (kind, _) in in_junit(run)[0].items() if kind == "error"} == blocked


@pytest.mark.live
def test_a_result_that_could_not_be_determined(run: Callable[..., Done]) -> None:
    assert "broken" in verdicts(agree(run(f"{EXIT},workspace-write", conftest_py=BROKEN), 10))


@pytest.mark.live
def test_a_run_in_which_no_sandbox_was_on(run: Callable[..., Done], matrix: Matrix, tmp_path: Path) -> None:
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(NEVER_STARTS.format(python=sys.executable, codex=installed_codex(matrix.cache).binary))
    wrapper.chmod(0o755)
    words = ("--codex-only=filesystem.workspace-writable", "--codex-expectations=known.toml")
    done = run(f"--codex-bin={wrapper}@0.163.0", *words, known_toml=KNOWN)
    assert verdicts(agree(done, 11)) >= {"expected", "blocked"}
    cases = in_junit_file(done).iter("testcase")
    blocked = [case for case in cases if b"blocked_by" in ElementTree.tostring(case)]
    assert blocked
    for case in blocked:
        (skipped,) = case.iterfind("skipped")
        assert " start.sandbox-is-on · " in skipped.get("message", "")


@pytest.mark.live
def test_a_run_that_fails_without_a_red_result(run: Callable[..., Done]) -> None:
    assert verdicts(agree(run(EXIT, conftest_py=HOOK_FAILS), 11)) <= {"conforms", "unconfined"}


@pytest.mark.live
def test_a_run_that_is_interrupted(run: Callable[..., Done]) -> None:
    assert "broken" in verdicts(agree(run(EXIT, plugins=("interrupts",), interrupts_py=INTERRUPTED), 2))


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("--codex-only=no-such-promise",), 4, "matches no cell"),
        ((EXIT, "-k", "no-such-test"), 5, "no test was selected"),
        ((EXIT, "-k", "no-such-test", "-n2"), 5, "no test was selected"),
    ],
)
def test_a_run_without_a_plan_has_an_error_as_well(
    run: Callable[..., Done], words: tuple[str, ...], code: int, why: str
) -> None:
    done = run(*words, plugins=("xdist.plugin",))
    assert done.code == code, done.out
    suite = in_junit_file(done)
    (told,) = [one.get("message", "") for one in suite.iter("error")]
    assert told.startswith(f"exit {code}: ") and why in told
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    assert in_allure(done) == ({}, [allure_results.TITLE])


MARKED = """
import pytest

@pytest.mark.codex(policies=("workspce-write",))
def test_mine(codex_sandbox):
    codex_sandbox.run("true")
"""


@pytest.mark.parametrize(
    ("words", "text", "why"),
    [
        ((), MARKED, "workspce-write"),
        (("-n2",), MARKED, "workspce-write"),
        (("--codex-strict",), "def test_mine(): pass", "--codex-strict has no effect here"),
    ],
)
def test_a_refused_run_without_a_matrix_has_an_error_as_well(
    matrix: Matrix, words: tuple[str, ...], text: str, why: str
) -> None:
    run = matrix.run(
        "test_mine.py",
        "--junit-xml=junit.xml",
        *words,
        files={"test_mine.py": text},
        matrix=False,
        plugins=("xdist.plugin",),
    )
    assert run.code == 4, run.out
    (told,) = [one.get("message", "") for one in in_junit_file(run).iter("error")]
    assert told.startswith("exit 4: ") and why in told


@pytest.mark.live
def test_a_file_that_cannot_say_what_the_journal_says_is_no_success(run: Callable[..., Done]) -> None:
    done = run(EXIT, conftest_py=SPOILS)
    assert done.code == 11, done.out
    assert done.journal.end is not None and done.journal.end.exit == 11
    assert "ParseError" in done.out
    assert re.search(r"exit 11: [a-z ]+: junit\.xml", done.out)


@pytest.mark.live
def test_properties_and_failures_of_the_users_own_tests_stay(matrix: Matrix) -> None:
    mine = """
def test_mine(codex_sandbox, record_property):
    record_property("ticket", "T-1")
    assert codex_sandbox.run("touch", "@OUTSIDE@/made").code == 0, "my own words"

def test_plain():
    assert False, "plain words"
"""
    run = matrix.run("test_mine.py", "--junit-xml=junit.xml", files={"test_mine.py": mine}, matrix=False)
    assert run.code == 1, run.out
    cases = {case.get("name", "").partition("[")[0]: case for case in in_junit_file(run).iter("testcase")}
    own = cases["test_mine"]
    assert {("ticket", "T-1"), ("verdict", "violates")} <= {
        (one.get("name"), one.get("value")) for one in own.iterfind("properties/property")
    }
    assert "my own words" in own.findtext("failure", "")
    assert "plain words" in cases["test_plain"].findtext("failure", "")
    assert in_junit_file(run).get("failures") == "2"
