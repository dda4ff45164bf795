"""A suite that another package brings: planned, run, judged, journalled, counted and shown like ours."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.fakes.toy_package import ROOT, install_suite, search_path
from tests.plugin.conftest import Done, Matrix

pytestmark = pytest.mark.live
FORMATS = "--codex-report=html,markdown,json"
ONLY = "--codex-only=version.*,process.exit-code-kept,workspace-write,as-printed"
EXPECTED = {
    ("version.is-printed", "long"): Verdict.CONFORMS,
    ("version.is-printed", "short"): Verdict.CONFORMS,
    ("version.is-from-the-future", ""): Verdict.VIOLATES,
    ("version.is-long", ""): Verdict.VIOLATES,
    ("version.is-signed", ""): Verdict.NOT_APPLICABLE,
    ("version.is-heard", ""): Verdict.NOT_APPLICABLE,
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {"PYTHONPATH": search_path(install_suite(tmp_path_factory.mktemp("suite") / "site"))}


def command(matrix: Matrix, site: dict[str, str], *words: str, folder: Path | None = None) -> str:
    done = matrix.codexsandbox(*words, folder=folder or matrix.prepare({}), env=site)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=[(), ("-n2",)], ids=["alone", "two workers"])
def done(
    request: pytest.FixtureRequest,
    site: dict[str, str],
    codex_cache: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Done:
    """One run, for all that is asked of it."""
    folder = tmp_path_factory.mktemp("done")
    (folder / "home").mkdir()
    plugins = ("xdist.plugin", "allure_pytest.plugin")
    words = (ONLY, FORMATS, "--junitxml=junit.xml", "--alluredir=allure", *request.param)
    return Matrix(root=folder, home=folder / "home", cache=codex_cache).run(*words, env=site, plugins=plugins)


def mine(done: Done) -> dict[tuple[str, str], Record]:
    states = done.journal.states().items()
    return {(key.promise, key.case): one for key, one in states if key.promise.startswith("version.")}


def test_it_is_planned_beside_the_shipped_suites(matrix: Matrix, site: dict[str, str]) -> None:
    whole = json.loads(command(matrix, site, "plan", "--json"))
    without = json.loads(command(matrix, {}, "plan", "--json"))
    added = [key for key in whole["keys"] if key not in without["keys"]]
    assert [(key["promise"], key["case"]) for key in added] == [
        ("version.is-printed", "long"), ("version.is-printed", "short"), ("version.is-from-the-future", ""),
        ("version.is-long", ""), ("version.is-signed", ""), ("version.is-heard", ""),
    ]  # fmt: skip
    assert {(key["door"], key["policy"]) for key in added} == {("version", "as-printed")}
    assert [why for key, why in whole["not_applicable"].items() if key.startswith("version.")] == [
        "nobody reads it aloud"
    ]
    assert whole["calls"] == without["calls"] + 5
    assert (whole["stories"], whole["strains"]) == (0, 0)


def test_its_promises_are_judged_and_journalled(done: Done) -> None:
    assert done.code == 1, done.out
    found = mine(done)
    assert {name: one.verdict for name, one in found.items()} == EXPECTED
    assert {one.suite for one in found.values()} == {"shipped"}
    assert found["version.is-signed", ""].reason == "no release signs its version"
    lied = found["version.is-from-the-future", ""]
    assert lied.direction == "wrong-claim" and "prints '99.99.99'" in lied.reason
    assert lied.calls[0] in {call.id for call in done.journal.calls}
    assert lied.diagnosis is not None and lied.diagnosis.fingerprint == ""
    assert (done.reports[0].parent / lied.repro).read_text().startswith("#!/bin/sh\n# version.is-from-the-future")


def test_the_journal_names_its_suite_and_the_shipped_ones(done: Done) -> None:
    plan = done.journal.plan
    assert [one.name for one in plan.suites] == ["sandbox", "version"]
    suites = {promise.id: promise.suite for promise in plan.promises}
    assert suites["version.is-long"] == "version" and suites["process.exit-code-kept"] == "sandbox"
    assert plan.suites[1].title == "what Codex says of itself"


def test_its_calls_use_a_home_of_the_run(done: Done) -> None:
    calls = [call.observation for call in done.journal.calls if call.observation.door == "version"]
    homes = {one.env[name] for one in calls for name in ("HOME", "CODEX_HOME")}
    assert len(calls) > 4 and not any(Path(home) in (Path.home(), Path.home() / ".codex") for home in homes)


def test_its_results_are_counted_with_all_others(done: Done) -> None:
    end, counts = done.journal.end, done.journal.counts()
    assert end is not None and end.counts == counts
    expected = Counter(verdict.value for verdict in EXPECTED.values())
    assert counts["violates"] == expected["violates"] and counts["n/a"] == expected["n/a"]
    assert counts["conforms"] > expected["conforms"], "ours were measured too"
    assert sum(counts.values()) == len(done.journal.plan.keys)
    assert sum(one.calls for one in end.cells) == 4 + len([one for one in done.journal.calls if is_ours(one)])


def is_ours(call: Any) -> bool:
    return not call.control and call.observation.door != "version"


def test_the_terminal_shows_it_as_any_other(done: Done) -> None:
    assert "version is-printed: 2 of 2" in done.out
    assert "as-printed by" not in done.out and "workspace-write by" not in done.out
    assert "another-version: version.is-from-the-future" in done.out
    assert "version.is-signed: no release signs its version" in done.out


def test_every_report_shows_it(done: Done) -> None:
    folder = done.reports[0].parent
    page, text = (folder / "index.html").read_text(), (folder / "report.md").read_text()
    for report in (page, text):
        assert "version.is-from-the-future" in report and "as-printed" in report
    document = json.loads((folder / "report.json").read_text())
    results = {(one["promise"], one["case"]): one["verdict"] for one in document["results"]}
    assert {name: results[name] for name in EXPECTED} == {name: one.value for name, one in EXPECTED.items()}
    assert {one["suite"] for one in document["promises"]} == {"sandbox", "version"}


def test_junit_and_allure_name_each_result(done: Done) -> None:
    tests = ElementTree.parse(done.folder / "junit.xml").iter("testcase")
    found = [test for test in tests if "codex-scenarios-version" in test.attrib["classname"]]
    assert len(found) == len(EXPECTED)
    assert sum(test.find("failure") is not None for test in found) == 2
    results = [json.loads(path.read_text()) for path in (done.folder / "allure").glob("*-result.json")]
    status = Counter(one["status"] for one in results if "test_codex_version" in one["fullName"])
    assert status == {"passed": 2, "failed": 2, "skipped": 2}


def test_a_report_of_its_journal_needs_no_suite(done: Done, matrix: Matrix, site: dict[str, str]) -> None:
    run = str(done.reports[0].parent)
    for words in (("--format", "markdown"), ("--format", "json"), ()):
        with_it = command(matrix, site, "report", run, *words, folder=done.folder)
        assert command(matrix, {}, "report", run, *words, folder=done.folder) == with_it
        assert "version.is-from-the-future" in with_it


def test_the_suite_of_the_page_runs_as_it_is_printed(matrix: Matrix, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "suites.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n# (my_package/\S+)\n(.*?)```", page, re.DOTALL)
    for name, text in blocks:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    metadata = tmp_path / "my_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[codexsandbox.suites]\nversion = my_package.suite:VersionSuite\n")
    done = matrix.run("--codex-only=version.is-printed", env={"PYTHONPATH": search_path(tmp_path)})
    assert (done.code, len(blocks)) == (0, 2), done.out
    verdicts = {key.promise: one.verdict for key, one in done.journal.states().items()}
    assert verdicts["version.is-printed"] is Verdict.CONFORMS


def test_a_fixture_of_the_user_with_its_name_is_not_asked(matrix: Matrix, site: dict[str, str]) -> None:
    mine = "import pytest\n@pytest.fixture(autouse=True)\ndef version_trial():\n    raise RuntimeError('the user')\n"
    done = matrix.run("--codex-only=version.is-printed", files={"conftest.py": mine}, env=site)
    assert done.code == 0, done.out
    assert {one.verdict for one in done.journal.states().values()} == {Verdict.CONFORMS}
