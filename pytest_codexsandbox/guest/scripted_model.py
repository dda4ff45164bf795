"""A model that says what it was told to: the part of the Responses API that one turn of Codex needs, on loopback.

Asked for the first time it calls the tool that runs commands, whichever of them Codex offers; while that runs it asks
again; once Codex told how the command ended it says that it is done.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOOLS = ("exec_command", "shell_command", "shell", "local_shell")
CALL = "call_1"
_WAITS = 30_000  # ms that Codex waits for a command before it reports that it still runs
_LONGEST = 24 * 60 * 60 * 1000
_EXITED = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
_RUNNING = re.compile(r"^Process running with session ID (\d+)$", re.MULTILINE)
_DENIED = re.compile(r"\bSandbox\(Denied \{ output: ExecToolCallOutput \{ exit_code: (-?\d+),")
_MOST = 8 * 1024 * 1024  # bytes of a question


class Model:
    """Scripted model. `code` and `text`: how the command ended, as Codex reports it; None until then."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self.asked = 0
        self.code: int | None = None
        self.text = ""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 60}, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """Returns the next item of the turn."""
        tools = offered(question)
        if not tools:  # Codex' own request: a title for the conversation
            return message('{"title": "task"}')
        self.asked += 1
        results = [item for item in question.get("input", []) if str(item.get("type", "")).endswith("_output")]
        if not results:
            return self._call(tools)
        return self._heard(text_of(results[-1].get("output")))

    def _call(self, tools: dict[str, dict[str, Any]]) -> dict[str, Any]:
        name = next((name for name in TOOLS if name in tools), "")
        if not name:
            self.code, self.text = 1, f"Codex offers its model no tool that runs a command: {', '.join(tools)}"
            return message("there is no such tool")
        return called(name, self._command, tools[name])

    def _heard(self, text: str) -> dict[str, Any]:
        head, _, output = text.partition("\nOutput:\n")
        running = _RUNNING.search(head)
        if running:
            self.text += output
            again = {"session_id": int(running[1]), "chars": "", "yield_time_ms": _WAITS}
            return function_call("write_stdin", again)
        self.code, reported = ending(text)
        self.text += reported
        return message("done")


def ending(text: str) -> tuple[int, str]:
    """Returns the exit code that Codex reported, and its text. A report without an exit code is a refusal: 1 and its
    text.
    """
    try:
        result = json.loads(text)
        return int(result["metadata"]["exit_code"]), str(result.get("output", ""))
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    head, divider, output = text.partition("\nOutput:\n")
    found = _EXITED.search(head)
    if found:
        return int(found[1]), output if divider else ""
    denied = _DENIED.search(text)
    return (int(denied[1]) if denied else 1), text


def called(name: str, command: list[str], tool: dict[str, Any]) -> dict[str, Any]:
    """Returns the call of a tool, with the words that the tool accepts."""
    takes = ((tool.get("parameters") or {}).get("properties")) or {}
    if name == "local_shell":
        action = {"type": "exec", "command": command, "timeout_ms": _LONGEST, "env": {}}
        return {"type": "local_shell_call", "call_id": CALL, "status": "completed", "action": action}
    line = shlex.join(command)
    words: dict[str, Any] = {
        "exec_command": {"cmd": line, "yield_time_ms": _WAITS},
        "shell_command": {"command": line, "timeout_ms": _LONGEST},
        "shell": {"command": command, "timeout_ms": _LONGEST},
    }[name]
    if "login" in takes:  # what the user's profile prints and changes is no matter of the sandbox
        words["login"] = False
    return function_call(name, words)


def offered(question: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns tools by name. Some releases nest them in namespaces, or put them among the input."""
    found: dict[str, dict[str, Any]] = {}

    def walk(tools: list[dict[str, Any]]) -> None:
        for tool in tools:
            if tool.get("type") == "namespace":
                walk(tool.get("tools") or [])
            else:
                found[str(tool.get("name") or tool.get("type"))] = tool

    walk(question.get("tools") or [])
    for item in question.get("input") or []:
        if isinstance(item, dict) and item.get("type") == "additional_tools":
            walk(item.get("tools") or [])
    return found


def function_call(name: str, words: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function_call", "call_id": CALL, "name": name, "arguments": json.dumps(words)}


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def text_of(output: Any) -> str:
    """Returns the text of a tool's output, unwrapped from lists and objects."""
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(text_of(part.get("text", "")) for part in output if isinstance(part, dict))
    if isinstance(output, dict):
        return text_of(output.get("content", ""))
    return ""


def stream(item: dict[str, Any], number: int) -> bytes:
    """Returns one item and the end of the response, as server-sent events."""
    events = (
        {"type": "response.created", "response": {"id": f"r{number}"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": f"r{number}"}},
    )
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            if not self.path.split("?")[0].endswith("/responses") or length > _MOST:
                return self._give(404, b"{}", "application/json")
            item = model.answer(json.loads(self.rfile.read(length)))
            return self._give(200, stream(item, model.asked), "text/event-stream")

        def do_GET(self) -> None:
            self._give(404, b"{}", "application/json")

        def _give(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Discards the log of the HTTP server."""

    return Handler
