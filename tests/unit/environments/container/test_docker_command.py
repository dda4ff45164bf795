"""The docker command is told what the API is told: read back from its words, for every profile, it is the same."""

import csv
import shlex
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_codexsandbox.doors.repro.container_entry import enter
from pytest_codexsandbox.environments.container import docker_command, host_config
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.container import BwrapSpec, ContainerSpec, ImageSpec, Profile
from pytest_codexsandbox.model.repro_shell import FILES, NETWORK, ReproShell

NAMES = SHIPPED.values("profiles")
FLAGS = ("--read-only", "--rm")
MOUNTS = [
    {"Type": "bind", "Source": "/var/a, b/hand", "Target": "/opt/tools/hand", "ReadOnly": True},
    {
        "Type": "volume",
        "Source": "codexsandbox-0123456789abcdef01234567",
        "Target": "/opt/tools/codex/x",
        "ReadOnly": True,
    },
]
NETWORK_OF_OURS = "codexsandbox-0123456789"


def told(profile: Profile) -> dict[str, Any]:
    spec = ContainerSpec(
        image=ImageSpec(name="debian-bookworm"),
        bwrap=BwrapSpec(name="distro"),
        profile=profile,
        user=SHIPPED.user("u1000"),
    )
    return host_config.host_config(spec, MOUNTS, network=NETWORK_OF_OURS if profile.network == "own" else "none")


def made(profile: Profile, **words: str) -> ReproShell:
    return docker_command.entrance("sha256:1", told(profile), user="1000:1000", hostname="codexsandbox", **words)


def read(words: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        assert word.startswith("--"), word
        found.setdefault(word, []).append("" if word in FLAGS else next(rest))
    return found


def as_the_api_says(entrance: ReproShell) -> dict[str, Any]:
    """The way back, written by hand."""
    said = read(entrance.words)
    options = said.get("--security-opt", [])
    config: dict[str, Any] = {
        "NetworkMode": {NETWORK: NETWORK_OF_OURS}.get(said["--network"][0], said["--network"][0]),
        "Mounts": [_mount(line) for line in said["--mount"]],
        "Tmpfs": dict(one.split(":", 1) for one in said["--tmpfs"]),
        "SecurityOpt": [
            f"seccomp={entrance.files['seccomp.json']}" if one == f"seccomp={FILES}/seccomp.json" else one
            for one in options
            if one != "systempaths=unconfined"
        ],
        "CapAdd": said.get("--cap-add", []),
        "CapDrop": said.get("--cap-drop", []),
        "ReadonlyRootfs": "--read-only" in said,
        "Privileged": "--privileged" in said,
        "AutoRemove": "--rm" in said,
        "LogConfig": {"Type": said["--log-driver"][0], "Config": {}},
        "RestartPolicy": {"Name": said.get("--restart", ["no"])[0], "MaximumRetryCount": 0},
        "OomScoreAdj": int(said.get("--oom-score-adj", ["0"])[0]),
        "UsernsMode": said.get("--userns", [""])[0],
        "Dns": said["--dns"],
        "DnsSearch": said["--dns-search"],
        "Sysctls": dict(one.split("=", 1) for one in said["--sysctl"]),
    }
    if "systempaths=unconfined" in options:
        config |= {"MaskedPaths": [], "ReadonlyPaths": []}
    for name, option in (("PidsLimit", "--pids-limit"), ("Memory", "--memory"), ("MemorySwap", "--memory-swap")):
        if option in said:
            config[name] = int(said[option][0])
    return config


def _mount(line: str) -> dict[str, Any]:
    (fields,) = csv.reader([line])
    assert fields.pop() == "readonly"
    said = dict(field.split("=", 1) for field in fields)
    return {"Type": said["type"], "Source": said["source"], "Target": said["target"], "ReadOnly": True}


@pytest.mark.parametrize("name", NAMES)
def test_the_command_and_the_api_get_the_same_values(name: str) -> None:
    profile = SHIPPED.profile(name)
    assert as_the_api_says(made(profile)) == told(profile)


def test_limits_and_apparmor_have_words_too() -> None:
    profile = Profile(name="mine", pids_limit=64, memory=1 << 28, apparmor="mine", no_new_privileges=True)
    assert as_the_api_says(made(profile)) == told(profile)


@pytest.mark.parametrize("other", [{"Privileged": True}, {"OomScoreAdj": 5}, {"Devices": []}, {"MaskedPaths": ["/x"]}])
def test_a_setting_without_an_option_is_not_left_out(other: dict[str, Any]) -> None:
    with pytest.raises(HarnessError, match="no option"):
        docker_command.words_of({**told(Profile(name="mine")), **other})


@pytest.mark.parametrize("name", NAMES)
def test_the_shell_hands_over_those_very_words(name: str) -> None:
    entrance = made(SHIPPED.profile(name))
    lines = "\n".join(enter(entrance)).partition('C="$("$D" create')[2].partition(' 2> "$F/said")')[0]
    said = shlex.split(lines.replace("\\\n", " "))
    wanted = [word.replace(FILES, "$F").replace(NETWORK, "$N") for word in entrance.words]
    place = said.index(wanted[0])
    assert said[place : place + len(wanted)] == wanted
    assert said[place + len(wanted) : place + len(wanted) + 2] == ["sha256:1", "-c"]


def test_a_remote_engine_is_asked_there_and_the_bubblewrap_is_copied_before_the_start() -> None:
    script = "\n".join(enter(made(Profile(name="mine"), host="tcp://there:2375", archive="/cache/it's.tar")))
    assert "DOCKER_HOST=tcp://there:2375; export DOCKER_HOST" in script
    assert script.index(" cp - \"${C%% *}:/\" < '/cache/it'\"'\"'s.tar'") < script.index(" start --attach")
    assert " cp " not in "\n".join(enter(made(Profile(name="mine"))))
