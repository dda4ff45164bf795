"""The short questions: what a registry's and an archive's words come to, and where archives are."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.environments.container import engine
from pytest_codexsandbox.environments.container.provision import registry_ping
from pytest_codexsandbox.environments.container.provision.registry_ping import YES, archive, archives, host_of, registry
from pytest_codexsandbox.errors import HarnessError, InputError
from tests.unit.environments.container.provision.builders import a_distro

PATIENCE = 20.0
TOOL = """
    my $mirror    = 'http://deb.debian.org/debian';
    my $secmirror = 'http://security.debian.org/debian-security';
            $mirror    = 'http://archive.ubuntu.com/ubuntu';
            $secmirror = 'http://security.ubuntu.com/ubuntu';
            $mirror    = 'http://ports.ubuntu.com/ubuntu-ports';
            $secmirror = 'http://ports.ubuntu.com/ubuntu-ports';
"""


@pytest.mark.parametrize(
    ("reference", "host"),
    [
        ("alpine:3.22", "docker.io"),
        ("rockylinux/rockylinux:9", "docker.io"),
        ("localhost/mine", "localhost"),
        ("127.0.0.1:5000/x:1", "127.0.0.1:5000"),
        ("registry.example/a/b@sha256:1", "registry.example"),
        ("mine", "docker.io"),
    ],
)
def test_the_registry_of_a_name_is_the_one_that_engines_read_in_it(reference: str, host: str) -> None:
    assert host_of(reference) == host


class AnEngine:
    podman = False

    def __init__(self, says: str) -> None:
        self.api, self._says = self, says

    def __call__(self, host: str, *, timeout: int) -> "AnEngine":
        return self

    def __enter__(self) -> "AnEngine":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @contextmanager
    def asked(self, what: str) -> Iterator[None]:
        yield

    def inspect_distribution(self, reference: str) -> None:
        if self._says:
            raise HarnessError("the container engine did not ask", why=self._says)


@pytest.mark.parametrize(
    ("says", "answer", "alone", "short"),
    [
        ("", "yes", False, ""),
        ('Get "https://r/v2/": dial tcp: lookup r on 127.0.0.53:53: no such host', "no", False, "no registry answered"),
        ('Get "http://r/v2/": dial tcp 127.0.0.1:9: connect: connection refused', "no", False, "no registry answered"),
        ('Get "https://r/v2/": context deadline exceeded', "no", False, "no registry answered"),
        ('Get "https://r/v2/": x509: certificate signed by unknown authority', "no", False, "does not trust"),
        ('Get "https://r/v2/": http: server gave HTTP response to HTTPS client', "no", False, "does not trust"),
        ('Get "https://r/v2/": Forbidden', "no", False, "proxy or firewall"),
        ("received unexpected HTTP status: 503 Service Unavailable", "no", False, "proxy or firewall"),
        ("toomanyrequests: You have reached your pull rate limit", "no", False, "accepts no more pulls"),
        ("errors: denied: requested access to the resource is denied", "no", True, "requires a login"),
        ("manifest unknown: manifest unknown", "no", True, "has no such image"),
        ("Path /v1.40/distribution/x/json is not supported", "unknown", False, ""),
        ("something that nobody has seen before", "unknown", False, ""),
    ],
)
def test_the_answer_of_the_engine_concerns_the_registry_or_one_image(
    says: str, answer: str, alone: bool, short: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "Engine", AnEngine(says))
    heard = registry("unix:///fake.sock", "mine:1", patience=PATIENCE)
    assert (heard.answer, heard.alone) == (answer, alone)
    assert short in heard.short
    assert heard.why == says


def test_no_option_is_taken_for_an_image() -> None:
    with pytest.raises(InputError, match="'--mine'"):
        registry("unix:///fake.sock", "--mine", patience=PATIENCE)


# ---- where archives are
@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tool").write_text(TOOL)
    monkeypatch.setattr("shutil.which", lambda name, **_: str(tmp_path / "tool"))
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for name in ("DEBIAN", "UBUNTU"):
        monkeypatch.delenv(f"CODEXSANDBOX_MIRROR_{name}", raising=False)
    return tmp_path


def test_archives_are_those_that_the_tool_would_ask(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    debian = a_distro(keyring="debian-archive-keyring")
    ubuntu = a_distro("ubuntu-24.04", suite="noble", keyring="ubuntu-archive-keyring")
    assert archives(debian) == (
        "http://deb.debian.org/debian/dists/bookworm/",
        "http://security.debian.org/debian-security/dists/bookworm-security/",
    )
    assert archives(a_distro(suite="sid")) == ("http://deb.debian.org/debian/dists/sid/",)
    assert archives(ubuntu)[0] == "http://archive.ubuntu.com/ubuntu/dists/noble/"
    assert archives(a_distro("kali", suite="kali-rolling")) == (), "nobody here knows"
    assert archives(a_distro(mirror="https://mine.example/debian/")) == ("https://mine.example/debian/dists/bookworm/",)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert archives(ubuntu)[0] == "http://ports.ubuntu.com/ubuntu-ports/dists/noble/"
    monkeypatch.setenv("CODEXSANDBOX_MIRROR_UBUNTU", "http://near.example/ubuntu")
    assert archives(ubuntu) == ("http://near.example/ubuntu/dists/noble/",)


def test_without_the_text_of_the_tool_the_answer_is_unknown(tool: Path) -> None:
    (tool / "tool").write_text("another program")
    assert archives(a_distro()) == ()
    (tool / "tool").unlink()
    assert archives(a_distro()) == ()


# ---- whether they answer
class Archive(BaseHTTPRequestHandler):
    there: tuple[str, ...] = ("/dists/old/Release", "/dists/new/InRelease")

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        status = 200 if self.path in self.there else 403 if "closed" in self.path else 404
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Archive)
    server.daemon_threads = True
    server.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_an_archive_has_the_suite_or_has_it_not(served: Any) -> None:
    base = f"http://127.0.0.1:{served.server_address[1]}"
    assert archive((f"{base}/dists/new/",), suite="new", patience=PATIENCE) == YES
    assert archive((f"{base}/dists/old/",), suite="old", patience=PATIENCE) == YES
    assert served.asked == ["/dists/new/InRelease", "/dists/old/InRelease", "/dists/old/Release"]
    none = archive((f"{base}/dists/none/",), suite="none", patience=PATIENCE)
    assert none.answer == "no" and none.short.endswith(" none")
    assert none.why == f"{base}/dists/none/Release: HTTP 404"
    closed = archive((f"{base}/dists/closed/",), suite="closed", patience=PATIENCE)
    assert closed.answer == "no" and closed.short != none.short
    assert "HTTP 403" in closed.why


def test_the_other_archives_only_have_to_answer(served: Any) -> None:
    base = f"http://127.0.0.1:{served.server_address[1]}"
    assert archive((f"{base}/dists/new/", f"{base}/dists/new-security/"), suite="new", patience=PATIENCE) == YES
    gone = archive((f"{base}/dists/new/", "http://127.0.0.1:9/dists/new-security/"), suite="new", patience=PATIENCE)
    assert gone.answer == "no" and "debian" not in gone.short


def test_a_silent_archive_differs_from_one_that_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/dists/x/"
        assert archive((address,), suite="x", patience=0.2).hung
    refused = archive((address,), suite="x", patience=PATIENCE)
    assert (refused.answer, refused.hung) == ("no", False)


def test_one_archive_that_has_the_sources_is_enough(served: Any) -> None:
    base = f"http://127.0.0.1:{served.server_address[1]}"
    addresses = ("http://127.0.0.1:9/x", f"{base}/none", f"{base}/dists/new/InRelease")
    assert registry_ping.sources(addresses, patience=PATIENCE) == YES
    nobody = registry_ping.sources(addresses[:2], patience=PATIENCE)
    assert nobody.answer == "no"
    assert "HTTP 404" in nobody.why


def test_an_archive_in_a_folder_is_looked_at(tmp_path: Path) -> None:
    folder = tmp_path / "dists" / "x"
    address = f"file:{folder}/"
    assert archive((address,), suite="x", patience=PATIENCE).short.endswith(" x")
    folder.mkdir(parents=True)
    (folder / "Release").touch()
    assert archive((address,), suite="x", patience=PATIENCE) == YES
