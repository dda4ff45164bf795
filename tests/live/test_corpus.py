"""What the real Codex says of every file of the corpus is what the corpus says of it."""

import json
import os
import queue
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.generators.checks.case_view import filled
from pytest_codexsandbox.registry import cache_folder
from tests.fakes.machine import installed_codex, run_folder
from tests.unit.generators.corpus_builders import OF_CODEX, asked

_LIMIT = 60  # seconds for one answer


class Server:
    """One app-server: it reads config.toml anew for each thread/start."""

    def __init__(self, binary: str, folder: Path) -> None:
        self.home, self.workspace, self.count = folder / "home" / ".codex", folder / "workspace", 0
        for path in (self.home, self.workspace):
            path.mkdir(parents=True)
        env = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "CODEX_HOME": str(self.home)}
        self.process = subprocess.Popen(
            [binary, "app-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.workspace,
            env=env,
        )
        self.said: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.ask("initialize", {"clientInfo": {"name": "t", "title": "t", "version": "0"}})
        self._send({"method": "initialized"})

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.put(json.loads(line))

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.count += 1
        self._send({"id": self.count, "method": method, "params": params})
        while True:
            answer = self.said.get(timeout=_LIMIT)
            if answer.get("id") == self.count and "method" not in answer:
                return answer

    def loads(self, config: bytes) -> str:
        """ "" or Codex's own words for why it does not."""
        (self.home / "config.toml").write_bytes(config)
        answer = self.ask("thread/start", {"cwd": str(self.workspace), "ephemeral": True})
        return str(answer["error"]["message"]) if "error" in answer else ""

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=_LIMIT)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with run_folder() as folder:
        made = Server(str(installed_codex(cache_folder()).binary), folder)
        try:
            yield made
        finally:
            made.end()


def test_codex_loads_what_is_called_valid_and_nothing_else(server: Server) -> None:
    world = {"WORKSPACE": str(server.workspace), "OUTSIDE": "/srv/outside", "ROOT0": "/srv/root0"}
    wrong = {}
    for name, case in asked().items():
        if case.config is None:
            continue
        text = filled(case.config.decode("latin-1"), world).encode("latin-1")
        error = server.loads(text)
        if (error == "") != (case.input == "valid") or OF_CODEX.get(name, "") not in error:
            wrong[name] = f"{case.input}: {error or 'it loads'}"
    assert wrong == {}


def test_the_server_reads_each_file_anew(server: Server) -> None:
    assert server.loads(b"a = 1\n") == ""
    assert "duplicate key" in server.loads(b"a = 1\na = 2\n")
    assert server.loads(b"a = 1\n") == ""
