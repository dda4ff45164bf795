"""Config verification: compares what was asked of an engine with what the agent finds inside the container.

Engines silently ignore options, so every requested setting is verified from inside. Each setting of a profile and of a
user implies a value of a fact. A profile says more if its settings alone do not tell it from another one, and an image
says which distribution it is. A pattern is a glob, `a | b` either of two, `!a` anything else.
"""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.environments.container import seccomp_filters
from pytest_codexsandbox.errors import ConfigMismatch
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.container import ContainerSpec, Profile

OURS: Final = "ours"
EVERYBODY: Final = "0 0 4294967295"  # the identity map: every user id maps to itself
_SOME: Final = "?*"
_NEWEST: Final = {"BPF", "CHECKPOINT_RESTORE", "PERFMON"}  # which some engines do not mean by ALL
_SHOWN: Final = 5


def expected(spec: EnvironmentSpec) -> dict[str, str]:
    """Returns the pattern that each fact must match."""
    asked = spec.container
    assert asked is not None
    profile = asked.profile
    resolver = {"resolver": OURS} if spec.resolver == OURS else {}
    return {**_of_user(asked), **_of_words(profile), **_of_network(profile), **resolver, **profile.expect}


def _of_user(asked: ContainerSpec) -> dict[str, str]:
    user = asked.user
    return {
        "uid": str(user.uid),
        "gid": str(user.gid),
        "user_name": _SOME if user.passwd else "",
        "caps_in_force": "none" if user.uid or not asked.profile.capabilities else "all",
    }


def _of_words(profile: Profile) -> dict[str, str]:
    hidden = _SOME if profile.masked_paths else ""
    expected = {
        "seccomp": "0" if profile.seccomp == "unconfined" else "2",
        "filter_mark": seccomp_filters.mark_of(profile.seccomp) if profile.has_filter else "",
        "no_new_privs": "1" if profile.no_new_privileges else "0",
        "masked": hidden,
        "read_only_paths": hidden,
        "rootfs": "ro" if profile.read_only else "rw",
        "uid_map": f"!{EVERYBODY}" if profile.userns else EVERYBODY,
        "memory_limit": str(profile.memory) if profile.memory else "none | ",
    }
    if "ALL" in profile.cap_add:
        dropped = set(profile.cap_drop)
        expected["caps_missing"] = " | ".join(" ".join(sorted(missing)) for missing in (dropped, dropped | _NEWEST))
    else:
        expected["caps"] = " ".join(profile.capabilities)
    if profile.pids_limit:
        expected["pids_limit"] = str(profile.pids_limit)
    if profile.apparmor:  # where nothing enforces AppArmor, unconfined is what everybody is
        expected["apparmor_profile"] = (
            "unconfined | " if profile.apparmor == "unconfined" else f"{profile.apparmor} (*)"
        )
    return expected


def _of_network(profile: Profile) -> dict[str, str]:
    own = profile.network == "own"
    return {
        "interfaces": "?* lo" if own else "lo",
        "default_route": "none | eth*" if own else "none",  # in a network of its own: to an address that no host has
        "nameservers": "127.0.0.11" if own else "127.0.0.1 | ",  # none named is this one too: resolv.conf(5)
    }


def differences(wanted: Mapping[str, str], facts: Mapping[str, Any]) -> tuple[str, ...]:
    found = dict(flat(facts))
    return tuple(
        f"{name}: requested {pattern or 'nothing'}, found {found.get(name, 'no answer') or 'nothing'}"
        for name, pattern in wanted.items()
        if not matches(pattern, found.get(name))
    )


def matches(pattern: str, found: str | None) -> bool:
    if found is None:
        return False
    if pattern.startswith("!"):
        return not matches(pattern[1:], found)
    return any(fnmatchcase(found, part.strip()) for part in pattern.split(" | "))


def check(spec: EnvironmentSpec, facts: Mapping[str, Any], *, nested: Callable[[], bool]) -> None:
    """Compares the facts with the request. `nested`: the engine is in a user namespace, where no map is the plain
    one.
    """
    _check_image(spec, facts)
    wrong = differences(expected(spec), facts)
    if wrong and all(one.startswith("uid_map:") for one in wrong) and not _remapped(spec) and nested():
        return
    if wrong:
        more = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise ConfigMismatch(
            f"the profile {spec.profile or 'of this container'} did not take effect",
            why="; ".join(wrong[:_SHOWN]) + more,  # without its name: the same for all its cells
            next_step="choose a profile that this engine and its kernel support: `docker info` shows some of it",
        )


def _check_image(spec: EnvironmentSpec, facts: Mapping[str, Any]) -> None:
    """Compares the image with the facts in its data file, since a tag of an engine may point to any image."""
    image = spec.container.image if spec.container is not None else None
    wrong = differences(image.expect, facts) if image is not None else ()
    if image is not None and wrong:
        raise ConfigMismatch(
            f"this image is not {image.name}",
            where=spec.id,
            why="; ".join(wrong),
            next_step=f"remove the engine's image {image.pull or image.name}, then: "
            f"codexsandbox images build --update {image.name}",
        )


def is_plain_map() -> bool:
    """Checks whether this very process has the plain uid map, outside any user namespace."""
    try:
        return " ".join(Path("/proc/self/uid_map").read_text(encoding="ascii").split()) == EVERYBODY
    except OSError:
        return True


def _remapped(spec: EnvironmentSpec) -> bool:
    return spec.container is not None and bool(spec.container.profile.userns)


def flat(facts: Mapping[str, Any], head: str = "") -> dict[str, str]:
    pairs: dict[str, str] = {}
    for name, value in facts.items():
        pairs |= flat(value, f"{head}{name}.") if isinstance(value, Mapping) else {f"{head}{name}": str(value)}
    return pairs
