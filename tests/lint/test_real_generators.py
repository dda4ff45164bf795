"""What is said of the tools that people use: each at one version, each with the versions of all that it needs."""

import json
import re

import msgspec
import pytest

from pytest_codexsandbox.generators.third_party.package import Package, package_of
from pytest_codexsandbox.matrix.generator_files import declared, real
from pytest_codexsandbox.model.generator import Declaration
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import data_folder
from tests.unit.reports.generator_builders import bad, both, good
from tools import real_page
from tools.generator_lock import of_npm, of_pip

REAL = real()
CODEX = {"codex-mcp-add", "codex-mcp-add-remove", "codex-features-enable"}
ISSUE = {"hermes-agent-file", "hermes-agent-argv", "add-mcp", "install-mcp", "mcpm", "ruler"}
INSTALLED = sorted(set(REAL) - CODEX)


def package(name: str) -> Package:
    found = package_of(declared(name))
    assert found is not None
    return found


def test_the_ones_that_were_promised_are_there_and_some_more() -> None:
    assert set(REAL) >= CODEX | ISSUE
    assert len(set(REAL) - CODEX - ISSUE) >= 3


@pytest.mark.parametrize("name", REAL)
def test_each_says_where_it_comes_from_what_it_writes_and_what_it_means(name: str) -> None:
    said: Declaration = declared(name)
    assert re.match(r"https://\S+$", said.source)
    assert said.description
    assert said.owns is not None
    assert said.semantics
    assert said.kind
    assert not said.needs_network


@pytest.mark.parametrize("name", REAL)
def test_each_comes_from_a_registry_or_is_codex_itself(name: str) -> None:
    said = declared(name)
    assert bool(said.install) != (name in CODEX)
    assert said.codex_on_path or said.install
    assert bool(said.megabytes) == bool(said.install)


@pytest.mark.parametrize("name", INSTALLED)
def test_all_that_it_needs_is_written_down(name: str) -> None:
    needed = package(name)
    text = needed.lock().read_text(encoding="utf-8")
    if needed.source == "pypi":
        pins = dict(line.split("==") for line in text.splitlines())
        assert pins[needed.name] == needed.version
        return
    lock = json.loads(text)["packages"]
    assert lock.pop("")["dependencies"] == {needed.name: needed.version}
    assert lock[f"node_modules/{needed.name}"]["version"] == needed.version
    assert all(entry["integrity"].startswith("sha512-") for entry in lock.values())
    assert not any("resolved" in entry for entry in lock.values())


def test_no_lock_is_left_of_an_unused_version() -> None:
    used = {package(name).lock().name for name in INSTALLED}
    assert {path.name for path in (data_folder("matrix") / "generators/locks").iterdir()} == used


def test_a_lockof_npm_keeps_hashes_and_no_addresses() -> None:
    entry = {
        "version": "1.0",
        "integrity": "sha512-a",
        "resolved": "https://r/a.tgz",
        "license": "MIT",
        "bin": {"a": "b"},
    }
    text = of_npm(json.dumps({"lockfileVersion": 3, "packages": {"": {}, "node_modules/a": entry}}))
    assert json.loads(text)["packages"]["node_modules/a"] == {"version": "1.0", "integrity": "sha512-a"}


def test_a_lockof_pip_is_what_its_report_says_it_installed() -> None:
    report = {"install": [{"metadata": {"name": name, "version": "1.0"}} for name in ("zeta", "Alpha")]}
    assert of_pip(json.dumps(report)) == "Alpha==1.0\nzeta==1.0\n"


# ---- the table of a whole run
def test_the_table_of_the_page_has_each_of_them_at_the_version_that_is_brought() -> None:
    """Else: a whole run, then python -m tools.real_page."""
    versions = {name: package(name).version if name in INSTALLED else "the cell's" for name in REAL}
    assert real_page.rows(real_page.PAGE.read_text(encoding="utf-8")) == versions


def test_the_table_describes_a_run() -> None:
    told = real_page.put(f"before\n{real_page.BEGIN}\nold\n{real_page.END}\nafter\n", real_page.text(both()))
    assert told.startswith(f"before\n{real_page.BEGIN}\nOne ") and told.endswith(f"{real_page.END}\nafter\n")
    assert "old" not in told
    assert real_page.rows(told) == {"good": "the cell's", "mytool": "1.2"}
    row = next(line for line in told.splitlines() if line.startswith("| `mytool`"))
    reds = [one for one in both().states().values() if one.verdict is Verdict.VIOLATES]
    counts = re.findall(r"[a-z-]+ (\d+)(?:, | \|$)", row)
    assert sum(map(int, counts)) == len(reds) > 0
    assert "comment-lost" in row


def test_a_repeated_measurement_replaces_the_first_and_is_named() -> None:
    told = real_page.text(both(), good())
    assert "`good`" in told.partition("\n|")[0]
    assert [line.split("`")[1] for line in told.splitlines() if line.startswith("| `")] == ["good", "mytool"]


def test_a_run_that_was_not_whole_is_not_shown() -> None:
    assert real_page.why_not(good()) == ""
    assert "broken" in real_page.why_not(bad())
    assert "end" in real_page.why_not(msgspec.structs.replace(good(), end=None))
