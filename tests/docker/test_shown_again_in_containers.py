"""A repro script of a container, run by the shell of this machine, enters an equal one and shows the same there."""

import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from pytest_codexsandbox.doors.controls import UnconfinedDoor
from pytest_codexsandbox.doors.repro.script import repro_script
from pytest_codexsandbox.doors.sandbox_cli import SandboxDoor
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.environment import ContainerEnvironment
from pytest_codexsandbox.environments.container.networks import NEIGHBOUR
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.protocols import Door, Subject
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.system import process
from tests.docker.builders import container
from tests.docker.profile_builders import opened
from tests.docker.repro_builders import Place, spec_of
from tests.fakes.machine import installed_codex, run_folder

OUT: Final = {"shown.again/w": Act(verb="write", path="@OUTSIDE@/@NAME@", params={"data": "x"})}
FIRST: Final = {"shown.again/first": Act(verb="read", path="/proc/1/cmdline")}
MARKS: Final = "^(CapInh|CapPrm|CapEff|CapBnd|NoNewPrivs|Seccomp|Seccomp_filters|Uid|Gid|Groups):"


@pytest.fixture(scope="module")
def codex() -> Iterator[Subject]:
    yield installed_codex(cache_folder())


def observe(
    environment: ContainerEnvironment,
    codex: Subject,
    acts: Mapping[str, Act],
    *,
    door: Door | None = None,
    policy: str = "workspace-write",
    **call: Any,
) -> Observation:
    chosen = door or SandboxDoor()
    words = Call(**{"timeout": 120.0, **call})
    (seen,) = chosen.observe(environment, codex.inside(environment), POLICIES[policy], acts, words)
    assert not seen.error, seen.error
    return seen


def show(script: str) -> CommandResult:
    """As a stranger would, and see that nothing of it is left: no container, no network, no file."""
    token = f"codexsandbox-repro-{secrets.token_hex(8)}"  # so that what others make at the same time is not meant
    marked = script.replace(" create --interactive ", f" create --interactive --label {token} ")
    marked = marked.replace(" run --detach ", f" run --detach --label {token} ")
    assert marked != script
    with run_folder() as home:
        file = home / "it's a repro.sh"
        file.write_text(marked.replace("N=codexsandbox-repro-$$", f"N={token}"), encoding="utf-8")
        words = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home)}
        words |= {name: os.environ[name] for name in ("DOCKER_HOST",) if name in os.environ}
        ended = process.run(Command(argv=("sh", file.name), cwd=str(home), env=words, timeout=300))
        assert [path.name for path in home.iterdir() if path.name != ".docker"] == [file.name]
    assert ended.ended == "exit", ended
    with Engine() as engine, engine.asked("list what there is"):
        assert engine.api.containers(all=True, filters={"label": token}) == []
        assert engine.api.networks(names=[token]) == []
    return ended


@pytest.mark.parametrize(
    "place",
    [
        Place("docker-default", user="u1000"),
        Place("docker-default", user="root"),
        Place("docker-default", "none"),
        Place("docker-default", "0.8.0"),
        Place("synthetic-rtm-newaddr"),
        Place("synthetic-uid-map-eacces"),
        Place(bwrap="0.8.0-0711"),
    ],
    ids="-".join,
)
def test_a_start_that_failed_fails_again_with_the_same_words(place: Place, codex: Subject, tmp_path: Path) -> None:
    with opened(spec_of(place), tmp_path, codex=codex) as environment:
        seen = observe(environment, codex, OUT)
        entrance = environment.entrance
    assert seen.code != 0 and seen.stderr.strip() and not seen.ready
    ended = show(repro_script(seen, acts=OUT, entrance=entrance))
    assert ended.exit == seen.code
    assert seen.stderr.strip() in ended.stderr.decode()


@pytest.mark.parametrize("profile", ["seccomp-unconfined-systempaths", "read-only-rootfs", "own-network"])
@pytest.mark.parametrize("bwrap", ["distro", "0.8.0"])
def test_a_refusal_in_an_open_profile_is_shown_again(profile: str, bwrap: str, codex: Subject, tmp_path: Path) -> None:
    with opened(spec_of(Place(profile, bwrap)), tmp_path, codex=codex) as environment:
        seen = observe(environment, codex, OUT)
        entrance = environment.entrance
    row = seen.rows["shown.again/w"]
    assert (row.ok, row.errno) == (False, "EROFS")
    ended = show(repro_script(seen, acts=OUT, entrance=entrance))
    assert b"Read-only file system" in ended.stderr and ended.exit not in (0, 126, 127)


@pytest.mark.parametrize(
    ("bwrap", "said"),
    [
        ("0.8.0-filecap", "Unexpected capabilities but not setuid"),
        ("0.12.0-setuid", "setuid use of bubblewrap is not supported"),
        ("0.8.0-0711", "setting up uid map: Permission denied"),
    ],
)
def test_a_bubblewrap_is_installed_with_its_mode_and_its_attributes(
    bwrap: str, said: str, codex: Subject, tmp_path: Path
) -> None:
    """Asked for directly: Codex takes one of its own where it finds such a one."""
    asked = ("sh", "-c", "stat -c '%a %u %g' /usr/bin/bwrap; exec bwrap --unshare-all --ro-bind / / true")
    with opened(spec_of(Place(bwrap=bwrap)), tmp_path, codex=codex) as environment:
        seen = observe(environment, codex, {}, door=UnconfinedDoor(), policy="danger-full-access", argv=asked)
        entrance = environment.entrance
    assert seen.code != 0 and said in seen.stderr
    ended = show(repro_script(seen, entrance=entrance))
    assert ended.exit == seen.code
    assert seen.stdout in _text(ended) and seen.stderr in ended.stderr.decode()


def test_an_image_with_hardly_anything_in_it_is_entered_too(codex: Subject, tmp_path: Path) -> None:
    with opened(container(distro="busybox", user="u1000", bwrap="0.13.0"), tmp_path, codex=codex) as environment:
        seen = observe(environment, codex, OUT)
        entrance = environment.entrance
    assert seen.rows["shown.again/w"].errno == "EROFS"
    ended = show(repro_script(seen, acts=OUT, entrance=entrance))
    assert b"Read-only file system" in ended.stderr and ended.exit not in (0, 126, 127)


@pytest.mark.parametrize("profile", ["seccomp-unconfined", "seccomp-unconfined-systempaths"])
def test_a_known_deviation_is_shown_again(profile: str, codex: Subject, tmp_path: Path) -> None:
    """Where no fresh /proc can be mounted Codex goes on without one, and a command sees what is first outside: the
    agent in the one container, the script in the other."""
    with opened(spec_of(Place(profile)), tmp_path, codex=codex) as environment:
        seen = observe(environment, codex, FIRST)
        entrance = environment.entrance
    row = seen.rows["shown.again/first"]
    assert row.ok and row.value
    ended = show(repro_script(seen, acts=FIRST, entrance=entrance))
    assert ended.exit == 0
    given_up = profile == "seccomp-unconfined"
    inside = [line for line in _text(ended).splitlines() if not line.startswith("  | ")]  # those are seen from outside
    assert "agent.py" in row.value if given_up else "agent.py" not in row.value
    assert any("again.sh" in line for line in inside) == given_up


@pytest.mark.parametrize("user", ["root", "u1000", "u1000-nopasswd"])
@pytest.mark.parametrize("profile", ["docker-default", "synthetic-userns-eperm", "cap-drop-all", "no-new-privileges"])
def test_the_marks_of_the_kernel_are_the_same(profile: str, user: str, codex: Subject, tmp_path: Path) -> None:
    """Without Codex: who a process is, its capabilities and filters, in the one and in the other."""
    asked = f"id; grep -E '{MARKS}' /proc/self/status; cat /proc/sys/kernel/hostname /etc/resolv.conf"
    with opened(spec_of(Place(profile, user=user)), tmp_path, codex=codex) as environment:
        seen = observe(
            environment, codex, {}, door=UnconfinedDoor(), policy="danger-full-access", argv=("sh", "-c", asked)
        )
        entrance = environment.entrance
    assert seen.code == 0 and "Seccomp:" in seen.stdout
    ended = show(repro_script(seen, entrance=entrance))
    assert ended.exit == 0
    assert seen.stdout in _text(ended)


def _text(ended: CommandResult) -> str:
    return ended.stdout.decode()


@pytest.mark.parametrize(
    ("profile", "name"),
    [("seccomp-unconfined-systempaths", "codexsandbox.test"), ("own-network", NEIGHBOUR)],
    ids=["our-names", "a-neighbour"],
)
@pytest.mark.parametrize("policy", ["workspace-write", "workspace-write-network"])
def test_a_name_is_found_again_or_not(profile: str, name: str, policy: str, codex: Subject, tmp_path: Path) -> None:
    acts = {"shown.again/n": Act(verb="getaddrinfo", params={"name": name})}
    with opened(spec_of(Place(profile)), tmp_path, codex=codex) as environment:
        seen = observe(environment, codex, acts, policy=policy)
        entrance = environment.entrance
    found = policy == "workspace-write-network"
    assert seen.rows["shown.again/n"].ok == found
    ended = show(repro_script(seen, acts=acts, entrance=entrance))
    assert (ended.exit == 0) == found, ended
    assert found or b"gaierror" in ended.stderr


def test_a_missing_engine_is_reported(codex: Subject, tmp_path: Path) -> None:
    with opened(spec_of(Place("docker-default")), tmp_path, codex=codex) as environment:
        seen = observe(environment, codex, OUT)
        entrance = environment.entrance
    assert entrance is not None
    nowhere = msgspec.structs.replace(entrance, host=f"unix://{tmp_path}/none.sock")
    ended = show(repro_script(seen, acts=OUT, entrance=nowhere))
    assert ended.exit == 2 and b"no container engine answers" in ended.stderr


def test_a_missing_image_is_reported(codex: Subject, tmp_path: Path) -> None:
    with opened(spec_of(Place("docker-default")), tmp_path, codex=codex) as environment:
        seen = observe(environment, codex, OUT)
        entrance = environment.entrance
    assert entrance is not None
    script = repro_script(seen, acts=OUT, entrance=entrance).replace(entrance.image, "sha256:" + "0" * 64)
    ended = show(script)
    assert ended.exit == 2
    assert b"sha256:" + b"0" * 64 in ended.stderr
    assert b"codexsandbox images build debian-bookworm" in ended.stderr
