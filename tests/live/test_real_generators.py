"""Tools that people use, really brought from npm and PyPI, and put to work on a file: confined, without a network.

Where a registry does not answer, or npm is missing, these tests are skipped with the reason (tests/needs.py). The tools
stay in the cache, as they do for a user.
"""

import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import CodexSandboxError, Unavailable
from pytest_codexsandbox.generators.case_run import CaseRunner, open_case_runner
from pytest_codexsandbox.generators.checks import CHECKS, idempotence
from pytest_codexsandbox.generators.confinement import confinement
from pytest_codexsandbox.generators.third_party.install import install
from pytest_codexsandbox.harness.generators.case_runner import installed
from pytest_codexsandbox.matrix import generator_files, generator_specs
from pytest_codexsandbox.model.generator import CONFIG, Case, CaseRun, Declaration, Intent
from pytest_codexsandbox.model.generator_spec import Generator
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases import installed_package
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.system.download import NotReached, NotThere
from tests import needs

USERS = b"""\
# mine
model = "gpt-5"  # the big one
sandbox_mode = "read-only"

[sandbox_workspace_write]
writable_roots = ["/data"]
network_access = false
"""
TWICE = """
import sys
from pathlib import Path
from pytest_codexsandbox.generators.third_party.install import install
from pytest_codexsandbox.matrix.generator_files import declared
print(install(declared("add-mcp"), Path(sys.argv[1])).folder)
"""


@pytest.fixture
def runner() -> Iterator[CaseRunner]:
    """Below the cache: a stage below the temp directory is no place for Codex."""
    folder = cache_folder() / "tests"
    with open_case_runner(folder, confinement()) as opened:
        yield opened
    with suppress(OSError):  # another test's stage is still in it
        folder.rmdir()


def here(name: str) -> Generator:
    """Returns the real generator, brought if it is not here yet."""
    try:
        return installed(generator_specs.of_declaration(name), cache_folder())
    except CodexSandboxError as problem:
        needs.skip_unreachable(name, problem)
        raise


def told(runner: CaseRunner, generator: Generator, config: bytes = USERS) -> CaseRun:
    codex = installed_package.find()
    assert codex is not None
    case = Case(id="users", why="a user's file with comments and a policy", config=config)
    return runner.run_case(generator, case, Intent(roots=("@ROOT0@",)), version=codex.release, codex=codex.binary)


def left(case_run: CaseRun) -> str:
    return case_run.runs[-1].files[CONFIG].content.decode()


def faults(case_run: CaseRun, generator: Generator) -> set[str]:
    """The promises that were broken. Each check that was made had a control that held."""
    every = {promise: check(case_run, generator.declaration) for promise, check in CHECKS.items()}
    assert all(one.control_held for found in every.values() for one in found if not one.skipped)
    return {promise for promise, found in every.items() if not all(one.held for one in found if not one.skipped)}


def skipped(case_run: CaseRun, generator: Generator, promise: str) -> str:
    (one,) = CHECKS[promise](case_run, generator.declaration)
    return one.skipped


# ---- Codex itself
def test_codex_adds_a_server_and_keeps_what_the_user_wrote(runner: CaseRunner) -> None:
    generator = here("codex-mcp-add")
    case_run = told(runner, generator)
    found = tomllib.loads(left(case_run))
    assert found["mcp_servers"] == {"demo": {"command": "npx", "args": ["-y", "demo-mcp"], "env": {"K": "v"}}}
    assert left(case_run).startswith(USERS.decode())
    assert [run.code for run in case_run.runs] == [0, 0], "the second changed nothing, so there was no third"
    assert skipped(case_run, generator, "generator.third-run-changes-nothing") == idempotence.IDLE
    assert not skipped(case_run, generator, "generator.second-run-changes-nothing")
    assert not faults(case_run, generator) & {"generator.parses", "generator.user-keys-keep-their-values"}


def test_codex_adds_a_server_and_takes_it_away_again(runner: CaseRunner) -> None:
    case_run = told(runner, here("codex-mcp-add-remove"))
    assert "demo" not in left(case_run)
    assert tomllib.loads(left(case_run))["sandbox_workspace_write"]["writable_roots"] == ["/data"]


def test_codex_turns_a_feature_on(runner: CaseRunner) -> None:
    case_run = told(runner, here("codex-features-enable"))
    assert tomllib.loads(left(case_run))["features"] == {"goals": True}


# ---- npm
@needs.npm()
def test_a_tool_of_npm_works_without_a_network_and_is_seen_to_eat_comments(runner: CaseRunner) -> None:
    generator = here("add-mcp")
    case_run = told(runner, generator)
    found = tomllib.loads(left(case_run))
    assert found["mcp_servers"]["demo"]["command"] == "npx"
    assert found["sandbox_mode"] == "read-only"
    assert "# mine" not in left(case_run)
    assert "generator.comments-stay" in faults(case_run, generator)
    assert "generator.user-keys-keep-their-values" not in faults(case_run, generator)


@needs.npm()
def test_once_it_is_here_no_registry_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    here("add-mcp")
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    found = install(generator_files.declared("add-mcp"), cache_folder(), offline=True)
    assert Path(found.commands["add-mcp"][1]).is_file()
    assert found.facts["lock"]


@needs.npm()
def test_two_processes_bring_it_once_and_write_nothing_of_the_users(tmp_path: Path) -> None:
    here("add-mcp")  # skipped where no registry answers
    home, cache = tmp_path / "home", tmp_path / "cache"
    home.mkdir()
    npmrc = os.environ.get("NPM_CONFIG_USERCONFIG") or str(Path.home() / ".npmrc")
    env = {**os.environ, "HOME": str(home), "NPM_CONFIG_USERCONFIG": npmrc}
    argv = [sys.executable, "-c", TWICE, str(cache)]
    both = [subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    ended = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], ended
    assert len({out for out, _ in ended}) == 1
    assert len(Store(cache).entries()) == 1
    assert not any((cache / "staging").iterdir())
    assert not [path for path in home.rglob("*") if path.is_file()]


# ---- PyPI
def test_a_tool_of_pypi_writes_its_block_without_a_network(runner: CaseRunner) -> None:
    generator = here("hermes-agent-file")
    case_run = told(runner, generator)
    assert tomllib.loads(left(case_run))["default_permissions"] == ":workspace"
    assert left(case_run).count(generator.declaration.markers[0].begin) == 1
    assert "managed-block.one-balanced-pair" not in faults(case_run, generator)
    assert "generator.second-run-changes-nothing" not in faults(case_run, generator)


def test_the_codex_start_of_a_tool_of_pypi_is_recorded(runner: CaseRunner) -> None:
    case_run = told(runner, here("hermes-agent-argv"))
    root = case_run.world["ROOT0"]
    assert case_run.first.argv == (
        "-c",
        'sandbox_mode="workspace-write"',
        "-c",
        f'sandbox_workspace_write.writable_roots=["{root}"]',
        "-c",
        "sandbox_workspace_write.network_access=false",
    )
    assert left(case_run) == USERS.decode()


# ---- what cannot be had
NONE = Declaration(name="none", run="cmd:add-mcp", install={"npm": "add-mcp==0.0.0-never"})
NO_WHEEL = Declaration(name="none", run="cmd:mcpm", install={"pypi": "mcpm==0.0.0.dev999"})


@pytest.mark.parametrize(
    ("declaration", "other"),
    [
        pytest.param(NONE, "add-mcp", id="npm", marks=needs.npm()),
        pytest.param(NO_WHEEL, "hermes-agent-file", id="PyPI"),
    ],
)
def test_a_version_that_does_not_exist_leaves_one_error_alone(
    declaration: Declaration, other: str, tmp_path: Path
) -> None:
    here(other)  # skipped where this registry does not answer
    with pytest.raises(NotThere, match=r"has no (add-mcp|mcpm) 0\.0\.0"):
        install(declaration, tmp_path / "cache")
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".build"] == []


@pytest.mark.parametrize("name", [pytest.param("add-mcp", marks=needs.npm()), "mcpm"])
def test_a_registry_that_is_not_there_is_one_error_soon(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    for variable in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    began = time.monotonic()
    with pytest.raises(Unavailable) as problem:
        install(generator_files.declared(name), tmp_path / "cache")
    assert isinstance(problem.value, NotReached), problem.value
    assert problem.value.next_step
    assert time.monotonic() - began < 120
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".build"] == []
