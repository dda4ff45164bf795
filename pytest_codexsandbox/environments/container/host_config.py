"""Host config: the requested settings as Docker's API expects them. Pure: nothing is started here.

Low-level settings are used if the high-level ones differ between engines. A seccomp profile is the JSON text itself,
and unmasked system paths are two empty lists. model/container.py checks that the settings of a profile are names and
nothing else.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from pytest_codexsandbox.environments.container import seccomp_filters
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.model.container import ContainerSpec, Profile

WORLDS: Final = "/srv/areas"  # absent from every image: only there does an engine honour the mode of a tmpfs
_LARGEST: Final = 1 << 30  # of all worlds together: what runs away fills its own container, not the host's memory
_TARGET: Final = re.compile(r"/opt/tools/[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*")
_VOLUME: Final = re.compile(r"codexsandbox-[0-9a-f]{24}")
_NETWORK: Final = re.compile(r"codexsandbox-[0-9a-f]{8,}")


def host_config(spec: ContainerSpec, mounts: list[dict[str, Any]], *, network: str = "none") -> dict[str, Any]:
    profile = spec.profile
    _check(mounts, network)
    config: dict[str, Any] = {
        "NetworkMode": network,
        "Mounts": mounts,
        "Tmpfs": {WORLDS: f"rw,exec,nosuid,nodev,mode=1777,size={_LARGEST}", **_writable_places(profile)},
        "SecurityOpt": security_options(profile),
        **_capabilities(profile),
        "ReadonlyRootfs": profile.read_only,
        "Privileged": False,
        "AutoRemove": True,
        "LogConfig": {"Type": "none", "Config": {}},
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        "OomScoreAdj": 0,
        "UsernsMode": "" if profile.userns else "host",  # without a request also the one of an engine that has another
        **_names(),
    }
    if not profile.masked_paths:
        config |= {"MaskedPaths": [], "ReadonlyPaths": []}
    if profile.pids_limit:
        config["PidsLimit"] = profile.pids_limit
    if profile.memory:
        config |= {"Memory": profile.memory, "MemorySwap": profile.memory}
    return config


def _check(mounts: list[dict[str, Any]], network: str) -> None:
    """Refuses every mount but our own read-only folders and volumes, and every network but "none" or ours."""
    for mount in mounts:
        kind, source, target = mount["Type"], str(mount.get("Source", "")), str(mount["Target"])
        ours = _VOLUME.fullmatch(source) if kind == "volume" else kind == "bind" and _is_folder_of_ours(source)
        if not ours or mount.get("ReadOnly") is not True or not _TARGET.fullmatch(target):
            raise HarnessError("this path may not be mounted into a container", where=f"{source} at {target}")
    if network != "none" and not _NETWORK.fullmatch(network):
        raise HarnessError("a container may not join this network", where=network)


def _is_folder_of_ours(source: str) -> bool:
    """Checks a folder by its name: not at the top of the tree, not by way of `..`, and no socket of an engine."""
    path = PurePosixPath(source)
    plain = source.startswith("/") and str(path) == source and ".." not in path.parts
    return plain and len(path.parts) > 2 and path.suffix != ".sock"


def security_options(profile: Profile) -> list[str]:
    filter = seccomp_filters.marked(profile.seccomp, where=profile.name) if profile.has_filter else profile.seccomp
    options = [f"seccomp={filter}"] if filter else []
    options += ["no-new-privileges:true"] if profile.no_new_privileges else []
    options += [f"apparmor={profile.apparmor}"] if profile.apparmor else []
    return options


def identity(spec: ContainerSpec) -> Mapping[str, Any]:
    return {"User": f"{spec.user.uid}:{spec.user.gid}"}


def _writable_places(profile: Profile) -> dict[str, str]:
    """Returns the writable folders. A read-only image still has a writable /tmp: without one, no Codex starts."""
    return {"/tmp": "rw,exec,nosuid,nodev,mode=1777"} if profile.read_only else {}


def _names() -> dict[str, Any]:
    """Returns the name service: the agent on the loopback, which any user may open a port for."""
    return {"Dns": ["127.0.0.1"], "DnsSearch": ["."], "Sysctls": {"net.ipv4.ip_unprivileged_port_start": "0"}}


def _capabilities(profile: Profile) -> dict[str, list[str]]:
    """Lists all capabilities by name, so that they do not depend on an engine's default."""
    has = list(profile.capabilities)
    return {"CapAdd": has, "CapDrop": list(profile.cap_drop) if has == ["ALL"] else ["ALL"]}
