"""The local battery without a sandbox, as root with every capability: the machine is afterwards as it was before.

Each control runs the acts of all promises unconfined. This test runs them in a throwaway container, with more rights
than root has in most, and compares everything that an act could have changed and that outlives a call.
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.doors.controls import UnconfinedDoor
from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.harness.batteries import batteries_of
from pytest_codexsandbox.matrix.requirements import why_not_there
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.base_acts import FORBIDDEN
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.policy import FULL_ACCESS, POLICIES
from pytest_codexsandbox.protocols import Environment
from pytest_codexsandbox.registry import data_folder
from tests.docker.builders import container
from tests.fakes.scripted import FakeSubject

pytestmark = pytest.mark.timeout(900)
SCENARIOS = ("filesystem", "network", "process", "protected", "sqlite")
# What changes by itself, or with any process that starts: counters, random numbers, the last process number.
BUSY = (
    "fs/dentry-state", "fs/inode-nr", "fs/inode-state", "fs/file-nr", "fs/aio-nr", "fs/quota/", "kernel/random/",
    "kernel/ns_last_pid", "kernel/pty/nr", "net/netfilter/nf_conntrack_count", "kernel/sched_domain", "fs/epoll/",
    "kernel/perf_", "net/ipv4/tcp_mem", "net/ipv4/udp_mem", "net/ipv4/tcp_fastopen_key",
)  # fmt: skip
STATE = r"""
import hashlib, json, os, stat, sys
own, busy = sys.argv[1], tuple(sys.argv[2:])
def tree(top):
    found, folders = {}, [top]
    while folders:
        folder = folders.pop()
        for entry in os.scandir(folder):
            if entry.path in (own, "/proc", "/sys", "/opt/tools"):  # the last is mounted, and all containers share it
                continue
            one = entry.stat(follow_symlinks=False)
            told = [one.st_mode, one.st_uid, one.st_gid, one.st_rdev]
            if stat.S_ISREG(one.st_mode):
                with open(entry.path, "rb") as file:
                    told += [one.st_nlink, one.st_mtime_ns, hashlib.sha256(file.read()).hexdigest()]
                told += sorted((name, os.getxattr(entry.path, name).hex()) for name in os.listxattr(entry.path))
            elif stat.S_ISLNK(one.st_mode):
                told.append(os.readlink(entry.path))
            found[entry.path] = told
            if stat.S_ISDIR(one.st_mode) and not entry.path.startswith("/dev/pts"):
                folders.append(entry.path)
    return found
def read(path):
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20).decode("latin-1")
    except OSError as problem:
        return "errno %s" % problem.errno
def sysctls():
    found = {}
    for folder, _, names in os.walk("/proc/sys"):
        for name in names:
            path = os.path.join(folder, name)
            if os.stat(path).st_mode & 0o444 and not path[10:].startswith(busy):
                found[path[10:]] = read(path)
    return found
def processes():
    mine, found = set(), []
    pid = os.getpid()
    while pid > 1:
        mine.add(pid)
        pid = int(read("/proc/%d/stat" % pid).rpartition(")")[2].split()[1])
    for name in filter(str.isdigit, os.listdir("/proc")):
        line = read("/proc/%s/cmdline" % name)
        ours = line.rstrip("\0").endswith("/guest/sqlite_helper.py")  # the agent's own, kept until its end
        if int(name) not in mine - {1} and line and not line.startswith("errno") and not ours:
            found.append([int(name), line[:200]])
    return sorted(found)
def keys():
    # Keyrings are of the machine: those that the kernel names come and go with other containers.
    found = [line.split() for line in read("/proc/keys").splitlines()]
    found = [one for one in found if not one[8].startswith("ticket-")]  # of agents that run beside this one
    return sorted(" ".join([one[0], *one[4:]]) for one in found if one[7] != "keyring" or one[8][0] not in "._")
print(json.dumps({
    "tree": tree("/"), "mounts": [line.split(" ", 2)[2] for line in read("/proc/self/mountinfo").splitlines()],
    "sysctls": sysctls(), "hostname": list(os.uname())[1], "domain": read("/proc/sys/kernel/domainname"),
    "ipc": {name: [line.split()[:3] for line in read("/proc/sysvipc/" + name).splitlines()]
            for name in ("shm", "sem", "msg")},
    "keys": keys(), "processes": processes(),
    "umask": read("/proc/self/status").split("Umask:")[1].split()[0], "limits": read("/proc/self/limits"),
    "links": sorted(os.listdir("/sys/class/net")), "routes": read("/proc/net/route"),
    "cgroups": sorted(os.listdir("/sys/fs/cgroup")) if os.path.isdir("/sys/fs/cgroup") else [],
    "loaded": sorted(line.split()[0] for line in read("/proc/modules").splitlines()),
    "swaps": read("/proc/swaps"), "mtrr": read("/proc/mtrr"),
}))
"""


@pytest.fixture(scope="module")
def throwaway(place: Path) -> Iterator[Environment]:
    spec = container(cap_add=["ALL"], cap_drop=["SYS_RESOURCE"])
    with ContainerBackend().open(spec, place / "throwaway") as environment:
        yield environment


def state_of(environment: Environment) -> dict[str, Any]:
    python, _ = environment.guest
    done = environment.run(
        Command(
            argv=(python, "-I", "-S", "-c", STATE, environment.folder, *BUSY),
            cwd="/", env={}, timeout=120.0, aside=True, why="the state of the container",
        )
    )  # fmt: skip
    assert (done.ended, done.exit) == ("exit", 0), (done.error, done.stderr.decode(errors="replace"))
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def battery_plan(facts: Mapping[str, Any]) -> Plan:
    """Returns a plan of every promise that can be asked there: no git in this image, no device of the machine."""
    every = [one for one, _ in promises(*(data_folder("scenarios") / name for name in SCENARIOS))]
    asked = tuple(one for one in every if not why_not_there(one, facts))
    left_out = {
        "process.git-is-confined",
        "process.devices-out-of-reach",
        "protected.hostile-repository-runs-nothing",
    }
    assert {one.id for one in every} - {one.id for one in asked} <= left_out
    return Plan(preset="unconfined", cells=(), promises=asked, keys=())


def differences(before: object, after: object, where: str = "") -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        names = sorted({*before, *after})
        return [one for name in names for one in differences(before.get(name), after.get(name), f"{where}/{name}")]
    return [] if before == after else [f"{where}: {before!r} → {after!r}"]


def performed(environment: Environment) -> list[Observation]:
    """Makes every call of the controls, one after the other."""
    seen: list[Observation] = []
    for (policy, _), battery in batteries_of(battery_plan(environment.facts()), 2.0).items():
        if policy == "" and battery.promises:
            seen += UnconfinedDoor().observe(
                environment, FakeSubject(), POLICIES[FULL_ACCESS], battery.acts, battery.call
            )
    return seen


def test_the_whole_battery_leaves_the_machine_as_it_was(throwaway: Environment) -> None:
    state_of(throwaway)  # what the first process of all changes: caches of the loader
    before = state_of(throwaway)
    seen = performed(throwaway)
    after = state_of(throwaway)
    assert len(seen) > 40 and sum(len(one.rows) for one in seen) > 300
    assert not [one.error for one in seen if one.error], [one.error for one in seen if one.error]
    # Nothing confined them: every call of the probe did what no sandbox lets through.
    outside = [one.rows[FORBIDDEN].ok for one in seen if FORBIDDEN in one.rows]
    assert len(outside) > 20 and all(outside)
    assert differences(before, after) == []


# A container has the keyrings of its user outside: the key gets its own name, and is removed again.
KEY_CALLS = """\
import ctypes, os, sys
add, control = {'x86_64': (248, 250), 'aarch64': (217, 219)}[os.uname().machine]
call, name = ctypes.CDLL(None).syscall, sys.argv[1].encode()
"""
KEY = KEY_CALLS + "assert call(add, b'user', name, b'x', 1, -4) > 0"
NO_KEY = KEY_CALLS + "assert call(control, 9, call(control, 10, -4, b'user', name, 0), -4) == 0"
SEGMENT = "import ctypes; assert ctypes.CDLL(None).shmget(0x4711, 4096, 0o1600) >= 0"
CHANGES = {
    "/tree//etc/new-file": "open('/etc/new-file', 'w').close()",
    "/tree//srv": "import os; os.chmod('/srv', 0o700)",
    "/tree//etc/passwd": "open('/etc/passwd', 'a').write(' ')",
    "/tree//dev/shm/left": "open('/dev/shm/left', 'w').close()",
    "/hostname": "import socket; socket.sethostname('left')",
    "/ipc/shm": SEGMENT,
    "/keys": KEY,
    "/mounts": "import ctypes; assert not ctypes.CDLL(None).mount(b'none', b'/mnt', b'tmpfs', 0, None)",
    "/processes": "",
}


@pytest.fixture(scope="module")
def changing(place: Path) -> Iterator[Environment]:
    with ContainerBackend().open(container(cap_add=["ALL"], cap_drop=["SYS_RESOURCE"]), place / "changing") as opened:
        yield opened


@pytest.mark.parametrize("where", CHANGES)
def test_each_part_of_the_state_shows_a_change(changing: Environment, where: str) -> None:
    """Else the comparison above could not fail."""
    before = state_of(changing)
    with made(changing, where):
        after = state_of(changing)
    assert [one for one in differences(before, after) if one.startswith(f"{where}:")], differences(before, after)


@contextmanager
def made(environment: Environment, where: str) -> Iterator[None]:
    """Makes a change; what outlives the container is undone."""
    name = f"codexsandbox:{uuid.uuid4().hex}"
    if where == "/processes":
        live = environment.spawn(python_of(environment, "import time; print('here', flush=True); time.sleep(600)"))
        try:
            assert live.read(100, 60.0) == b"here\n"
            yield
        finally:
            live.close()
        return
    succeeds(environment, CHANGES[where], name)
    try:
        yield
    finally:
        if where == "/keys":
            succeeds(environment, NO_KEY, name)


def succeeds(environment: Environment, code: str, *words: str) -> None:
    done = environment.run(python_of(environment, code, *words))
    assert (done.ended, done.exit) == ("exit", 0), done.stderr.decode(errors="replace")


def python_of(environment: Environment, code: str, *words: str) -> Command:
    python, _ = environment.guest
    return Command(argv=(python, "-I", "-S", "-c", code, *words), cwd="/", env={}, timeout=120.0, why="a change")
