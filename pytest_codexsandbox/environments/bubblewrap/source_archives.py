"""Source archives: the addresses at which this machine's own tools look for Debian and Ubuntu packages.

No address is written here. Both archives' pools hold upstream's source tarballs unchanged, but in different versions. A
download is verified by its digest, so any archive is as good as another.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

VARIABLE: Final = "CODEXSANDBOX_ARCHIVES"  # addresses of archives, instead of the ones that are found
_WEB: Final = ("http://", "https://")
# Sources of archives' addresses: apt's own settings first, then the defaults of the tools on this machine.
_KNOWN_IN: Final = (
    ("etc/apt/sources.list", r"^\s*deb(?:-src)?\s+(?:\[[^\]]*\]\s+)?(\S+)"),
    ("etc/apt/sources.list.d/*.list", r"^\s*deb(?:-src)?\s+(?:\[[^\]]*\]\s+)?(\S+)"),
    ("etc/apt/sources.list.d/*.sources", r"^URIs:\s*(.+)$"),
    ("usr/share/python-apt/templates/Debian.info", r"^BaseURI:\s*(\S+)"),
    ("usr/share/python-apt/templates/Ubuntu.info", r"^BaseURI:\s*(\S+)"),
    ("usr/share/debootstrap/scripts/*", r"\bdefault_mirror\s+(\S+)"),
    ("usr/bin/mmdebstrap", r"^\s*(?:my\s+)?\$mirror\s*=\s*'([^']+)'"),
)
_MOST: Final = 1 << 20  # of one such file


def bases(root: Path = Path("/")) -> tuple[str, ...]:
    """Returns the addresses of archives' pools, each once, the likeliest first; () if this machine knows none."""
    named = os.environ.get(VARIABLE, "").split()
    found = named or [address for pattern, line in _KNOWN_IN for address in _addresses(root, pattern, line)]
    return tuple(_once(found if named else sorted(found, key=_is_no_distributions)))


def _addresses(root: Path, pattern: str, line: str) -> Iterator[str]:
    for path in sorted(root.glob(pattern)):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(_MOST)
        except OSError:
            continue
        for found in re.findall(line, text, re.MULTILINE):
            yield from (word for word in found.split() if word.startswith(_WEB))


def _is_no_distributions(address: str) -> bool:
    """Checks whether an archive is a third party's or of security updates; those are tried last."""
    return not re.search(r"/(debian|ubuntu)[^/]*/?$", address) or "security" in address


def _once(addresses: Iterable[str]) -> Iterator[str]:
    """Drops an address that differs from an earlier one only in TLS."""
    seen: set[str] = set()
    for address in addresses:
        plain = address.rstrip("/")
        name = plain.partition("://")[2]
        if name not in seen:
            seen.add(name)
            yield plain
