"""What Podman is asked in its own words, and what is said not to be had of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.environments.container import host_config, podman
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.container import (
    USUAL_CAPABILITIES,
    BwrapSpec,
    ContainerSpec,
    ImageSpec,
    Profile,
    UserSpec,
)

DEBIANS = frozenset(USUAL_CAPABILITIES) - {"AUDIT_WRITE", "MKNOD", "NET_RAW"}  # by default, as Debian's Podman has it
FILTER = '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": []}'


def asked(uid: int = 0, **words: Any) -> ContainerSpec:
    return ContainerSpec(
        image=ImageSpec(name="debian-bookworm"),
        bwrap=BwrapSpec(name="distro"),
        user=UserSpec(name="someone", uid=uid),
        profile=Profile(**{"name": "mine", "seccomp": "unconfined", **words}),
    )


def told(spec: ContainerSpec) -> dict[str, Any]:
    return podman.as_podman_config(host_config.host_config(spec, []), spec)


def gives(*names: str) -> Callable[[], frozenset[str]]:
    return lambda: frozenset(names)


def nobody_asks() -> frozenset[str]:
    raise AssertionError("this does not depend on what Podman gives by default")


def test_an_engine_is_known_by_what_it_says_of_its_parts() -> None:
    assert podman.is_podman({"Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}]})
    assert not podman.is_podman({"Components": [{"Name": "Engine"}, {"Name": "containerd"}]})
    assert not podman.is_podman({"Components": None})
    assert not podman.is_podman({})


# ---- what cannot be had
@pytest.mark.parametrize("words", [{"seccomp": ""}, {"network": "own"}])
def test_dockers_own_features_are_unavailable_with_podman(words: dict[str, Any]) -> None:
    with pytest.raises(Unavailable) as caught:
        podman.refuse(asked(**words), gives=nobody_asks, where="unix:///p.sock")
    assert "mine" in caught.value.what and caught.value.where == "unix:///p.sock"
    assert "Docker" in caught.value.next_step


def test_a_capability_that_would_be_in_force_is_not_given_to_a_user() -> None:
    spec = asked(uid=1000)
    podman.refuse(spec, gives=gives(*USUAL_CAPABILITIES), where="unix:///p.sock")
    with pytest.raises(Unavailable) as caught:
        podman.refuse(spec, gives=lambda: DEBIANS, where="unix:///p.sock")
    assert "AUDIT_WRITE, MKNOD, NET_RAW" in caught.value.why


@pytest.mark.parametrize("spec", [asked(), asked(cap_add=("ALL",)), asked(uid=1000, cap_drop=("ALL",))])
def test_root_and_a_user_without_a_name_are_available_with_every_podman(spec: ContainerSpec) -> None:
    podman.refuse(spec, gives=nobody_asks, where="unix:///p.sock")


def test_shipped_profiles_that_debians_podman_provides() -> None:
    had: dict[int, set[str]] = {0: set(), 1000: set()}
    for uid, names in had.items():
        for name in SHIPPED.values("profiles"):
            spec = ContainerSpec(
                image=ImageSpec(name="x"),
                bwrap=BwrapSpec(name="distro"),
                profile=SHIPPED.profile(name),
                user=UserSpec(name="someone", uid=uid),
            )
            try:
                podman.refuse(spec, gives=lambda: DEBIANS, where="unix:///p.sock")
                names.add(name)
            except Unavailable:
                pass
    assert "docker-default" not in had[0]
    assert {"podman-default", "cap-drop-all"} <= had[1000] < had[0]


# ---- its words
def test_a_value_is_passed_as_an_option_and_read_back() -> None:
    shown, hidden = told(asked(masked_paths=False)), told(asked())
    assert "unmask=ALL" in shown["SecurityOpt"]
    assert not {"MaskedPaths", "ReadonlyPaths"} & {*shown, *hidden}
    assert "unmask=ALL" not in hidden["SecurityOpt"]


def test_options_with_another_meaning_than_for_docker_are_not_passed() -> None:
    assert told(asked(no_new_privileges=True))["SecurityOpt"] == ["seccomp=unconfined", "no-new-privileges"]


def test_a_user_is_only_dropped_from_and_root_is_given_by_name() -> None:
    profile: dict[str, Any] = {"cap_drop": ("MKNOD", "NET_RAW")}
    of_a_user = told(asked(uid=1000, **profile))
    assert (of_a_user["CapAdd"], of_a_user["CapDrop"]) == ([], ["MKNOD", "NET_RAW"])
    of_root = told(asked(**profile))
    assert of_root["CapDrop"] == ["ALL"]
    assert set(of_root["CapAdd"]) == {*USUAL_CAPABILITIES} - {"MKNOD", "NET_RAW"}
    assert told(asked(uid=1000, cap_drop=("ALL",)))["CapDrop"] == ["ALL"]


# ---- files
def test_a_filter_is_a_file_with_that_very_text(tmp_path: Path) -> None:
    config = told(asked(seccomp=FILTER))
    (text,) = (word.removeprefix("seccomp=") for word in config["SecurityOpt"])
    sent = podman.with_files(config, tmp_path / "filters", near=lambda: True, where="unix:///p.sock")
    (word,) = sent["SecurityOpt"]
    file = Path(word.removeprefix("seccomp="))
    assert file.is_absolute()
    assert file.read_text() == text
    assert json.loads(text)["defaultAction"] == "SCMP_ACT_ALLOW"
    assert [file] == list((tmp_path / "filters").iterdir())
    assert config["SecurityOpt"] == [f"seccomp={text}"]  # who reads the words sees the text still


def test_a_podman_that_does_not_see_our_files_gets_no_filter_in_silence(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        podman.with_files(told(asked(seccomp=FILTER)), tmp_path, near=lambda: False, where="tcp://far")
    assert caught.value.where == "tcp://far"
    untouched = told(asked())
    assert podman.with_files(untouched, tmp_path, near=lambda: False, where="tcp://far") == untouched
