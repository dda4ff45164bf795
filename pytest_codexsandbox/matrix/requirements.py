"""Requirements of a promise: checked by data before anything starts, else by the started environment's facts.

Only the Codex binary can answer `capability:…`.
"""

from collections.abc import Mapping
from typing import Any, Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.protocols import Door

SETTINGS: Final = "kernel-settings:writable"  # writable by this user, without any sandbox
HARDWARE: Final = "hardware-settings:writable"
PRIVILEGES: Final = "new-privileges:possible"  # NoNewPrivs is not set without a sandbox
FOLDERS: Final = "system-folders:writable"  # at least one of them
OWN_TMP: Final = "tmp:own"  # the calls share /tmp with no other process of the machine
WORDS: Final = (
    "user:ordinary",
    "user:root",
    "resolver:ours",
    "network:own",
    "platform:linux",
    SETTINGS,
    FOLDERS,
    HARDWARE,
    PRIVILEGES,
    OWN_TMP,
)
OF_PROFILE: Final = frozenset({"network:own", SETTINGS})  # answered by the security profile of a container
AT_RUN_TIME: Final = "capability:"
FULL_ACCESS: Final = "full-access"
PROGRAM: Final = "program:"  # that is on the PATH of calls
# What works without any sandbox: the words of guest/probe_kernel_verbs.py and guest/kernel_objects.py.
OFFERS: Final = {
    "kernel:io-uring": "the kernel refuses io_uring here, even without a sandbox",
    "kernel:ptrace": "no process may trace its own child here, even without a sandbox",
    "kernel:memory": "no memory can be reached by a process's number here, even without a sandbox",
    "kernel:other-abi": "no 32-bit system call works here, even without a sandbox",
    "kernel:remount": "nothing can be remounted here, even without a sandbox",
    "kernel:devices": "/dev has no device here but the harmless ones",
    "kernel:segment": "no memory can be shared by number here, even without a sandbox",
    "kernel:typing": "the kernel lets this user type into no terminal here, even without a sandbox",
    "kernel:key": "no key can be kept here, even without a sandbox",
    "kernel:x86-64": "the machine code of this promise is for x86-64, and this kernel is for another machine",
}
NEEDS_LINUX: Final = (
    'needs Linux: docker run --rm -it -v "$PWD":/work -w /work python:3.12 '
    "sh -c \"pip install 'pytest-codexsandbox[codex]' && pytest --codex-matrix\""
)


def check(promise: Promise) -> None:
    for word in promise.requires:
        if word not in (*WORDS, *OFFERS) and not word.startswith((AT_RUN_TIME, PROGRAM)):
            raise InputError(
                f"{promise.id} has the unknown requirement {word!r}",
                why=did_you_mean(word, (*WORDS, *OFFERS, f"{AT_RUN_TIME}NAME", f"{PROGRAM}NAME")),
            )


def why_not_applicable(promise: Promise, environment: EnvironmentSpec, *, platform: str) -> str:
    """Returns why a promise does not apply; "" if it does. Local environments need Linux for every promise."""
    if environment.backend == "local" and platform != "linux":
        return NEEDS_LINUX
    for word in promise.requires:
        if reason := _unmet(word, environment, platform):
            return reason
    return ""


def why_not_there(promise: Promise, facts: Mapping[str, Any]) -> str:
    """Returns why the facts of the started environment rule a promise out; "" if they do not."""
    found = facts.get("kernel_settings", "")
    if SETTINGS in promise.requires and found != "writable":
        return f"by probe: /proc/sys is not writable here, even without a sandbox ({found or 'reason unknown'})"
    found = facts.get("hardware_settings", "")
    if HARDWARE in promise.requires and found != "writable":
        return f"by probe: /sys and /proc/irq are not writable here without a sandbox ({found or 'reason unknown'})"
    offers = facts.get("offers", ())
    for word in promise.requires:
        if word in OFFERS and word.partition(":")[2] not in offers:
            return f"by probe: {OFFERS[word]}"
    if FOLDERS in promise.requires and not facts.get("system_folders"):
        return "by probe: no file can be made in a folder of the system here, even without a sandbox"
    if PRIVILEGES in promise.requires and facts.get("no_new_privs") != "0":
        return "by probe: NoNewPrivs is set here without a sandbox, so that a setuid program gives nothing"
    if OWN_TMP in promise.requires and facts.get("private_tmp") is not True:
        return "by probe: /tmp is shared with the machine here, and nothing may be made in it"
    wanted = [word.removeprefix(PROGRAM) for word in promise.requires if word.startswith(PROGRAM)]
    missing = [name for name in wanted if name not in facts.get("programs", ())]
    return f"by probe: no {' and no '.join(missing)} on the PATH here" if missing else ""


def why_not_by_codex(promise: Promise, able: Capabilities, door: Door, policy: str) -> str:
    """Returns why a probed Codex or the door rules a promise out; "" if they do not."""
    missing = missing_capability(promise, able, door, policy)
    return f"by probe: Codex {able.version} has no {missing} at this door" if missing else door.lacks(able)


def missing_capability(promise: Promise, able: Capabilities, door: Door, policy: str) -> str:
    """Returns the first capability that a promise, a door and a policy need and that Codex lacks; "" if none."""
    return next((word for word in wanted_capabilities(promise, door, policy) if not has(able, word)), "")


def wanted_capabilities(promise: Promise, door: Door, policy: str) -> list[str]:
    """Returns the capabilities that a promise, a door and a policy need. A door that does not probe `full-access` does
    not need that one: every release can be asked for it there."""
    words = [word.removeprefix(AT_RUN_TIME) for word in promise.requires if word.startswith(AT_RUN_TIME)]
    needed = [*words, *door.needs]
    if not door.probes_full_access:
        return [word for word in needed if word != FULL_ACCESS]
    return [*needed, FULL_ACCESS] if policy == "danger-full-access" else needed


def has(capabilities: Capabilities, word: str) -> bool:
    return bool(getattr(capabilities, word.replace("-", "_"), False))


def _has_neighbour(environment: EnvironmentSpec) -> bool:
    return environment.container is not None and environment.container.profile.network == "own"


def _unmet(word: str, environment: EnvironmentSpec, platform: str) -> str:
    user = environment.user
    unmet = {
        "user:ordinary": user == "root" and "needs an ordinary user; this is root",
        "user:root": user not in ("", "root") and f"needs root; this is {user}",
        "resolver:ours": environment.resolver != "ours"
        and "needs the harness's own resolver (containers, virtual machines)",
        "network:own": not _has_neighbour(environment) and "needs a neighbour (profiles with their own network)",
        "platform:linux": platform != "linux" and NEEDS_LINUX,
    }
    return (_settings(environment) if word == SETTINGS else unmet.get(word)) or ""


def _settings(environment: EnvironmentSpec) -> str:
    """Returns why the kernel settings are not writable. Only the machine's own root may change them. Engines that mask
    parts of /proc also mount the settings read-only."""
    profile = environment.container.profile if environment.container else None
    if environment.user not in ("", "root"):
        return f"needs a root that may change kernel settings; this is {environment.user}"
    if profile and profile.userns:
        return "needs the root of the machine; the engine maps this root to another uid"
    return "needs a writable /proc/sys; the engine mounts it read-only" if profile and profile.masked_paths else ""
