"""The bubblewrap as an engine unpacks it, and what is there held against what was asked for."""

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.environments.bubblewrap.bwrap_provider import Bubblewrap, BwrapFile
from pytest_codexsandbox.environments.bubblewrap.install_layer import CAPABILITIES, CAPABILITY, packed, wrong
from pytest_codexsandbox.model.container import BwrapSpec

PROGRAM = b"the program"
DIGEST = hashlib.sha256(PROGRAM).hexdigest()


def found(folder: Path) -> Bubblewrap:
    (folder / "bwrap").write_bytes(PROGRAM)
    (folder / "lib.so").write_bytes(b"a library")
    files = (
        BwrapFile(name="bwrap", inside="/usr/bin/bwrap", sha256=DIGEST),
        BwrapFile(name="lib.so", inside="/libs/lib.so", sha256="0" * 64),
    )
    return Bubblewrap(folder=str(folder), files=files)


def spec(**words: Any) -> BwrapSpec:
    return BwrapSpec(**{"name": "mine", "source": "static", "version": "0.8.0", **words})


@pytest.mark.parametrize("mode", [0o755, 0o4755, 0o711])
def test_the_mode_is_of_the_program_alone(tmp_path: Path, mode: int) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(found(tmp_path), spec(mode=mode)))) as archive:
        members = {member.name: (member.mode, member.uid, member.gid) for member in archive}
    assert members == {"usr/bin/bwrap": (mode, 0, 0), "libs/lib.so": (0o755, 0, 0)}


def test_a_file_capability_rides_in_the_header_of_the_program_alone(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(found(tmp_path), spec(file_caps=True)))) as archive:
        headers = {member.name: member.pax_headers.get(f"SCHILY.xattr.{CAPABILITY}") for member in archive}
    assert headers == {"usr/bin/bwrap": CAPABILITIES.decode("ascii"), "libs/lib.so": None}
    assert len(CAPABILITIES) == 20 and CAPABILITIES[3] == 2  # the kernel's second format


def there(**words: Any) -> dict[str, Any]:
    return {
        "path": "/usr/bin/bwrap",
        "real": "/usr/bin/bwrap",
        "sha256": DIGEST,
        "mode": "755",
        "capability": "",
        **words,
    }


def test_a_bubblewrap_as_requested_is_accepted(tmp_path: Path) -> None:
    assert wrong(spec(), found(tmp_path), there()) == ""
    assert wrong(spec(mode=0o4755), found(tmp_path), there(mode="4755")) == ""
    assert wrong(spec(file_caps=True), found(tmp_path), there(capability=CAPABILITIES.hex())) == ""
    assert wrong(BwrapSpec(name="distro"), None, there(sha256="whatever it is")) == ""
    assert wrong(BwrapSpec(name="none", source="none"), None, {}) == ""


@pytest.mark.parametrize(
    ("asked", "words", "told"),
    [
        (spec(), {"sha256": "1" * 64}, "sha256 is '1111"),
        (spec(), {"real": "/usr/local/bin/bwrap"}, "real is '/usr/local/bin/bwrap', not '/usr/bin/bwrap'"),
        (spec(mode=0o4755), {}, "mode is '755', not '4755'"),
        (spec(file_caps=True), {}, "capability is ''"),
        (spec(), {"capability": CAPABILITIES.hex()}, "capability is '01000002"),
        (BwrapSpec(name="none", source="none"), {}, "a program finds /usr/bin/bwrap on PATH"),
    ],
)
def test_another_bubblewrap_is_reported(tmp_path: Path, asked: BwrapSpec, words: dict[str, Any], told: str) -> None:
    assert told in wrong(asked, found(tmp_path) if asked.ours else None, there(**words))


def test_a_missing_bubblewrap_is_reported_if_one_was_requested(tmp_path: Path) -> None:
    assert "no bwrap" in wrong(spec(), found(tmp_path), {}) == wrong(BwrapSpec(name="distro"), None, {})
