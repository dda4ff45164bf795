"""Generators that are Python functions: called in a process of their own, in a Python that has imported them once."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.generators.case_run import CaseRunner, open_case_runner
from pytest_codexsandbox.matrix.generator_specs import asked, of_file
from pytest_codexsandbox.model.generator import CONFIG
from tests.fakes.machine import run_folder
from tests.live.builders import first, how, processes, told


@pytest.fixture(scope="module", params=["confined", "unconfined"])
def runner(request: pytest.FixtureRequest) -> Iterator[CaseRunner]:
    with run_folder() as folder, open_case_runner(folder, how(request.param)) as opened:
        yield opened


def module(folder: Path, text: str) -> Path:
    (folder / "mine.py").write_text(text)
    (folder / "decl.toml").write_text('run = "py:mine:write"\ntimeout = 20\n')
    return folder / "decl.toml"


def test_a_function_is_called_with_a_dict_or_a_request(runner: CaseRunner) -> None:
    for annotation, reads in (("dict", 'asked["config"]'), ('"Request"', "asked.config")):
        with run_folder() as folder:
            text = f"""
from pytest_codexsandbox.model.generator import Request
def write(asked: {annotation}):
    open({reads}, "a").write("# done\\n")
    print("said")
    return {{"argv": ["-c", "a=b"]}}
"""
            given = first(runner, of_file(module(folder, text)))
        assert given.files[CONFIG].content.endswith(b"# done\n"), given
        assert (given.argv, given.stdout) == (("-c", "a=b"), "said\n")


def test_an_entry_point_leads_to_a_function(runner: CaseRunner) -> None:
    (good,) = asked(["ep:good"])
    case_run = told(runner, good)
    assert b"workspace-write" in case_run.first.files[CONFIG].content
    assert case_run.runs[2].files[CONFIG].content == case_run.first.files[CONFIG].content


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit('refused')", 1, "refused"),
        ("raise ValueError('odd')", 1, "ValueError: odd"),
        ("import os; os._exit(9)", 9, ""),
        ("return 5", 0, ""),
    ],
)
def test_the_end_of_a_function_is_an_exit_code(runner: CaseRunner, body: str, code: int, said: str) -> None:
    with run_folder() as folder:
        given = first(runner, of_file(module(folder, f"def write(asked):\n    {body}\n")))
    assert (given.ended, given.code) == ("exit", code)
    assert said in given.stderr


def test_effects_of_an_import_end_with_the_call(runner: CaseRunner) -> None:
    long = f"1000.{uuid.uuid4().int}"
    text = f"""
import subprocess, sys, threading, time
subprocess.Popen(["sleep", "{long}"])
def write(asked):
    open(asked["config"], "w").write("# written\\n")
"""
    with run_folder() as folder:
        given = first(runner, of_file(module(folder, text)))
    assert given.files[CONFIG].content == b"# written\n"
    assert any("sleep" in one for one in given.survivors), given
    assert not processes(long)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import nowhere_at_all\ndef write(asked): ...\n", "nowhere_at_all"),
        ("x = 1\n", "module mine has no function 'write'"),
        ("x = globals()\n", "no attribute 'write'"),
        ("raise SystemExit\ndef write(asked): ...\n", "SystemExit"),
    ],
)
def test_a_module_that_cannot_be_imported_is_not_started(runner: CaseRunner, text: str, why: str) -> None:
    with run_folder() as folder:
        given = first(runner, of_file(module(folder, text)))
    assert given.ended == "not-started"
    assert why in given.error


def test_state_of_a_module_is_not_carried_from_call_to_call(runner: CaseRunner) -> None:
    with run_folder() as folder:
        text = "seen = []\ndef write(asked):\n    seen.append(1)\n    print(len(seen))\n"
        case_run = told(runner, of_file(module(folder, text)))
    assert [run.stdout for run in case_run.runs] == ["1\n"] * 3
