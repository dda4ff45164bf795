"""Shipped profiles in real containers: each took effect, and one that did not is no environment at all."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.diagnosis.match import match
from pytest_codexsandbox.environments.container import host_config
from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.container.config_verification import differences, expected
from pytest_codexsandbox.environments.container.engine import default_host
from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, Unavailable
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.container import ContainerSpec, Profile
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.registry import cache_folder
from tests.docker.engine_builders import own_engine
from tests.docker.profile_builders import PROGRAMS, opened, profiled, run, sandboxed
from tests.fakes.machine import installed_codex

NAMES = [name for name in SHIPPED.values("profiles") if not SHIPPED.profile(name).userns]
REFUSED = {  # by the filter alone: what bubblewrap makes of it, for an ordinary user
    "synthetic-userns-eperm": "userns-not-permitted",
    "synthetic-userns-enospc": "userns-limit",
    "synthetic-userns-einval": "userns-not-in-kernel",
    "synthetic-uid-map-eacces": "uid-map-refused",
    "synthetic-uid-map-eperm": "uid-map-needs-setfcap",
    "synthetic-netlink-socket": "netlink-socket-refused",
    "synthetic-rtm-newaddr": "loopback-newaddr-refused",
    "synthetic-mount": "mount-refused-by-seccomp",
    "synthetic-pivot-root": "pivot-root-refused",
    "synthetic-proc-mount": "proc-mount-refused",
    "synthetic-apparmor-userns": "loopback-newaddr-refused",
}
BWRAP = PROGRAMS["--unshare-all --proc"]


@pytest.fixture(scope="module")
def codex() -> Subject:
    return installed_codex(cache_folder())


@pytest.fixture(scope="module")
def open_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """ "" where this machine's kernel lets a sandbox start that nothing else keeps from it; else what it said."""
    with opened(profiled("seccomp-unconfined-systempaths", "u1000"), tmp_path_factory.mktemp("e")) as environment:
        done = run(environment, *BWRAP)
        yield done.stderr.decode() if done.exit else ""


@pytest.mark.parametrize("user", ["root", "u1000"])
@pytest.mark.parametrize("name", NAMES)
def test_a_profile_takes_effect(name: str, user: str, tmp_path: Path) -> None:
    """Opening it is the test: the agent's facts were held against the profile."""
    spec = profiled(name, user)
    with opened(spec, tmp_path) as environment:
        assert differences(expected(spec), environment.facts()) == ()
        assert run(environment, "id", "-u").stdout.decode().strip() == ("0" if user == "root" else "1000")


def test_a_setting_requested_by_another_name_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is given another profile's words, as if it had ignored or confused ours."""
    genuine = host_config.host_config
    names = [name for name in NAMES if SHIPPED.profile(name).network == "none"]  # a network is no word of these
    for asked, given in zip(names, [*names[7:], *names[:7]], strict=True):
        profile = SHIPPED.profile(given)

        def other(
            spec: ContainerSpec, mounts: Any, network: str = "none", profile: Profile = profile
        ) -> dict[str, Any]:
            return genuine(msgspec.structs.replace(spec, profile=profile), mounts, network=network)

        monkeypatch.setattr(host_config, "host_config", other)
        with (
            pytest.raises(HarnessError, match=f"the profile {asked} "),
            opened(profiled(asked, "u1000"), tmp_path),
        ):
            pass


def test_a_filter_that_an_engine_leaves_out_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_config, "security_options", lambda profile: ["seccomp=unconfined"])
    with pytest.raises(HarnessError) as raised, opened(profiled("synthetic-mount"), tmp_path):
        pass
    assert re.search("seccomp: .* 2, .* 0", raised.value.why)
    assert re.search("answers.mount: .* EPERM, .* EFAULT", raised.value.why)


def test_an_apparmor_profile_without_enforcement_is_no_environment(tmp_path: Path) -> None:
    """Without AppArmor an engine takes any name in silence; with it, it refuses one that does not exist."""
    backend = ContainerBackend()
    asked = profiled("docker-default", as_called=Profile(name="mine", apparmor="nosuch"))
    with pytest.raises(CodexSandboxError, match="nosuch"), backend.open(asked, tmp_path, cache=cache_folder()):
        pass
    assert backend.audit() == ()


def test_limits_are_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited = profiled("docker-default", as_called=Profile(name="mine", memory=128 << 20, pids_limit=200))
    with opened(limited, tmp_path) as environment:
        assert environment.facts()["memory_limit"] == str(128 << 20)
        assert environment.facts()["pids_limit"] == "200"
    genuine = host_config.host_config

    def forgotten(*words: Any, **named: Any) -> dict[str, Any]:
        return {name: value for name, value in genuine(*words, **named).items() if "Memory" not in name}

    monkeypatch.setattr(host_config, "host_config", forgotten)
    with pytest.raises(HarnessError, match=r"memory_limit: .* 134217728, .* none"), opened(limited, tmp_path):
        pass


def test_an_engine_without_user_namespaces_of_its_own_is_not_asked_for_one(tmp_path: Path) -> None:
    with (
        pytest.raises(Unavailable, match="userns-remap"),
        opened(profiled("userns-remap"), tmp_path),
    ):
        pass
    asked = [profiled("userns-remap"), profiled("docker-default")]
    told = ContainerBackend().foresee(asked, cache_folder()).why_not
    assert "userns-remap" in told(asked[0])
    assert told(asked[1]) == ""


def test_a_plan_names_the_profile_that_this_engine_cannot_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "matrix.toml"
    file.write_text(
        'description = "one engine"\nreleases = ["0.163.0"]\n[containers]\ndistros = ["debian-bookworm"]\n'
        'profiles = ["docker-default", "userns-remap"]\nusers = ["u1000"]\n'
    )
    assert main(["plan", str(file)]) == 0
    told = capsys.readouterr().out
    assert "userns-remap" in told and "dockerd --userns-remap=default" in told
    assert main(["plan", str(file), "--codex-docker-hosts", "unix:///nobody/listens"]) == 4
    assert "dockerd --userns-remap=default" not in capsys.readouterr().err


@pytest.mark.skipif(os.getuid() != 0, reason="an engine of our own needs root")
def test_an_engine_with_user_namespaces_gives_one_only_where_it_is_asked(tmp_path: Path) -> None:
    with own_engine(userns=True) as engine:
        wanted = profiled("userns-remap")
        for hosts in ((engine.host,), (default_host(), engine.host)):
            assert ContainerBackend().foresee([wanted], cache_folder(), hosts).why_not(wanted) == ""
        for name, plain in (("userns-remap", False), ("seccomp-unconfined-systempaths", True)):
            spec = msgspec.structs.replace(profiled(name, "u1000"), engine_host=engine.host)
            with opened(spec, tmp_path) as environment:
                assert (environment.facts()["uid_map"] == "0 0 4294967295") is plain
                assert run(environment, *BWRAP).exit == 0


# ---- what the synthetic ones refuse
@pytest.mark.parametrize("name", REFUSED)
def test_a_synthetic_refusal_is_what_its_name_says(name: str, open_here: str, tmp_path: Path) -> None:
    if open_here:
        pytest.skip(f"this kernel refuses it by itself, so nothing has to be manufactured: {open_here}")
    with opened(profiled(name, "u1000"), tmp_path) as environment:
        done = run(environment, *BWRAP)
        found = match(done.stderr.decode())
        assert done.exit
        assert found is not None, done.stderr
        assert found.fingerprint == REFUSED[name]
        assert run(environment, "ls", "/").exit == 0  # and nothing else


def test_a_filter_that_cannot_be_installed_ends_codex(codex: Subject, open_here: str, tmp_path: Path) -> None:
    if open_here:
        pytest.skip(f"this kernel refuses a sandbox by itself: {open_here}")
    with opened(profiled("synthetic-seccomp", "u1000"), tmp_path, codex=codex) as environment:
        assert run(environment, *BWRAP).exit == 0
        done = sandboxed(environment, codex, "true")
        found = match(done.stderr.decode())
        assert (done.exit, found and found.fingerprint) == (101, "seccomp-install-refused")


def test_landlock_is_unavailable_for_every_user_in_the_container(tmp_path: Path) -> None:
    with opened(profiled("synthetic-landlock-enosys"), tmp_path) as environment:
        assert environment.facts()["landlock_abi"] == 0


# ---- users
def test_only_users_of_the_password_file_have_a_name(tmp_path: Path) -> None:
    names = {}
    for user in SHIPPED.values("users"):
        for profile in ("docker-default", "read-only-rootfs"):
            with opened(profiled(profile, user), tmp_path) as environment:
                names[user, profile] = run(environment, "id", "-un").stdout.decode().strip()
    assert {who for who, _ in names} >= {"root", "u1000", "u1000-nopasswd"}
    for (user, _), name in names.items():
        assert (name == "root") is (user == "root")
        assert (name == "1000") is (user == "u1000-nopasswd"), names  # a number where there is no name


# ---- nothing of the host
@pytest.mark.parametrize("name", ["docker-default", "all-caps", "own-network", "seccomp-unconfined-systempaths"])
def test_nothing_of_the_host_is_in_there_but_what_was_brought_to_be_read(
    name: str, codex: Subject, tmp_path: Path
) -> None:
    with opened(profiled(name), tmp_path, codex=codex) as environment:
        mounts = [line.split() for line in run(environment, "cat", "/proc/self/mountinfo").stdout.decode().splitlines()]
        brought = {words[4]: words[5].split(",")[0] for words in mounts if words[4].startswith("/opt/")}
        named = {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts"}
        kinds = {words[4]: words[words.index("-") + 1] for words in mounts}
        made = {"proc", "sysfs", "tmpfs", "devtmpfs", "devpts", "mqueue", "cgroup", "cgroup2"}  # of the kernel's own
        real = {place for place, kind in kinds.items() if kind not in made}
        assert set(brought.values()) == {"ro"}
        assert len(brought) == 2
        assert real == {"/", *named, *brought}
        sockets = run(environment, "find", "/", "-xdev", "-name", "*docker*.sock", "-o", "-name", "podman*.sock")
        assert sockets.stdout == b""
        assert run(environment, "test", "-e", "/var/run/docker.sock").exit == 1
        for place in brought:
            assert run(environment, "touch", f"{place}/x").exit
