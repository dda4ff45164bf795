"""The scripted model: what it asks for, and how it understands what each release tells it."""

import json
import shlex
from typing import Any

import pytest

from pytest_codexsandbox.guest.fake_doors import unwrapped
from pytest_codexsandbox.guest.fifo_channel import wrapped
from pytest_codexsandbox.guest.scripted_model import TOOLS, Model, called, ending, offered, text_of

COMMAND = ["/bin/sh", "-c", "echo 'a b' \"$0\"", "x"]
DENIED = (
    'exec_command failed for `/bin/bash -c "x"`: CreateProcess { message: "Codex(Sandbox(Denied { output: '
    'ExecToolCallOutput { exit_code: 2, stdout: StreamOutput { text: \\"\\" } } }))" }'
)


def question(*results: Any, tool: str = "exec_command") -> dict[str, Any]:
    offer = {"type": "function", "name": tool, "parameters": {"properties": {"cmd": {}, "login": {}}}}
    outputs = [{"type": "function_call_output", "call_id": "c", "output": result} for result in results]
    return {"input": [{"type": "message"}, *outputs], "tools": [offer]}


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("Chunk ID: e1\nWall time: 0.1 seconds\nProcess exited with code 7\nOutput:\nerr\n", 7, "err\n"),
        ("Process exited with code 0\nOriginal token count: 0\nOutput:\n", 0, ""),
        ("Process exited with code -1", -1, ""),
        (
            "Exit code: 3\nWall time: 0.1 seconds\nOutput:\nProcess exited with code 0\n",
            3,
            "Process exited with code 0\n",
        ),
        ('{"output":"no","metadata":{"exit_code":5,"duration_seconds":0.1}}', 5, "no"),
        (DENIED, 2, DENIED),
        ("exec_command failed: rejected by policy", 1, "exec_command failed: rejected by policy"),
        (
            "Wall time: 1\nOutput:\nProcess exited with code 0\n",
            1,
            "Wall time: 1\nOutput:\nProcess exited with code 0\n",
        ),
        ("", 1, ""),
        ("7", 1, "7"),
        ("null", 1, "null"),
    ],
)
def test_the_exit_code_is_what_codex_says_and_never_what_the_command_prints(text: str, code: int, told: str) -> None:
    assert ending(text) == (code, told)


@pytest.mark.parametrize("name", TOOLS)
def test_every_offered_tool_gets_the_exact_words_of_the_command(name: str) -> None:
    item = called(name, COMMAND, {})
    if name == "local_shell":
        words = item["action"]["command"]
    else:
        told = json.loads(item["arguments"])
        words = told.get("command", told.get("cmd"))
    assert (words if isinstance(words, list) else shlex.split(words)) == COMMAND


def test_no_login_shell_is_asked_for_where_one_can_be_left_out() -> None:
    plain = json.loads(called("exec_command", COMMAND, {})["arguments"])
    assert "login" not in plain
    offer: dict[str, Any] = {"parameters": {"properties": {"login": {}}}}
    assert json.loads(called("exec_command", COMMAND, offer)["arguments"])["login"] is False


def test_tools_are_found_wherever_a_release_puts_them() -> None:
    nested = {"type": "namespace", "name": "functions", "tools": [{"type": "function", "name": "shell"}]}
    assert set(offered({"tools": [{"type": "local_shell"}, nested]})) == {"local_shell", "shell"}
    assert set(
        offered({"tools": [], "input": [{"type": "additional_tools", "tools": [{"name": "exec_command"}]}]})
    ) == {"exec_command"}
    assert offered({}) == {}


def test_text_is_found_in_every_wrapping() -> None:
    assert text_of("a") == text_of([{"type": "text", "text": "a"}]) == text_of({"content": "a"}) == "a"
    assert text_of(None) == ""


@pytest.fixture
def model() -> Model:
    return Model(COMMAND)


def test_a_turn_is_a_call_and_its_end(model: Model) -> None:
    first = model.answer(question())
    assert (first["name"], model.code) == ("exec_command", None)
    last = model.answer(question("Process exited with code 4\nOutput:\nsaid"))
    assert (last["type"], model.code, model.text) == ("message", 4, "said")


def test_a_command_that_still_runs_is_asked_about_again(model: Model) -> None:
    model.answer(question())
    again = model.answer(question("Wall time: 30\nProcess running with session ID 31\nOutput:\nfirst "))
    assert (again["name"], json.loads(again["arguments"])["session_id"], model.code) == ("write_stdin", 31, None)
    model.answer(question("x", "Process exited with code 0\nOutput:\nsecond"))
    assert (model.code, model.text) == (0, "first second")


def test_codexs_own_requests_are_no_step_of_the_turn(model: Model) -> None:
    assert model.answer({"input": [], "tools": []})["type"] == "message"
    assert (model.asked, model.code) == (0, None)


def test_a_codex_that_offers_no_such_tool_is_reported(model: Model) -> None:
    model.answer(question(tool="apply_patch"))
    assert model.code == 1 and "apply_patch" in model.text


def test_the_stand_ins_understand_the_words_of_the_channel() -> None:
    probe = ["/usr/bin/python3", "-I", "-S", "/guest/task.py", "n0nce", "plan"]
    assert unwrapped(wrapped("/a world/channel", probe)) == (probe, "/a world/channel/in", "/a world/channel/out")
    other = wrapped("/a", ["sh", "-c", "true"])
    assert unwrapped(other) == (other, "", "")
