"""Bubblewrap used: compares the one that set up a sandbox, as the kernel names it, with the requested one. Pure.

The requested bubblewrap (`facts["bwrap_asked"]` of an environment; without it, none is requested):
    distro, an upstream release   the file at /usr/bin/bwrap, by its digest
    none                          whatever Codex brings: its own file, or what is compiled into it
    as-chosen                     whatever Codex chooses
A Codex that confines by Landlock starts no bubblewrap: a requested release has no effect on it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from pytest_codexsandbox.model.observation import Link, ProcReading

BLOCKED_BY: Final = "bwrap-as-asked"  # `blocked_by` of a record where another bubblewrap was used
_SHELLS: Final = ("sh", "bash", "dash", "ash", "zsh")
_OWN_FILE: Final = "/codex-resources/bwrap"


class BwrapUsed(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["found", "brought", "compiled-in", "none", "mixed"]  # brought: the file beside Codex
    path: str = ""
    sha256: str = ""  # of the running file; "" where it cannot be read
    version: str = ""  # of the one that is found on PATH

    @property
    def description(self) -> str:
        digest = f"sha256 {self.sha256[:12]}" if self.sha256 else "its digest is not known"
        match self.kind:
            case "found":
                return f"{f'{self.version}, ' if self.version else 'bwrap '}{self.path or 'unreadable'} ({digest})"
            case "brought":
                return f"Codex' own bwrap ({digest})"
            case "compiled-in":
                return "the bubblewrap that is compiled into Codex"
            case "mixed":
                return "several, one within the other"
            case _:
                return "none"


def links_of(readings: Sequence[ProcReading]) -> tuple[Link, ...]:
    """Returns the bubblewraps between Codex and the probe, in their order."""
    links = (link for reading in readings for link in reading.chain)
    return tuple(link for link in links if link.name == "bwrap" or link.exe.rpartition("/")[2] == "bwrap")


def strangers_of(readings: Sequence[ProcReading]) -> tuple[Link, ...]:
    """Returns the programs between Codex and the command that are no part of Codex, where a sandbox has mounts of its
    own. Such a program is a bubblewrap under any name (a wrapper's `bwrap.real`), and not the one compiled into
    Codex."""
    return tuple(link for reading in readings if _has_own_mounts(reading) for link in _strangers(reading.chain))


def _strangers(chain: Sequence[Link]) -> Iterator[Link]:
    """Yields the programs after Codex that are neither Codex nor a shell. Codex starts itself again under other names,
    so its file identifies it. The shell of a command follows its last stage; older releases have no stage within the
    sandbox, and bubblewrap is the last link."""
    known = {link.exe for link in chain if _is_codex(link)}
    begun = next((at for at, link in enumerate(chain) if _is_codex(link)), len(chain))
    yield from (link for link in chain[begun:] if link.exe not in known and link.name not in _SHELLS)


def _is_codex(link: Link) -> bool:
    return link.name.startswith("codex") or link.exe.rpartition("/")[2].startswith("codex")


def used(readings: Sequence[ProcReading], facts: Mapping[str, Any] | None = None) -> BwrapUsed | None:
    """Returns the bubblewrap that set up a sandbox; None where no process could be read. `facts` of the environment
    give the version."""
    if not readings:
        return None
    links = links_of(readings) or strangers_of(readings)
    if not links:
        return BwrapUsed(kind="compiled-in" if any(map(_has_own_mounts, readings)) else "none")
    known = [link for link in links if link.sha256] or list(links)  # the inner one of a set-uid pair is unreadable
    first = known[0]
    if len({link.sha256 for link in known}) > 1:
        return BwrapUsed(kind="mixed")
    brought = first.exe.endswith(_OWN_FILE)
    there = (facts or {}).get("bwrap") or {}
    same = bool(first.sha256) and there.get("sha256") == first.sha256
    return BwrapUsed(
        kind="brought" if brought else "found",
        path=first.exe,
        sha256=first.sha256,
        version=str(there.get("version", "")) if same and not brought else "",
    )


def unexpected_bwrap(found: BwrapUsed | None, facts: Mapping[str, Any]) -> str:
    """Returns `requested 0.4.1, used …` where another bubblewrap than the requested one set up the sandbox; else ""."""
    asked = facts.get("bwrap_asked") or {}
    if found is None or found.kind == "none" or not asked or asked.get("free"):
        return ""
    if asked.get("source") == "none":
        as_asked = found.kind in ("brought", "compiled-in")
    else:
        as_asked = found.kind == "found" and bool(found.sha256) and found.sha256 == asked.get("sha256")
    return "" if as_asked else f"requested {_name(asked)}, used {found.description}"


def bwrap_not_used(found: BwrapUsed | None, facts: Mapping[str, Any]) -> str:
    """Returns why a requested release of bubblewrap has no effect on this Codex; else ""."""
    asked = facts.get("bwrap_asked") or {}
    if found is None or found.kind != "none" or asked.get("source") not in ("static", "wheel"):
        return ""
    return f"this Codex sets up its sandbox without a bubblewrap, so {_name(asked)} is not used"


def _name(asked: Mapping[str, Any]) -> str:
    name, version = str(asked.get("name", "")), str(asked.get("version", ""))
    return f"{name} ({version})" if asked.get("source") == "distro" and version else f"bubblewrap {name}"


def _has_own_mounts(reading: ProcReading) -> bool:
    inside, outside = reading.namespaces.get("mnt", ""), reading.hand_namespaces.get("mnt", "")
    return bool(inside and outside) and inside != outside
