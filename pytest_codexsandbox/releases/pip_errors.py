"""pip errors: what a failure of pip means. An absence is only its own message that nothing matches, from indexes that
all answered."""

import re
from typing import Final

from packaging.utils import canonicalize_name

from pytest_codexsandbox.errors import CodexSandboxError, Unavailable
from pytest_codexsandbox.releases.artefact import last_line
from pytest_codexsandbox.releases.installed_package import PACKAGE
from pytest_codexsandbox.system.download import NotReached, NotThere, without_secrets, wrong_bytes

_LACKS: Final = re.compile(r"No matching distribution found for ([A-Za-z0-9._-]+)")
_NETWORK: Final = (
    "NewConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "NameResolutionError",
    "Max retries exceeded",
    "ProxyError",
    "SSLError",
    "Temporary failure in name resolution",
    "Network is unreachable",
)
_ABSENT: Final = ("No matching distribution found", "Could not find a version that satisfies")
_GONE: Final = ("404", "410")
_LOGIN: Final = ("401", "403", "407")
_HASHES: Final = "DO NOT MATCH THE HASHES"
# pip writes it only to its log, and goes on as if that index were empty.
_UNREAD: Final = re.compile(r"Could not fetch URL (\S+?): (.+?)(?: - .*)?$", re.MULTILINE)
_BROKEN: Final = re.compile(r"connection broken by '(.+)': \S+$")


def by_hand(package: str = PACKAGE) -> str:
    return f"try: pip download --no-deps {package}"


def refusal(version: str, stderr: bytes, log: bytes, *, package: str = PACKAGE) -> CodexSandboxError:
    """Returns the error for a failed call of pip. `version` as PyPI writes it."""
    said = stderr.decode(errors="replace")
    if _HASHES in said:
        return _wrong_hash(said)
    # A missing page (404) counts as read: that index has no such package.
    unread = [found for found in _UNREAD.findall(log.decode(errors="replace")) if not found[1].startswith(_GONE)]
    for url, why in sorted(unread, key=lambda found: not found[1].startswith(_LOGIN)):
        return _not_read(without_secrets(url), why, package)
    network = next((line for line in said.splitlines() if any(word in line for word in _NETWORK)), "")
    if network:
        return NotReached("pip could not reach its index", why=_reason(network), next_step=by_hand(package))
    if any(words in said for words in _ABSENT):
        return _absent(f"{package} {version}", package, said)
    errors = [line for line in said.splitlines() if line.startswith(("ERROR:", "×")) and "Exception:" not in line]
    return Unavailable(
        f"pip could not download {package} {version}",
        why=last_line(errors[0].encode() if errors else stderr),
        next_step=by_hand(package),
    )


def _absent(wanted: str, package: str, said: str) -> NotThere:
    """Returns the error for an absence. A package that the wanted one needs may be missing instead of that one
    itself."""
    found = _LACKS.search(said)
    missing = canonicalize_name(found[1]) if found else ""
    besides = f", or lacks its dependency: {missing}" if missing not in ("", canonicalize_name(package)) else ""
    return NotThere(f"PyPI has no {wanted} for this machine{besides}")


def _not_read(where: str, why: str, package: str) -> Unavailable:
    if why.startswith(_LOGIN):
        return Unavailable(
            "pip's index requires a login", where=where, why=_short(why), next_step="see: pip config list"
        )
    return NotReached("pip could not read its index", where=where, why=_short(why), next_step=by_hand(package))


def _reason(line: str) -> str:
    found = _BROKEN.search(line)
    return _short(found[1] if found else line)


def _short(words: str) -> str:
    """Returns pip's own words, without the login that an address in them may hold."""
    return last_line(words.encode())


def _wrong_hash(said: str) -> CodexSandboxError:
    where = re.search(r" from (\S+?)(?:#\S*)?:\s*$", said, re.MULTILINE)
    hashes = re.findall(r"(?:Expected|Got)\s+(?:(sha\d+)\s+)?([0-9a-f]{32,})", said)
    words = [f"{name or 'sha256'}:{digest}" for name, digest in hashes]
    why = f"expected {words[0]}, got {words[-1]}" if len(words) > 1 else "pip compared them"
    return wrong_bytes(without_secrets(where[1]) if where else "", why)
