"""Podman, and a real ssh server: `nox -s engines`. A gate machine has neither: nothing of this is collected."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.environments.container import ssh_tunnel
from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.errors import CodexSandboxError, Unavailable
from pytest_codexsandbox.journal.store import read
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.container import USUAL_CAPABILITIES
from tests.docker.builders import container
from tests.docker.test_far_engines import keeps_its_promises, say, the_socket
from tests.fakes.machine import run_folder

PROFILES = ("podman-default", "seccomp-unconfined-systempaths", "synthetic-apparmor-userns")
MATRIX = f"""
releases = ["installed"]
policies = ["workspace-write"]
[containers]
distros = ["debian-bookworm"]
profiles = {list(PROFILES)}
users = ["root", "u1000"]
"""
# What a service manager would otherwise have to give: no journal, no slices, no more open files than we may have;
# and Docker's capabilities, which Podman would have in force for a user to whom they are given by name.
CONFIGURED = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
default_capabilities = [{capabilities}]
[engine]
events_logger = "file"
cgroup_manager = "cgroupfs"
runtime = "{runtime}"
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with run_folder() as place:
        yield place


@contextmanager
def served(argv: tuple[str, ...], folder: Path, *, env: dict[str, str] | None = None) -> Iterator[Path]:
    """A program that serves until we are through; what it says is in the file."""
    log = folder / "log"
    with log.open("wb") as into:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=into, stderr=into, env=env)
    try:
        yield log
    finally:
        process.terminate()
        process.wait(60)


# ---- Podman
@pytest.fixture(scope="module")
def podman(folder: Path) -> Iterator[str]:
    """Its address; storage of its own."""
    place = folder / "podman"
    place.mkdir()
    runtime = "crun" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "runc"
    named = ", ".join(f'"CAP_{name}"' for name in USUAL_CAPABILITIES)
    (place / "containers.conf").write_text(CONFIGURED.format(runtime=runtime, capabilities=named))
    env = {**os.environ, "CONTAINERS_CONF": str(place / "containers.conf")}
    words = ("podman", "--root", f"{place}/root", "--runroot", f"{place}/run", "--storage-driver", "overlay")
    host = f"unix://{place}/podman.sock"
    with served((*words, "system", "service", "--time=0", host), place, env=env) as log:
        await_engine(host, log)
        yield host
    subprocess.run((*words, "system", "reset", "--force"), check=False, env=env, capture_output=True)


def await_engine(host: str, log: Path) -> None:
    limit = time.monotonic() + 60
    while True:
        try:
            Engine(host, timeout=5).close()
            return
        except CodexSandboxError:
            assert time.monotonic() < limit, log.read_text()[-2000:]
            time.sleep(0.1)


def test_podman_and_docker_say_the_same_of_every_promise(podman: str, folder: Path) -> None:
    (folder / "m.toml").write_text(MATRIX)
    docker, theirs = (verdicts(host, folder) for host in (the_socket(), podman))
    assert theirs == docker
    assert {"conforms", "blocked"} < set(theirs.values())
    assert "broken" not in theirs.values()
    with Engine(podman) as engine:
        assert engine.podman
        assert engine.api.containers(all=True) == []


def verdicts(host: str, folder: Path) -> dict[str, str]:
    into = folder / f"report-{len(list(folder.glob('report-*')))}"
    words = (
        sys.executable,
        "-m",
        "pytest",
        "--codex-matrix=m.toml",
        f"--codex-docker-hosts={host}",
        f"--codex-report-dir={into}",
        "-p",
        "no:cacheprovider",
        "--codex-only=start.*,dns.*,filesystem.outside-create-refused,process.*",
    )
    done = subprocess.run(words, check=False, cwd=folder, capture_output=True, text=True, timeout=600)
    # What these profiles refuse is red or known; nothing is broken, and nothing stays.
    assert done.returncode in (0, 1), done.stdout[-4000:] + done.stderr[-2000:]
    (journal,) = into.glob("*/journal.ndjson")
    return {str(key): record.verdict.value for key, record in read(journal).states().items()}


def test_podman_makes_an_image_from_nothing(podman: str, folder: Path) -> None:
    spec = container(distro="busybox", bwrap="none").container
    assert spec is not None
    with Engine(podman) as engine:
        image = Images(engine, folder / "cache", providers=("bootstrap",)).provide(spec)
        assert engine.image_id(image_request.wanted(spec).tag) == engine.image_id(image) != ""


@pytest.mark.parametrize("name", ["docker-default", "own-network", "sys-admin"])
def test_dockers_own_features_are_unavailable_with_podman(name: str, podman: str, folder: Path) -> None:
    spec = container(user="u1000")
    assert spec.container is not None
    asked = msgspec.structs.replace(spec.container, profile=SHIPPED.profile(name))
    with (
        pytest.raises(Unavailable) as raised,
        ContainerBackend(host=podman).open(msgspec.structs.replace(spec, container=asked), folder / "e"),
    ):
        pass
    assert "Podman" in raised.value.what


# ---- ssh
@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Its address. An ssh server with keys of its own; the command `ssh` knows them, and nobody's own folder does."""
    place = folder / "ssh"
    (place / "bin").mkdir(parents=True)
    for key in ("host", "mine"):
        subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / key), check=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    (place / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {place}/host\nAuthorizedKeysFile {place}/mine.pub\n"
        f"PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n"
    )
    (place / "known").write_text(f"[127.0.0.1]:{port} {(place / 'host.pub').read_text()}")
    ssh = f"exec {shutil.which('ssh')} -F none -i {place}/mine -o UserKnownHostsFile={place}/known"
    say(place / "bin" / "ssh", f'{ssh} "$@"')
    monkeypatch.setenv("PATH", f"{place}/bin{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(ssh_tunnel, "cache_folder", lambda: place)
    Path("/run/sshd").mkdir(exist_ok=True)
    program = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    assert program, "apt install openssh-server"
    with served((program, "-D", "-e", "-f", str(place / "config")), place) as log:
        host = f"ssh://{getpass.getuser()}@127.0.0.1:{port}{the_socket().removeprefix('unix://')}"
        await_engine(host, log)
        yield host


def test_over_a_real_ssh(server: str, folder: Path) -> None:
    keeps_its_promises(server, folder)
