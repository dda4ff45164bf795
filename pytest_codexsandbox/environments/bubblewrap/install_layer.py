"""Install layer: packs a bubblewrap for unpacking, and compares the installed one with the request. Starts nothing."""

import io
import struct
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.environments.bubblewrap.bwrap_provider import INSIDE, Bubblewrap
from pytest_codexsandbox.model.container import BwrapSpec

CAPABILITY: Final = "security.capability"
_NET_RAW: Final = 1 << 13  # one that an engine leaves to containers: with another the kernel would not start it
# VFS_CAP_REVISION_2 with the effective bit: flags, then permitted and inheritable, low words first.
CAPABILITIES: Final = struct.pack("<IIIII", 0x02000001, _NET_RAW, 0, 0, 0)


def packed(found: Bubblewrap, spec: BwrapSpec) -> bytes:
    """Returns the files as an archive that an engine unpacks at `/`, owned by root. The first file is the program."""
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for place, file in enumerate(found.files):
            content = (Path(found.folder) / file.name).read_bytes()
            member = tarfile.TarInfo(file.inside.lstrip("/"))
            member.size, member.mode = len(content), file.mode if place else spec.mode
            if spec.file_caps and not place:
                member.pax_headers = {f"SCHILY.xattr.{CAPABILITY}": CAPABILITIES.decode("ascii")}
            archive.addfile(member, io.BytesIO(content))
    return into.getvalue()


def wrong(spec: BwrapSpec, found: Bubblewrap | None, there: Mapping[str, Any]) -> str:
    if spec.source == "none":
        return f"a program finds {there['path']} on PATH" if there else ""
    if not there:
        return "there is no bwrap on PATH"
    if found is None:
        return ""
    wanted = {
        "real": INSIDE,
        "sha256": found.sha256,
        "mode": f"{spec.mode:o}",
        "capability": CAPABILITIES.hex() if spec.file_caps else "",
    }
    return "; ".join(
        f"{name} is {there.get(name)!r}, not {value!r}" for name, value in wanted.items() if there.get(name) != value
    )
