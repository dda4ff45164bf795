"""Binary cache: keeps the digest of a binary by what the kernel says of the file, and its capabilities by its
digest."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError, HarnessError
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.releases.artefact import Run
from pytest_codexsandbox.releases.cache_files import sha256_of, write_whole
from pytest_codexsandbox.releases.capability_probe import has_bwrap, probe

EDITION: Final = 2  # of the probe: a new edition probes again
_asked: dict[str, Capabilities] = {}  # scripts, by this process
_read: dict[str, str] = {}  # digests, by this process: needed after each call, also where the cache is read-only


def digest_of(binary: str, cache: Path) -> str:
    """Returns the sha256 of the file. Kept for its exact device, inode, size and times: any write changes those."""
    path = Path(binary)
    stat = path.stat()
    mark = f"{path} {stat.st_dev} {stat.st_ino} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}"
    if mark not in _read:
        _read[mark] = _noted_digest(path, mark, cache)
    return _read[mark]


def _noted_digest(path: Path, mark: str, cache: Path) -> str:
    note = cache / "digests" / sha256(os.fsencode(mark)).hexdigest()
    try:
        known = note.read_text()
    except (OSError, UnicodeDecodeError):
        known = ""
    if len(known) == 64:
        return known
    digest = sha256_of(path)
    _remember(note, digest.encode())
    return digest


def probed(binary: str, digest: str, cache: Path, run: Run) -> Capabilities:
    """Returns the capabilities of a binary, kept by its digest. A bubblewrap beside it depends on the folder, and is
    looked for each time."""
    note = cache / "probes" / f"{digest}.{EDITION}.json"
    try:
        found = msgspec.json.decode(note.read_bytes(), type=Capabilities)
    except (OSError, msgspec.MsgspecError):
        found = probe(binary, run=run, home=cache)
        need_same(binary, digest, cache)  # answers of another program are kept under no digest
        _remember(note, msgspec.json.encode(found))
    return msgspec.structs.replace(found, bundled_bwrap=has_bwrap(binary))


def asked_by_each(binary: str, cache: Path, run: Run) -> Capabilities:
    """Returns the capabilities of a script, probed by every process. The script may start another Codex today, and its
    own bytes do not show that."""
    if binary not in _asked:
        _asked[binary] = probe(binary, run=run, home=cache)
    return _asked[binary]


def need_same(binary: str, digest: str, cache: Path) -> None:
    """Raises HarnessError where the binary was replaced meanwhile. A probe takes a second or more: time enough for a
    build to put another program there."""
    try:
        same = digest_of(binary, cache) == digest
    except OSError:
        same = False
    if not same:
        raise HarnessError(
            "this Codex was replaced while its capabilities were queried",
            where=binary,
            next_step="do not replace it until the run has ended, or measure a copy of it",
        )


def is_script(binary: str) -> bool:
    with Path(binary).open("rb") as file:
        return file.read(2) == b"#!"


def _remember(note: Path, content: bytes) -> None:
    try:
        write_whole(note, content)
    except (OSError, CodexSandboxError):  # a cache that may only be read still serves
        pass
