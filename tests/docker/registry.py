"""A registry of one image on the loopback, which engines ask without TLS: what a pull is proved against."""

import gzip
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
_ARCH: Final = {"x86_64": "amd64", "aarch64": "arm64"}


class Registry:
    """`asked`: the paths that a client wanted, in order."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.asked: list[str] = []
        self.documents: dict[str, tuple[str, bytes]] = {}  # path → its type and content

    def publish(self, name: str, tag: str, file_system: bytes, *, machine: str) -> str:
        """An image of one layer; the digest of its manifest."""
        layer = gzip.compress(file_system, 1, mtime=0)
        config = json.dumps(
            {
                "architecture": _ARCH.get(machine, machine),
                "os": "linux",
                "config": {},
                "rootfs": {"type": "layers", "diff_ids": [_digest(file_system)]},
            }
        ).encode()
        manifest = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": _MANIFEST,
                "config": _blob("application/vnd.docker.container.image.v1+json", config),
                "layers": [_blob("application/vnd.docker.image.rootfs.diff.tar.gzip", layer)],
            }
        ).encode()
        for content in (config, layer):
            self.documents[f"/v2/{name}/blobs/{_digest(content)}"] = ("application/octet-stream", content)
        for reference in (tag, _digest(manifest)):
            self.documents[f"/v2/{name}/manifests/{reference}"] = (_MANIFEST, manifest)
        return _digest(manifest)


@contextmanager
def registry() -> Iterator[Registry]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    made = Registry(f"127.0.0.1:{server.server_address[1]}")
    server.registry = made  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        found: Registry = self.server.registry  # type: ignore[attr-defined]
        found.asked.append(self.path)
        if self.path == "/v2/":
            kind, content, status = "application/json", b"{}", 200
        elif self.path in found.documents:
            (kind, content), status = found.documents[self.path], 200
        else:
            missing = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}
            kind, content, status = "application/json", json.dumps(missing).encode(), 404
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Docker-Content-Digest", _digest(content))
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


def _blob(kind: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "size": len(content), "digest": _digest(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
