"""A registry on loopback, archives as their publishers lay them out, and a machine whose programs are scripted."""

import base64
import hashlib
import io
import json
import os
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.releases.artefact import Artefact
from pytest_codexsandbox.releases.platform_tag import PLATFORMS
from pytest_codexsandbox.system.download import Hash
from pytest_codexsandbox.system.progress import Progress

X86 = PLATFORMS["x86_64"]
TRIPLE = X86.triple
CODEX = b"#!/bin/sh\necho codex-cli 0.136.0\n"
MODERN = {
    f"package/vendor/{TRIPLE}/bin/codex": CODEX,
    f"package/vendor/{TRIPLE}/bin/codex-code-mode-host": b"large",
    f"package/vendor/{TRIPLE}/codex-resources/bwrap": b"bwrap",
    f"package/vendor/{TRIPLE}/codex-resources/voice/bin/codex-voice-host": b"large",
    f"package/vendor/{TRIPLE}/codex-path/rg": b"rg",
    f"package/vendor/{TRIPLE}/codex-package.json": b"{}",
    "package/README.md": b"read me",
}


def tgz(members: Mapping[str, bytes]) -> bytes:
    return tgz_of([(_regular(name, data), data) for name, data in members.items()])


def tgz_of(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _regular(name: str, data: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o755
    return info


def wheel(members: Mapping[str, bytes], *, kinds: Mapping[str, int] | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (kinds or {}).get(name, 0o100755) << 16
            archive.writestr(info, data)
    return out.getvalue()


def sha512(data: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()


class Heard(Progress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


class Registry:
    """Answers on loopback with what was put; remembers who asked with which headers."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

    def put(self, path: str, data: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> str:
        def answer(request: BaseHTTPRequestHandler) -> None:
            request.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
                request.send_header(name, value)
            request.end_headers()
            try:
                request.wfile.write(data)
            except OSError:  # the client has had enough
                pass

        return self.put_answer(path, answer)

    def put_answer(self, path: str, answer: Callable[[BaseHTTPRequestHandler], None]) -> str:
        self.answers[path] = answer
        return self.address + path

    def tarball(self, release: str, data: bytes, **words: Any) -> Artefact:
        url = self.put(f"/codex-{release}.tgz", data, **words)
        expected = Hash.of_integrity(sha512(data))
        return Artefact(release=release, source="npm", form="tgz", url=url, expected=expected)

    def wheel(self, release: str, data: bytes) -> Artefact:
        url = self.put(f"/codex-{release}.whl", data)
        expected = Hash(algorithm="sha256", digest=hashlib.sha256(data).hexdigest())
        return Artefact(release=release, source="pypi", form="wheel", url=url, expected=expected)


@contextmanager
def registry() -> Iterator[Registry]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known.asked.append((self.path, dict(self.headers.items())))
            answer = known.answers.get(self.path)
            if answer is None:
                self.send_error(404)
            else:
                answer(self)

        def log_message(self, *words: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *words: object) -> None:
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        known = Registry(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield known
        finally:
            server.shutdown()
            thread.join()


def said(stdout: str | bytes = "", *, code: int = 0, stderr: str = "") -> CommandResult:
    out = stdout if isinstance(stdout, bytes) else stdout.encode()
    return CommandResult(ended="exit", exit=code, stdout=out, stderr=stderr.encode(), stdout_total=len(out))


class Machine:
    """`proc.run` of a machine on which nothing really starts."""

    HELP: ClassVar[dict[tuple[str, ...], str]] = {
        ("sandbox", "--help"): "Usage: codex sandbox [OPTIONS] [COMMAND]...\n\n  -P, --permission-profile <NAME>\n",
        ("app-server", "--help"): "Usage: codex app-server [OPTIONS]\n",
        ("exec-server", "--help"): "Usage: codex exec-server [OPTIONS]\n",
        ("doctor", "--help"): "Usage: codex doctor [OPTIONS]\n",
        ("features", "--help"): "Usage: codex features <COMMAND>\n",
    }

    features = "shell_snapshot    stable             true\nshell_tool        stable             true\n"

    def __init__(self, *, npm: Mapping[str, Any] | None = None) -> None:
        self.npm: dict[str, Any] = dict(npm or {})
        self.pypi: dict[str, Any] = {}
        self.commands: list[Command] = []

    def __call__(self, command: Command) -> CommandResult:
        self.commands.append(command)
        if command.argv[0] == "npm":
            return self._npm(command.argv[-2].rpartition("@")[2])
        if command.argv[0] == "pip":
            return self._pip(command.argv[-1].rpartition("==")[2])
        return self.codex(command.argv[1:], Path(command.argv[0]).read_text())

    def started(self, program: str) -> int:
        return sum(1 for command in self.commands if command.argv[0] == program)

    def codex(self, words: tuple[str, ...], script: str) -> CommandResult:
        """A modern Codex of the version that its script says."""
        if words == ("--version",):
            return said("codex-cli " + script.rpartition(" ")[2])
        if words == ("features", "list"):
            return said(self.features)
        if words[:2] == ("features", "list"):
            return said(code=1, stderr="Error: default_permissions refers to unknown built-in profile")
        return said(self.HELP.get(words, "Codex CLI\n\nUsage: codex [OPTIONS] [PROMPT]\n"))

    def _npm(self, version: str) -> CommandResult:
        if version in self.npm:
            return said(json.dumps(self.npm[version]))
        return said(json.dumps({"error": {"code": "E404", "summary": "No match found"}}), code=1)

    def _pip(self, version: str) -> CommandResult:
        if version in self.pypi:
            return said(json.dumps({"install": [{"download_info": self.pypi[version]}]}))
        return said(code=1, stderr=f"ERROR: No matching distribution found for =={version}")


def dist(artefact: Artefact) -> dict[str, str]:
    """What npm says of an archive."""
    digest = base64.b64encode(bytes.fromhex(artefact.expected.digest)).decode()
    return {"tarball": artefact.url, "integrity": f"{artefact.expected.algorithm}-{digest}"}


def download_info(artefact: Artefact) -> dict[str, Any]:
    """What pip's report says of a wheel."""
    return {"url": artefact.url, "archive_info": {"hashes": {"sha256": artefact.expected.digest}}}


def codex_of(release: str) -> dict[str, bytes]:
    """A modern package, whose program says that it is `release`."""
    return {**MODERN, f"package/vendor/{TRIPLE}/bin/codex": f"#!/bin/sh\necho codex-cli {release}".encode()}


def leftovers(cache: Path) -> list[str]:
    """What lies in the cache beside whole entries, names, locks and notes."""
    return sorted(str(path.relative_to(cache)) for path in (cache / "staging").rglob("*")) + sorted(
        path.name for path in cache.rglob(".*") if path.is_file()
    )


def age(path: Path, seconds: float) -> None:
    os.utime(path, (seconds, seconds))


def changed(artefact: Artefact, **words: Any) -> Artefact:
    return msgspec.structs.replace(artefact, **words)
