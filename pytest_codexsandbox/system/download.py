"""Download: the only module that downloads. Every download is streamed, hashed on the way, and bounded in time.

A download is a context manager: leaving it reads the rest and compares the hash. So a caller that unpacks while
streaming learns at the end whether the bytes were right, before anything is put where others look.
"""

import base64
import hashlib
import http.client
import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, cast
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError, Unavailable, os_errors_as
from pytest_codexsandbox.system import environ
from pytest_codexsandbox.system.progress import Progress

PATIENCE: Final = 30.0  # seconds to connect, and between two reads
_CHUNK: Final = 1 << 18
_MOST: Final = 4 << 30  # no published Codex is of this size
_HANDLERS: Final = (
    urllib.request.ProxyHandler,
    urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler,
    urllib.request.HTTPRedirectHandler,
    urllib.request.HTTPDefaultErrorHandler,
    urllib.request.HTTPErrorProcessor,
)


class NotReached(Unavailable):
    """The network failed; another try may succeed."""


class NoAnswer(NotReached):
    """The server did not answer within the time limit."""


class NotTrusted(NotReached):
    """The server answered with a certificate that this Python does not trust."""


class NotThere(Unavailable):
    """The registry answered that it does not have the file."""


def wrong_bytes(where: str, why: str, *, instead: str = "use --codex-bin with your own binary") -> CodexSandboxError:
    """Returns the error for changed bytes. The file is not missing, so no other source is tried."""
    return CodexSandboxError(
        "the downloaded bytes are not the ones that the registry announced",
        where=where,
        why=why,
        next_step=f"a proxy or mirror changed them: ask its owner, or {instead}",
    )


class Hash(msgspec.Struct, frozen=True, kw_only=True):
    """Hash that the registry announces. Without an algorithm it announces none (a folder of the user's own)."""

    algorithm: str = ""
    digest: str = ""  # hexadecimal

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.digest}" if self.algorithm else ""

    @classmethod
    def of_integrity(cls, text: str) -> "Hash":
        """Parses npm's form, `sha512-<base64>`. Uses the strongest of several."""
        found = dict(part.partition("-")[::2] for part in text.split())
        for algorithm in ("sha512", "sha384", "sha256"):
            if algorithm in found:
                return cls(algorithm=algorithm, digest=base64.b64decode(found[algorithm].partition("?")[0]).hex())
        return cls()


class Download:
    """Stream that counts and hashes what is read from it."""

    def __init__(
        self,
        source: IO[bytes],
        *,
        url: str,
        total: int,
        expected: Hash,
        patience: float,
        arrived: Callable[[int], None],
    ) -> None:
        self._source, self._url, self._expected, self._arrived = source, url, expected, arrived
        self._patience = patience
        self._hash = hashlib.new(expected.algorithm or "sha256")
        self.total, self.count = total, 0

    def read(self, size: int = _CHUNK) -> bytes:
        with _told(self._url, self._patience):
            chunk = self._source.read(size if size >= 0 else _CHUNK)
        self.count += len(chunk)
        if self.count > _MOST:
            raise CodexSandboxError(f"the download was stopped at {_MOST:,} bytes", where=without_secrets(self._url))
        self._hash.update(chunk)
        self._arrived(len(chunk))
        return chunk

    def finish(self) -> None:
        """Reads the rest, then compares size and hash."""
        while self.read():
            pass
        where = without_secrets(self._url)
        if self.total and self.count != self.total:
            raise NotReached(
                f"the connection ended after {self.count:,} of {self.total:,} bytes", where=where, next_step="try again"
            )
        if self._expected.algorithm and self._hash.hexdigest() != self._expected.digest:
            got = f"{self._expected.algorithm}:{self._hash.hexdigest()}"
            raise wrong_bytes(where, f"expected {self._expected}, got {got}")


@contextmanager
def download(
    url: str,
    *,
    expected: Hash,
    progress: Progress,
    label: str,
    headers: Mapping[str, str] | None = None,
    patience: float = PATIENCE,
) -> Iterator[Download]:
    """Yields the bytes behind `url`. Leaving without an error checks that all came and that they hash to `expected`."""
    with _opened(url, headers or {}, patience) as (source, total), progress.download(label, total) as arrived:
        stream = Download(source, url=url, total=total, expected=expected, arrived=arrived, patience=patience)
        yield stream
        stream.finish()


def read_json(url: str, *, headers: Mapping[str, str] | None = None) -> Any:
    with _opened(url, headers or {}, PATIENCE) as (source, _), _told(url, PATIENCE):
        text = source.read(64 << 20)
    try:
        return json.loads(text)
    except ValueError as problem:
        raise Unavailable(
            "the registry answered with something that is not JSON", where=without_secrets(url), why=str(problem)
        ) from problem


def size_of(url: str, *, headers: Mapping[str, str] | None = None, patience: float = PATIENCE) -> int:
    """Returns the number of bytes that a download would have; 0 when the server does not report it."""
    with _opened(url, headers or {}, patience) as (_, total):
        return total


def without_secrets(url: str) -> str:
    """Returns the address as it may be printed and recorded: no user, no password, no query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@contextmanager
def _told(url: str, patience: float) -> Iterator[None]:
    """Turns every failure of the network into one error that says what happened and what to do."""
    where = without_secrets(url)
    try:
        yield
    except TimeoutError as problem:
        raise NotReached(
            f"no data arrived for {patience:.0f} s",
            where=where,
            why="the network or the server is stalled",
            next_step=_NEXT,
        ) from problem
    except (http.client.HTTPException, OSError) as problem:
        raise NotReached("the connection broke", where=where, why=_words(problem), next_step=_NEXT) from problem


_NEXT: Final = "try again; a proxy is taken from https_proxy, extra certificates from SSL_CERT_FILE"


@contextmanager
def _opened(url: str, headers: Mapping[str, str], patience: float) -> Iterator[tuple[IO[bytes], int]]:
    parts = urlsplit(url)
    if parts.scheme == "file":
        with _local(Path(unquote(parts.path))) as file:
            yield file, os.fstat(file.fileno()).st_size
        return
    if parts.scheme not in ("http", "https"):
        raise Unavailable("only http and https addresses are downloaded", where=without_secrets(url))
    with _answer(url, headers, patience) as answer:
        yield cast("IO[bytes]", answer), int(answer.headers.get("Content-Length") or 0)


def _local(path: Path) -> IO[bytes]:
    """Opens a wheel in a folder that pip's configuration names."""
    with os_errors_as(NotThere, "the archive does not exist", where=path):
        return path.open("rb")


def _answer(url: str, headers: Mapping[str, str], patience: float) -> http.client.HTTPResponse:
    request = urllib.request.Request(_address(url), headers={"User-Agent": "pytest-codexsandbox"})  # noqa: S310
    for name, value in {**_login(url), **headers}.items():
        request.add_unredirected_header(name, value)  # a redirect to another host must not carry a login
    opener = urllib.request.OpenerDirector()
    for handler in _HANDLERS:
        opener.add_handler(environ.settled(handler))
    where = without_secrets(url)
    try:
        answer = opener.open(request, timeout=patience)
    except urllib.error.HTTPError as problem:
        problem.close()
        raise _refused(problem.code, where) from None
    except TimeoutError as problem:
        raise NoAnswer(f"no answer within {patience:.0f} s", where=where, next_step=_NEXT) from problem
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as problem:
        reason = getattr(problem, "reason", problem)
        if isinstance(reason, TimeoutError):
            raise NoAnswer(f"no answer within {patience:.0f} s", where=where, next_step=_NEXT) from problem
        kind = NotTrusted if isinstance(reason, ssl.SSLCertVerificationError) else NotReached
        raise kind("no answer", where=where, why=_words(reason), next_step=_NEXT) from problem
    return cast("http.client.HTTPResponse", answer)


def _refused(status: int, where: str) -> Unavailable:
    if status in (404, 410):
        return NotThere("the registry does not have it", where=where, why=f"HTTP {status}")
    if status in (401, 403):
        return Unavailable(
            "the registry requires a login",
            where=where,
            why=f"HTTP {status}",
            next_step="install it with your own tool (pip, npm), then use --codex-bin PATH",
        )
    return NotReached(f"the registry answered HTTP {status}", where=where, next_step=_NEXT)


def _words(problem: object) -> str:
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted here: {problem.verify_message}"
    return str(problem) or type(problem).__name__


def _address(url: str) -> str:
    """Returns the address without the login, which goes into a header."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _login(url: str) -> dict[str, str]:
    parts = urlsplit(url)
    if not parts.username:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
