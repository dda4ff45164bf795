"""Downloads: hashed, bounded, and every failure one error that explains itself."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import CodexSandboxError, Unavailable
from pytest_codexsandbox.system import download
from pytest_codexsandbox.system.download import Hash, NotReached, NotThere
from pytest_codexsandbox.system.progress import Progress
from tests.unit.releases.builders import Registry, sha512

DATA = b"codex" * 100_000


class Told(Progress):
    """A progress that remembers."""

    def __init__(self) -> None:
        self.label, self.total, self.count = "", 0, 0

    @contextmanager
    def download(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        self.label, self.total = label, total
        yield self._arrived

    def _arrived(self, count: int) -> None:
        self.count += count

    def say(self, line: str) -> None:
        raise AssertionError(line)


def get(url: str, *, expected: Hash | None = None, patience: float = 60.0, progress: Told | None = None) -> bytes:
    with download.download(
        url, expected=expected or Hash(), progress=progress or Told(), label="it", patience=patience
    ) as stream:
        return b"".join(iter(stream.read, b""))


def test_an_uploaded_file_arrives_and_its_hash_is_compared(server: Registry) -> None:
    progress = Told()
    url = server.put("/it", DATA)
    assert get(url, expected=Hash.of_integrity(sha512(DATA)), progress=progress) == DATA
    assert (progress.label, progress.total, progress.count) == ("it", len(DATA), len(DATA))


def test_a_byte_that_changed_on_the_way_is_an_error_that_names_both_hashes(server: Registry) -> None:
    url = server.put("/it", b"X" + DATA[1:])
    with pytest.raises(CodexSandboxError, match=r"sha512:.*sha512:") as caught:
        get(url, expected=Hash.of_integrity(sha512(DATA)))
    assert not isinstance(caught.value, NotReached)  # another try would not help
    assert "sha512:" in caught.value.why


def test_unread_bytes_are_hashed_all_the_same(server: Registry) -> None:
    url = server.put("/it", DATA + b"more")
    with (
        pytest.raises(CodexSandboxError, match="announced"),
        download.download(url, expected=Hash.of_integrity(sha512(DATA)), progress=Told(), label="it") as stream,
    ):
        stream.read(10)


def test_a_connection_that_ends_early_is_the_networks_fault(server: Registry) -> None:
    def half(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(DATA)))
        request.end_headers()
        request.wfile.write(DATA[:1000])

    with pytest.raises(NotReached):
        get(server.put_answer("/it", half))


@pytest.mark.parametrize("after_headers", [False, True], ids=["before the answer", "in its middle"])
def test_a_server_that_stalls_is_left_after_the_patience_and_named(server: Registry, after_headers: bool) -> None:
    over = threading.Event()

    def stall(request: BaseHTTPRequestHandler) -> None:
        if after_headers:
            request.send_response(200)
            request.send_header("Content-Length", "10")
            request.end_headers()
        over.wait(120)

    try:
        with pytest.raises(NotReached, match=r"within 1 s|for 1 s") as caught:
            get(server.put_answer("/it", stall), patience=1.0)
    finally:
        over.set()
    assert server.address in caught.value.where
    assert "try again" in caught.value.next_step


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [(404, NotThere, "does not have it"), (401, Unavailable, "requires a login"), (503, NotReached, "HTTP 503")],
)
def test_each_refusal_of_a_registry_has_its_own_words(
    server: Registry, status: int, kind: type[Exception], words: str
) -> None:
    with pytest.raises(Unavailable, match=words) as caught:
        get(server.put("/it", b"", status=status))
    assert type(caught.value) is kind


def test_a_closed_port_is_the_networks_fault(server: Registry) -> None:
    with pytest.raises(NotReached, match="no answer"):
        get("http://127.0.0.1:1/it")


def test_an_answer_that_is_not_json_is_said_to_be_none(server: Registry) -> None:
    with pytest.raises(Unavailable, match="not JSON"):
        download.read_json(server.put("/it", b"<html>"))


def test_a_login_in_an_address_is_sent_but_never_shown(server: Registry) -> None:
    server.put("/it?token=hunter3", b"no", status=500)
    with pytest.raises(NotReached) as caught:
        get(server.address.replace("//", "//me:hunter2@") + "/it?token=hunter3")
    assert "hunter" not in str(caught.value)


def test_a_redirect_to_another_host_does_not_carry_the_login(server: Registry) -> None:
    away = server.put("/away", b"here")
    server.put("/it", b"", status=302, headers={"Location": away})
    assert get(server.address.replace("//", "//me:hunter2@") + "/it") == b"here"
    sent = {path: headers.get("Authorization") for path, headers in server.asked}
    assert sent["/it"] is not None
    assert sent["/away"] is None


def test_a_file_of_the_users_own_is_read_and_a_missing_one_named(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(DATA)
    assert get((tmp_path / "it").as_uri()) == DATA
    with pytest.raises(NotThere, match=re.escape(str(tmp_path / "none"))):
        get((tmp_path / "none").as_uri())


def test_other_addresses_than_http_are_refused() -> None:
    with pytest.raises(Unavailable, match="http and https"):
        get("ftp://127.0.0.1/it")


def test_the_strongest_of_npms_hashes_counts() -> None:
    both = f"sha256-{'A' * 43}= {sha512(DATA)}"
    assert Hash.of_integrity(both).algorithm == "sha512"
    assert Hash.of_integrity("") == Hash()
