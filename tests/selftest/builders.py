"""Calls a subject as a door does, with nothing between: what it can do is known here without the harness."""

import base64
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

from pytest_codexsandbox.selftest import named, write
from pytest_codexsandbox.selftest.fake_codex_script import GUEST

NONCE = "0f1e2d3c"
WRITING = ("-c", 'sandbox_mode="workspace-write"')
# The folders of a test may lie below /tmp, which workspace-write grants.
NO_TMP = (
    *WRITING,
    "-c",
    "sandbox_workspace_write.exclude_slash_tmp=true",
    "-c",
    "sandbox_workspace_write.exclude_tmpdir_env_var=true",
)
Act = tuple[str, Path | str, dict[str, Any]]


def probe(acts: list[Act]) -> tuple[str, ...]:
    """The probe's own argv, as observe.py makes it."""
    rows = [
        {"id": str(place), "verb": verb, "path": str(path), "params": params}
        for place, (verb, path, params) in enumerate(acts)
    ]
    plan = base64.b64encode(zlib.compress(json.dumps({"acts": rows}).encode())).decode()
    return (sys.executable, "-I", "-S", str(GUEST / "probe.py"), NONCE, plan)


class World:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("project", "documents", "data", "sibling", "home", "codex", "tmp", "bin"):
            (folder / name).mkdir()
        self.workspace, self.outside = folder / "project", folder / "documents"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "LANG": "C.UTF-8",
        }

    def start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        path = write(self.folder / "bin", named([name])[0])
        return subprocess.Popen(
            [str(path), *words],
            cwd=self.workspace,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def call(self, name: str, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        with self.start(name, *words) as process:
            out, error = process.communicate(stdin, timeout=120)
            return subprocess.CompletedProcess(words, process.returncode, out, error)

    def rows(self, name: str, acts: list[Act], *, policy: tuple[str, ...] = NO_TMP) -> list[str]:
        """For each act `ok`, or the errno: what the probe says under this subject."""
        ended = self.call(name, *policy, "sandbox", "--", *probe(acts), stdin=b"go\n")
        rows = said(ended.stdout, "row")
        assert len(rows) == len(acts), ended.stderr.decode()
        return ["ok" if row["ok"] else row["errno"] or row["detail"] for row in rows]


def said(output: bytes, kind: str) -> list[Any]:
    head = f"\x1ecx:{NONCE}:".encode()
    lines = [line.removeprefix(head) for line in output.splitlines() if line.startswith(head)]
    return [message[kind] for message in map(json.loads, lines) if kind in message]
