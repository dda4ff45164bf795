"""Fake doors: `app-server` and `exec` of fake_codex.py. Here too the conduct decides what becomes of a command.

Both read $CODEX_HOME/config.toml when they start, as far as a policy needs it. The command line's options override it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any, Callable, NoReturn  # noqa: UP035

if TYPE_CHECKING:
    from pytest_codexsandbox.guest.fake_call import is_probe, wait_for, write_all
else:  # beside the file that was started
    from fake_call import is_probe, wait_for, write_all

Perform = Callable[[list[str]], int]
Options = dict[str, Any]
_CHANNEL = re.compile(r"then exec (<.+? >.+?); else ")  # of guest/fifo_channel.py
_CUT = 64 * 1024  # bytes of stderr that are reported
_MODES = {"read-only": "readOnly", "workspace-write": "workspaceWrite", "danger-full-access": "dangerFullAccess"}


class Broken(Exception):
    """Raised for a configuration file that cannot be parsed."""


def of_the_file() -> Options:
    """Returns the file's settings by their dotted names; none if this Python has no TOML parser."""
    try:
        import tomllib
    except ImportError:
        return {}
    path = os.path.join(os.environ.get("CODEX_HOME", ""), "config.toml")
    try:
        with open(path, "rb") as file:
            return dict(_flat(tomllib.load(file), ""))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        raise Broken(f"failed to load configuration: {path}: {problem}") from None


def _flat(table: dict[str, Any], before: str) -> Any:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield before + key, value


# ---- a command


def unwrapped(command: list[str]) -> tuple[list[str], str, str]:
    """Returns the probe with the two FIFOs that a shell would give it; any other command unchanged."""
    found = _CHANNEL.search(command[2]) if command[:2] == ["/bin/sh", "-c"] and is_probe(command[3:]) else None
    if not found:
        return command, "", ""
    given, said = (word[1:] for word in shlex.split(found[1]))
    return command[3:], given, said


def ran(command: list[str], perform: Perform) -> tuple[int, str]:
    """Runs a call in a child. Returns its exit code and its stderr."""
    inner, given, said = unwrapped(command)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _be_the_command(inner, given, said, writer, perform)
    os.close(writer)
    heard = b""
    while data := os.read(reader, 65536):
        heard = (heard + data)[-_CUT:]
    os.close(reader)
    return wait_for(child), heard.decode("utf-8", "replace")


def _be_the_command(inner: list[str], given: str, said: str, writer: int, perform: Perform) -> NoReturn:
    code = 125
    try:
        os.dup2(os.open(given or os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(said, os.O_WRONLY) if said else writer, 1)
        os.dup2(writer, 2)
        os.set_inheritable(writer, False)
        if said:
            write_all(1, b"\x06")
        code = perform(inner)
    except SystemExit as ended:
        code = int(ended.code or 0)
    except OSError as failure:
        write_all(2, f"Error: {failure}\n".encode())
    finally:
        os._exit(code)


# ---- codex app-server


def serve(asked: Options, policy: dict[str, Any], perform: Perform) -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message:
            write_all(
                1, json.dumps({"id": message["id"], **_answered(message, asked, policy, perform)}).encode() + b"\n"
            )


def _answered(message: dict[str, Any], asked: Options, policy: dict[str, Any], perform: Perform) -> dict[str, Any]:
    method, params = message["method"], message.get("params") or {}
    try:
        if method == "initialize":
            return {"result": {"userAgent": "codex-cli 0.0.0", "codexHome": os.environ.get("CODEX_HOME", "")}}
        if method == "config/read":
            return {"result": {"config": _nested({**of_the_file(), **asked}), "origins": {}}}
        if method == "thread/start":
            of_the_file()
            return {"result": {"thread": {"id": "t0"}, "sandbox": _claimed(policy), "approvalPolicy": "on-request"}}
        if method == "command/exec":
            code, heard = ran(params["command"], perform)
            return {"result": {"exitCode": code, "stdout": "", "stderr": heard}}
    except Broken as problem:
        return {"error": {"code": -32600, "message": str(problem)}}
    return {"error": {"code": -32601, "message": f"unknown method {method}"}}


def _claimed(policy: dict[str, Any]) -> dict[str, Any]:
    sandbox: dict[str, Any] = {"type": _MODES[policy["mode"]]}
    if policy["mode"] == "workspace-write":
        sandbox.update(
            writableRoots=policy["roots"],
            networkAccess=policy["network"],
            excludeSlashTmp=policy["exclude_slash_tmp"],
            excludeTmpdirEnvVar=policy["exclude_tmpdir"],
        )
    return sandbox


def _nested(options: Options) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in options.items():
        *tables, key = name.split(".")
        here = made
        for table in tables:
            here = here.setdefault(table, {})
        here[key] = value
    return made


# ---- codex exec

TOOL = {
    "type": "function",
    "name": "exec_command",
    "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}, "login": {"type": "boolean"}}},
}


def turn(asked: Options, perform: Perform) -> None:
    """Asks the model until it calls no more tools."""
    address = str(asked.get(f"model_providers.{asked.get('model_provider')}.base_url", ""))
    said: list[dict[str, Any]] = [{"type": "message", "role": "user", "content": []}]
    _event({"type": "turn.started"})
    while call := _asked(address, said):
        code, heard = ran(shlex.split(json.loads(call["arguments"])["cmd"]), perform)
        output = f"Wall time: 0.0 seconds\nProcess exited with code {code}\nOutput:\n{heard}"
        said += [call, {"type": "function_call_output", "call_id": call["call_id"], "output": output}]
    _event({"type": "turn.completed"})


def _event(event: dict[str, Any]) -> None:
    write_all(1, json.dumps(event).encode() + b"\n")


def _asked(address: str, said: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the model's call of a tool; nothing if it answers with text only."""
    import http.client

    host, _, path = address.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=60)
    try:
        body = json.dumps({"model": "any", "input": said, "tools": [TOOL]})
        connection.request("POST", f"/{path}/responses", body, {"content-type": "application/json"})
        events = connection.getresponse().read().decode()
    finally:
        connection.close()
    found = [json.loads(line[6:]) for line in events.splitlines() if line.startswith("data: ")]
    items = [event["item"] for event in found if event["type"] == "response.output_item.done"]
    return next((item for item in items if item["type"] == "function_call"), {})
