"""A generator that calls `codex` gets the real Codex's answer, unless the call starts work: that is only recorded."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.generators.case_run import CaseRunner
from pytest_codexsandbox.generators.checks.exit_status import agrees
from pytest_codexsandbox.generators.checks.file_attributes import no_leftovers
from pytest_codexsandbox.model.generator import CONFIG, Case, CaseRun, Declaration, GeneratorRun
from pytest_codexsandbox.model.generator_spec import Generator, Spec
from tests.fakes.machine import installed_codex, run_folder
from tests.live.builders import GENEROUS, INTENT, sh

ADD = "codex mcp add demo -- npx demo"
SERVER = b'[mcp_servers.demo]\ncommand = "npx"\nargs = ["demo"]\n'
NONE = Case(id="none", why="there is no file", config=None)


@pytest.fixture(scope="module")
def codex() -> Iterator[str]:
    with run_folder() as cache:
        yield installed_codex(cache).binary


def told(runner: CaseRunner, codex: str, generator: Generator, case: Case = NONE) -> CaseRun:
    return runner.run_case(generator, case, INTENT, version="0.163.0", codex=codex)


def first(runner: CaseRunner, codex: str, script: str, **declared: object) -> GeneratorRun:
    return told(runner, codex, sh(script, **declared)).first  # type: ignore[arg-type]


def test_changes_by_codex_are_there_and_count_as_the_generators_work(runner: CaseRunner, codex: str) -> None:
    case_run = told(runner, codex, sh(f"command -v codex >/dev/null && {ADD}"))
    assert [run.files[CONFIG].content for run in case_run.runs] == [SERVER] * 3, case_run.first
    assert (case_run.first.argv, case_run.first.env, [one.work for one in case_run.first.launches]) == ((), {}, [False])
    for rows in (agrees(case_run, Declaration()), no_leftovers(case_run, Declaration())):
        assert all(row.held and row.control_held for row in rows), rows


def test_a_function_may_call_it_as_well(runner: CaseRunner, codex: str, tmp_path: Path) -> None:
    (tmp_path / "cx_calls.py").write_text(
        "import subprocess\n\n\ndef generate(request):\n"
        "    subprocess.run([request['codex'], *'mcp add demo -- npx demo'.split()], check=True)\n"
    )
    one = Generator(
        name="calls",
        spec=Spec(scheme="py", text="cx_calls:generate"),
        base=str(tmp_path),
        declaration=Declaration(timeout=GENEROUS, installed=(str(tmp_path / "cx_calls.py"),)),
    )
    given = told(runner, codex, one).first
    assert given.files[CONFIG].content == SERVER, given


def test_exit_code_and_both_streams_are_codex_own(runner: CaseRunner, codex: str) -> None:
    given = first(runner, codex, "codex --version; codex mcp get nothing; echo $?; codex login status; echo $?")
    version, *codes = given.stdout.splitlines()
    assert (version.partition(" ")[0], codes) == ("codex-cli", ["1", "1"])
    assert "No MCP server named 'nothing' found" in given.stderr
    assert "Not logged in" in given.stderr
    assert [one.work for one in given.launches] == [False] * 3


def test_one_that_swallows_what_codex_refuses_is_found(runner: CaseRunner, codex: str) -> None:
    case_run = told(runner, codex, sh("codex mcp get nothing >/dev/null 2>&1; exit 0"))
    (row,) = agrees(case_run, Declaration())
    assert (row.held, row.control_held, row.reason) == (False, True, "did-nothing")
    assert "(codex mcp get nothing)" in row.saw


def test_a_start_of_work_is_recorded_and_swallowed_unless_it_is_declared(runner: CaseRunner, codex: str) -> None:
    script = f"{ADD}; codex exec -c a=b --skip-git-repo-check hi; echo $?; codex sandbox -- curl -V; echo $?"
    given = first(runner, codex, script)
    assert given.stdout.splitlines()[-2:] == ["0", "0"]
    assert [one.work for one in given.launches] == [False, True, True]
    assert first(runner, codex, "codex exec -c a=b hi").argv == ("-c", "a=b")
    really = first(runner, codex, "codex exec --no-such-option hi", codex_on_path=True)
    assert "unexpected argument '--no-such-option'" in really.stderr
    assert [one.work for one in really.launches] == [True]


def test_calls_that_are_impossible_here_fail_at_once(runner: CaseRunner, codex: str) -> None:
    given = first(runner, codex, "codex login </dev/null; echo $?; codex update; echo $?")
    assert given.stdout.splitlines() == ["1", "1"]
    assert "`codex login --with-api-key`" in given.stderr
    assert "`codex update`" in given.stderr


def test_an_installer_through_codex_is_tried_at_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "gen.sh"
    agree = "generator.exit-and-refusal-agree"
    tries = {ADD: f"P {agree}", "codex mcp get nothing || true": f"F {agree} wrong-claim (did-nothing)"}
    for words, seen in tries.items():
        script.write_text(f"#!/bin/sh\n{words}\n")
        script.chmod(0o755)
        main(["generator", "try", "-v", "--case", "05-no-final-newline", "--", "./gen.sh"])
        assert seen in capsys.readouterr().out
