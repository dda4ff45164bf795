"""The user's file holds a server of the very name that the generator writes itself."""

import pytest

from pytest_codexsandbox.generators.case_run import CaseRunner, open_case_runner
from pytest_codexsandbox.generators.checks.codex_toml import read
from pytest_codexsandbox.generators.confinement import UNCONFINED
from pytest_codexsandbox.generators.server_names import USUAL, asks_for_a_name, named, server_names
from pytest_codexsandbox.matrix import generator_specs
from pytest_codexsandbox.matrix.corpus import shipped_cases
from pytest_codexsandbox.model.generator import CONFIG, Case, CaseRun, Declaration, Intent
from pytest_codexsandbox.model.generator_spec import Generator
from tests.fakes.machine import run_folder

BARE = Case(id="25-server-bare", why="w", config=b'[mcp_servers.@SERVER@]\ncommand = "mine"\n')
ASKING = [case for case in shipped_cases() if asks_for_a_name(case)]
APPENDS = """grep -q acme @CONFIG@ || printf '[mcp_servers."acme.tool"]\\ncommand = "acme"\\n' >> @CONFIG@"""
WRITES_KEYS = """grep -q sandbox_mode @CONFIG@ || printf 'sandbox_mode = "read-only"\\n' >> @CONFIG@"""


def told(runner: CaseRunner, script: str, case: Case) -> CaseRun:
    spec = generator_specs.parse(f"cmd:sh -c '{script.replace(chr(39), chr(39) + chr(92) + chr(39) + chr(39))}'")
    generator = Generator(name="g", spec=spec, declaration=Declaration(timeout=20.0))
    return runner.run_case(generator, case, Intent(), version="0.163.0", runs=1)


@pytest.mark.parametrize(("script", "name"), [(APPENDS, "acme.tool"), (WRITES_KEYS, USUAL)])
def test_the_users_server_has_the_generators_own_name(script: str, name: str) -> None:
    with run_folder() as folder, open_case_runner(folder, UNCONFINED) as runner:
        case_run = told(runner, script, BARE)
    assert list(read(case_run.before[CONFIG].content).data["mcp_servers"]) == [name]


def test_a_second_table_of_the_same_name_is_seen() -> None:
    """A generator that looks for its own spelling alone doubles the table: that file is no TOML."""
    script = APPENDS.replace("grep -q acme", "grep -q nothing-that-is-there")
    with run_folder() as folder, open_case_runner(folder, UNCONFINED) as runner:
        case_run = told(runner, script, BARE)
    assert not read(case_run.first.files[CONFIG].content).loads


def test_names_are_read_from_a_file() -> None:
    content = b'[mcp_servers."a b"]\ncommand = "a"\n[mcp_servers.c]\ncommand = "c"\n[mcp_servers."d\\u0007"]\n'
    assert server_names(content) == ("a b", "c")
    assert server_names(b"mcp_servers = 1\n") == server_names(b"a = \n") == server_names(b"") == ()


@pytest.mark.parametrize(
    "names", [(), ("acme",), ("acme.tool", "other"), ('with "quotes"',), ("mine-too-2",), ("näme",)]
)
def test_every_case_that_asks_for_a_name_is_toml_with_it(names: tuple[str, ...]) -> None:
    assert {case.id.partition("-")[0] for case in ASKING} == {"09", "25"}
    for case in ASKING:
        found = read(named(case, names).config or b"")
        assert found.loads, case.id
        servers = found.data.get("mcp_servers", found.data.get("mcpServers", {}))
        assert (names or (USUAL,))[0] in servers or case.id.startswith("09"), case.id


def test_a_case_that_asks_for_none_stays_as_it_is() -> None:
    plain = Case(id="c", why="w", config=b"@HOME@")
    assert named(plain, ("acme",)) is plain
