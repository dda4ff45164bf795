"""Podman: settings that Podman needs in another form than Docker for the same container, and those it cannot provide.

Podman speaks Docker's API, and reads some settings differently. A filter is the name of a file, not the text. An option
unmasks paths, not empty lists. A capability added for an ordinary user is effective at once. The results are verified
from inside, as with any engine.
"""

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.container import USUAL_CAPABILITIES, ContainerSpec

_TEXT: Final = "seccomp={"


def is_podman(version: Mapping[str, Any]) -> bool:
    """Checks by an engine's version report whether the engine is Podman."""
    return any("podman" in str(one.get("Name", "")).lower() for one in version.get("Components") or ())


def refuse(asked: ContainerSpec, *, gives: Callable[[], frozenset[str]], where: str) -> None:
    """Refuses what Podman cannot provide. `gives`: returns its default capabilities, called only if they matter."""
    profile, user = asked.profile, asked.user
    if not profile.seccomp:
        raise Unavailable(
            f"{profile.name} is Docker's own seccomp filter; Podman has a different one",
            where=where,
            next_step="use a profile with a filter of its own (podman-default) or without one; or use Docker",
        )
    if profile.network == "own":
        raise Unavailable(
            f"{profile.name} needs the name service of Docker's networks; Podman has a different one",
            where=where,
            next_step="use Docker",
        )
    if user.uid == 0 or not profile.capabilities:
        return
    beyond = sorted(set(profile.capabilities) - gives())
    if beyond:
        raise Unavailable(
            f"Podman puts the capabilities of {profile.name} in force for {user.name} at once",
            where=where,
            why=f"its default set lacks {', '.join(beyond)}, and an added capability is in force for an ordinary user",
            next_step="run as root, add them to default_capabilities in Podman's containers.conf, or use Docker",
        )


def as_podman_config(config: Mapping[str, Any], asked: ContainerSpec) -> dict[str, Any]:
    """Converts Docker's `config` (host_config.host_config) for Podman. Pure. The text of a filter stays: see
    `with_files`.
    """
    options = ["no-new-privileges" if word == "no-new-privileges:true" else word for word in config["SecurityOpt"]]
    more = {"SecurityOpt": options}
    if not asked.profile.masked_paths:
        options.append("unmask=ALL")
    if asked.user.uid and asked.profile.capabilities:
        more |= {"CapAdd": [], "CapDrop": sorted({*USUAL_CAPABILITIES} - {*asked.profile.capabilities})}
    return {**{name: value for name, value in config.items() if name not in ("MaskedPaths", "ReadonlyPaths")}, **more}


def with_files(config: Mapping[str, Any], folder: Path, *, near: Callable[[], bool], where: str) -> dict[str, Any]:
    """Replaces the text of a filter by a file that is named by its content."""
    return {**config, "SecurityOpt": [_with_file(word, folder, near, where) for word in config["SecurityOpt"]]}


def _with_file(word: str, folder: Path, near: Callable[[], bool], where: str) -> str:
    if not word.startswith(_TEXT):
        return word
    if not near():
        raise Unavailable(
            "this Podman takes a seccomp filter only as a file, and cannot read files of this machine",
            where=where,
            next_step="use a profile without a filter, a Podman on this machine, or Docker",
        )
    text = word.removeprefix("seccomp=")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
    making = file.with_name(f"{file.name}.{os.getpid()}")
    making.write_text(text, encoding="utf-8")
    making.replace(file)  # many workers write the same
    return f"seccomp={file}"
