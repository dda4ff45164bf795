"""What was asked for, in the words of Docker's API. Pure: nothing is started here.

The low-level words are used where the high-level ones do not do the same on every engine: a seccomp profile is the
JSON text itself, and unmasked system paths are two empty lists.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_codexsandbox.errors import WrongInput
from pytest_codexsandbox.model.container import ContainerSpec, Profile

WORLDS: Final = "/srv/codexsandbox"  # absent from every image: only there does an engine honour the mode of a tmpfs
_CAPABILITY: Final = re.compile(r"ALL|[A-Z][A-Z_]{1,40}")
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def host_config(spec: ContainerSpec, mounts: list[dict[str, Any]], *, network: str = "none") -> dict[str, Any]:
    profile = spec.profile
    config: dict[str, Any] = {
        "NetworkMode": network,
        "Mounts": mounts,
        "Tmpfs": {WORLDS: "rw,exec,nosuid,nodev,mode=1777", **_writable_places(profile)},
        "SecurityOpt": security_options(profile),
        "CapAdd": [_capability(name) for name in profile.cap_add],
        "CapDrop": [_capability(name) for name in profile.cap_drop],
        "ReadonlyRootfs": profile.read_only,
        "Privileged": False,
        "AutoRemove": True,
        "LogConfig": {"Type": "none", "Config": {}},
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        "OomScoreAdj": 0,
    }
    if not profile.masked_paths:
        config |= {"MaskedPaths": [], "ReadonlyPaths": []}
    if profile.pids_limit:
        config["PidsLimit"] = profile.pids_limit
    if profile.memory:
        config |= {"Memory": profile.memory, "MemorySwap": profile.memory}
    if profile.userns:
        config["UsernsMode"] = _word("userns", profile.userns)
    return config


def security_options(profile: Profile) -> list[str]:
    options = [f"seccomp={profile.seccomp}"] if profile.seccomp else []
    options += ["no-new-privileges:true"] if profile.no_new_privileges else []
    options += [f"apparmor={_word('apparmor', profile.apparmor)}"] if profile.apparmor else []
    return options


def identity(spec: ContainerSpec) -> Mapping[str, Any]:
    return {"User": f"{spec.user.uid}:{spec.user.gid}"}


def _writable_places(profile: Profile) -> dict[str, str]:
    """A read-only image still has a /tmp that everybody may write to: without one, no Codex starts at all."""
    return {"/tmp": "rw,exec,nosuid,nodev,mode=1777"} if profile.read_only else {}


def _capability(name: str) -> str:
    plain = name.upper().removeprefix("CAP_")
    if not _CAPABILITY.fullmatch(plain):
        raise WrongInput(f"{name!r} is no capability")
    return plain


def _word(what: str, value: str) -> str:
    if not _WORD.fullmatch(value):
        raise WrongInput(f"{what} {value!r} is no name", why="letters, digits, dots, dashes")
    return value
