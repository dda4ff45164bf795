"""Every profile, and what is noticed where its container is another's. The facts were measured with a real engine."""

import json
import re
from itertools import permutations, product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.environments.container import host_config, seccomp_filters
from pytest_codexsandbox.environments.container.config_verification import check, differences, expected, matches
from pytest_codexsandbox.errors import ConfigMismatch, HarnessError, InputError
from pytest_codexsandbox.matrix.axis_files import SHIPPED, Catalogue
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.container import BwrapSpec, ContainerSpec, ImageSpec, Profile, UserSpec
from pytest_codexsandbox.registry import data_folder
from tests.lint.profiles_data import USERS, load

NAMES = SHIPPED.values("profiles")
FACTS = {(one.profile, one.user): one.facts for one in load().measured}
MEASURED = sorted({name for name, _ in FACTS})
ROOT = UserSpec(name="root")


def spec(profile: Profile, user: str = "root", *, resolver: str = "ours") -> EnvironmentSpec:
    made = ContainerSpec(
        image=ImageSpec(name="debian-bookworm"),
        bwrap=BwrapSpec(name="distro"),
        profile=profile,
        user=SHIPPED.user(user),
    )
    return EnvironmentSpec(
        id="e",
        backend="docker",
        distro="debian-bookworm",
        profile=profile.name,
        resolver=resolver,  # type: ignore[arg-type]
        container=made,
    )


def config(**words: Any) -> dict[str, Any]:
    found = spec(Profile(**{"name": "mine", **words})).container
    assert found is not None
    return host_config.host_config(found, [])


def test_every_profile_was_measured_and_says_what_it_is() -> None:
    assert set(MEASURED) == set(NAMES), "measure a new profile: python -m tools.profiles_measured NAME"
    assert all(SHIPPED.profile(name).summary for name in NAMES)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("name", MEASURED)
def test_a_profile_recognises_its_own_container(name: str, user: str) -> None:
    assert differences(expected(spec(SHIPPED.profile(name), user)), FACTS[name, user]) == ()


@pytest.mark.parametrize("user", USERS)
def test_no_profile_takes_the_container_of_another_for_its_own(user: str) -> None:
    unnoticed = [
        f"{asked} in the container of {there}"
        for asked, there in permutations(MEASURED, 2)
        if not differences(expected(spec(SHIPPED.profile(asked), user)), FACTS[there, user])
    ]
    assert unnoticed == []


@pytest.mark.parametrize("name", MEASURED)
def test_a_user_is_distinguished_from_another(name: str) -> None:
    for asked, there in permutations(USERS, 2):
        assert differences(expected(spec(SHIPPED.profile(name), asked)), FACTS[name, there])
    unnamed = differences(expected(spec(SHIPPED.profile(name), "u1000-nopasswd")), FACTS[name, "u1000"])
    assert any(one.startswith("user_name: ") for one in unnamed)


def test_an_ignored_setting_is_reported_with_the_requested_and_the_found_value() -> None:
    facts = {**FACTS["docker-default", "root"], "apparmor_profile": ""}
    with pytest.raises(ConfigMismatch) as raised:
        check(spec(Profile(name="mine", apparmor="nosuch")), facts, nested=lambda: False)
    assert "mine" in raised.value.what
    assert re.search(r"apparmor_profile: .*nosuch \(\*\), .*nothing", raised.value.why)
    check(spec(Profile(name="mine", apparmor="nosuch")), {**facts, "apparmor_profile": "nosuch (enforce)"}, nested=bool)


def test_a_missing_fact_is_no_agreement() -> None:
    facts = dict(FACTS["docker-default", "root"])
    del facts["seccomp"]
    wrong = differences(expected(spec(SHIPPED.profile("docker-default"))), facts)
    assert [one.partition(":")[0] for one in wrong] == ["seccomp"] and "2" in wrong[0]


RELEASES = {
    "debian-bullseye": ("debian", "11", "Debian GNU/Linux 11 (bullseye)"),
    "debian-bookworm": ("debian", "12", "Debian GNU/Linux 12 (bookworm)"),
    "debian-trixie": ("debian", "13", "Debian GNU/Linux 13 (trixie)"),
    "debian-sid": ("debian", "", "Debian GNU/Linux forky/sid"),
    "ubuntu-22.04": ("ubuntu", "22.04", "Ubuntu 22.04.5 LTS"),
    "ubuntu-24.04": ("ubuntu", "24.04", "Ubuntu 24.04.5 LTS"),
}


def test_an_image_that_is_another_distribution_is_not_measured_under_its_name() -> None:
    """A tag of an engine may lead to anything, and a registry too."""
    for asked, (there, (distro, version, name)) in product(RELEASES, RELEASES.items()):
        one = spec(SHIPPED.profile("docker-default"))
        assert one.container is not None
        made = msgspec.structs.replace(one.container, image=SHIPPED.image(asked))
        one = msgspec.structs.replace(one, container=made)
        said = {"distro": distro, "distro_version": version, "distro_name": name}
        facts = {**FACTS["docker-default", "root"], **said}
        if asked == there:
            check(one, facts, nested=lambda: False)
            continue
        with pytest.raises(HarnessError, match=asked):
            check(one, facts, nested=lambda: False)


def test_every_distribution_says_what_it_is() -> None:
    silent = [name for name in SHIPPED.values("distros") if not SHIPPED.image(name).expect]
    assert silent == ["busybox"]  # one program, and no file that says so


def test_an_engine_in_a_user_namespace_is_let_pass_for_that_alone() -> None:
    facts = {**FACTS["docker-default", "root"], "uid_map": "0 1000 1 1 100000 65536"}
    check(spec(SHIPPED.profile("docker-default")), facts, nested=lambda: True)
    with pytest.raises(HarnessError, match="uid_map"):
        check(spec(SHIPPED.profile("docker-default")), facts, nested=lambda: False)
    with pytest.raises(HarnessError, match="seccomp"):
        check(spec(SHIPPED.profile("docker-default")), {**facts, "seccomp": "0"}, nested=lambda: True)
    plain = {**FACTS["userns-remap", "root"], "uid_map": "0 0 4294967295"}
    with pytest.raises(HarnessError, match="uid_map"):
        check(spec(SHIPPED.profile("userns-remap")), plain, nested=lambda: True)


@pytest.mark.parametrize(
    ("pattern", "found", "held"),
    [
        ("2", "2", True),
        ("2", "0", False),
        ("2", None, False),
        ("", "", True),
        ("", "x", False),
        ("?*", "", False),
        ("?*", "/proc/kcore", True),
        ("a | b", "b", True),
        ("a | b", "a | b", False),
        ("!a", "b", True),
        ("!a", "a", False),
        ("!a", None, False),
        ("none | ", "", True),
    ],
)
def test_patterns(pattern: str, found: str | None, held: bool) -> None:
    assert matches(pattern, found) is held


# ---- synthetic profiles
def test_a_profile_is_called_synthetic_if_it_is_and_only_then() -> None:
    for name in NAMES:
        assert SHIPPED.profile(name).synthetic == name.startswith("synthetic-"), name
    for name, synthetic in (("synthetic-x", False), ("x", True)):
        with pytest.raises(ValueError, match="synthetic"):
            Profile(name=name, synthetic=synthetic)
    with pytest.raises(msgspec.ValidationError, match="synthetic"):
        msgspec.convert({"name": "x", "synthetic": True}, Profile)


def test_there_is_a_synthetic_profile_for_every_refusal_of_a_kernel() -> None:
    refused = {
        "userns-eperm",
        "userns-enospc",
        "userns-einval",
        "uid-map-eacces",
        "uid-map-eperm",
        "netlink-socket",
        "rtm-newaddr",
        "mount",
        "pivot-root",
        "proc-mount",
        "seccomp",
        "landlock-enosys",
    }
    assert {f"synthetic-{name}" for name in refused} <= set(NAMES)


def test_every_filter_that_is_shipped_is_used_and_every_one_differs() -> None:
    texts = {path.name: path.read_text() for path in (data_folder("matrix") / "profiles" / "seccomp").glob("*.json")}
    used = {SHIPPED.profile(name).seccomp for name in NAMES}
    assert {name for name, text in texts.items() if text not in used} == set()
    assert len({seccomp_filters.mark_of(text) for text in texts.values()}) == len(texts)


def test_a_synthetic_profile_refuses_one_thing_and_allows_the_rest() -> None:
    for name in NAMES:
        if SHIPPED.profile(name).synthetic:
            filter = json.loads(SHIPPED.profile(name).seccomp)
            assert filter["defaultAction"] == "SCMP_ACT_ALLOW", name
            assert filter["syscalls"], name


# ---- filters
FILTER = (
    '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mount", "nfsservctl"], "action": "SCMP_ACT_LOG"}]}'
)


def test_a_filter_is_given_a_mark_that_is_made_of_its_text() -> None:
    made = json.loads(seccomp_filters.marked(FILTER, where="here"))
    assert made["syscalls"][0] == {"names": ["mount"], "action": "SCMP_ACT_LOG"}
    marks = made["syscalls"][1:]
    assert [rule["names"] for rule in marks] == [["nfsservctl"]] * 4
    assert "-".join(str(rule["errnoRet"]) for rule in marks) == seccomp_filters.mark_of(FILTER)
    assert all(133 < rule["errnoRet"] <= 4095 for rule in marks)
    assert [[arg["value"] for arg in rule["args"]][1] for rule in marks] == [0, 1, 2, 3]
    assert seccomp_filters.mark_of(FILTER) != seccomp_filters.mark_of(FILTER + " ")


@pytest.mark.parametrize(
    "text", ["/etc/passwd", "unconfined,apparmor=x", "[]", "../seccomp/deny-mount.json", "unconfined\n"]
)
def test_an_invalid_filter_is_no_profile(text: str) -> None:
    with pytest.raises(ValueError, match="seccomp"):
        Profile(name="mine", seccomp=text)


@pytest.mark.parametrize("text", ["{", "{}", '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{}]}'])
def test_half_a_filter_is_not_given_to_an_engine(text: str) -> None:
    with pytest.raises(InputError, match="seccomp"):
        config(seccomp=text)


# ---- what an engine is asked for
def test_no_container_is_privileged_and_capabilities_are_named_one_by_one() -> None:
    for name in NAMES:
        found = spec(SHIPPED.profile(name)).container
        assert found is not None
        asked = host_config.host_config(found, [])
        assert asked["Privileged"] is False, name
        assert asked["CapDrop"] == ["ALL"] or asked["CapAdd"] == ["ALL"], name
        assert asked["NetworkMode"] == "none", name
        assert not {"Binds", "VolumesFrom", "Devices", "PidMode", "IpcMode", "UTSMode", "Links"} & set(asked), name
    assert len(config()["CapAdd"]) == 14
    assert config(cap_drop=("ALL",))["CapAdd"] == []
    assert "SETFCAP" not in config(cap_drop=("SETFCAP",))["CapAdd"]
    assert config(cap_add=("ALL",), cap_drop=("SYS_RESOURCE",))["CapDrop"] == ["SYS_RESOURCE"]


@pytest.mark.parametrize(
    "name", ["SYS_ADMIN,ALL", "--privileged", "sys_admin", "CAP_SYS_ADMIN", "", "SYS ADMIN", "A\nB"]
)
@pytest.mark.parametrize("where", ["cap_add", "cap_drop"])
def test_a_capability_is_a_name(name: str, where: str) -> None:
    with pytest.raises(ValueError, match="capability"):
        Profile(**{"name": "mine", where: (name,)})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["x,seccomp=unconfined", "a b", "a\nb", "--x", "../x"])
def test_an_apparmor_profile_is_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="apparmor"):
        Profile(name="mine", apparmor=name)


def test_an_invalid_profile_of_a_user_is_reported_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.toml").write_text('summary = "x"\ncap_add = ["--privileged"]\n')
    with pytest.raises(InputError) as raised:
        Catalogue(beside=tmp_path).profile("mine")
    assert "'--privileged'" in str(raised.value)
    assert "mine.toml" in str(raised.value)


@pytest.mark.parametrize(
    "mount",
    [
        {"Type": "bind", "Source": "/var/cache/x", "Target": "/opt/tools/hand", "ReadOnly": False},
        {"Type": "bind", "Source": "/var/cache/x", "Target": "/opt/tools/hand"},
        {"Type": "bind", "Source": "/var/cache/x", "Target": "/etc", "ReadOnly": True},
        {"Type": "bind", "Source": "/var/cache/x", "Target": "/opt/tools/../../etc", "ReadOnly": True},
        {"Type": "bind", "Source": "/var/run/docker.sock", "Target": "/opt/tools/x", "ReadOnly": True},
        {"Type": "bind", "Source": "/", "Target": "/opt/tools/x", "ReadOnly": True},
        {"Type": "bind", "Source": "../x", "Target": "/opt/tools/x", "ReadOnly": True},
        {"Type": "tmpfs", "Target": "/opt/tools/x", "ReadOnly": True},
    ],
)
def test_only_our_folders_are_mounted_and_read_only(mount: dict[str, Any]) -> None:
    found = spec(Profile(name="mine")).container
    assert found is not None
    with pytest.raises(HarnessError, match="mount"):
        host_config.host_config(found, [mount])


def test_our_own_mounts_are_let_through() -> None:
    found = spec(Profile(name="mine")).container
    assert found is not None
    mounts = [
        {"Type": kind, "Source": source, "Target": "/opt/tools/hand", "ReadOnly": True}
        for kind, source in (("bind", "/var/cache/x"), ("volume", "codexsandbox-0123456789abcdef01234567"))
    ]
    assert host_config.host_config(found, mounts)["Mounts"] == mounts


def test_only_our_own_network_is_joined() -> None:
    found = spec(SHIPPED.profile("own-network")).container
    assert found is not None
    assert host_config.host_config(found, [], network="codexsandbox-12ab34cd")["NetworkMode"] == "codexsandbox-12ab34cd"
    for other in ("host", "bridge", "container:x", "codexsandbox-x,y", "default", ""):
        with pytest.raises(HarnessError, match="network"):
            host_config.host_config(found, [], network=other)
