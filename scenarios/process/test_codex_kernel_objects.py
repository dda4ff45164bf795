"""Objects of the kernel that belong to the world outside: shared memory, keys, devices, settings of the hardware."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.policy import SANDBOXED

LINUX = "https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/README.md"
SANDBOXING = "https://developers.openai.com/codex/concepts/sandboxing"
NOT_FOUND = ("EINVAL", "EIDRM", "ENOENT", "EPERM", "EACCES", "ENOSYS")
NO_KEY = ("ENOKEY", "EPERM", "EACCES", "ENOSYS")
REFUSALS = ("EROFS", "EACCES", "EPERM", "ENOENT")
NOT_OUTSIDE = ("ENOENT", "EACCES", "EPERM", "EROFS")
TERMINALS = "/dev/pts/"
DEVICES = ("console", "full", "null", "ptmx", "pts/ptmx", "random", "tty", "urandom", "zero")
HARMLESS = {f"/dev/{name}" for name in DEVICES}
HARDWARE = {
    "irq": "/proc/irq/default_smp_affinity",
    "power": "/sys/power/state",
    "memory": "/sys/kernel/mm/ksm/run",
    "pages": "/sys/kernel/mm/transparent_hugepage/enabled",
    "groups": "/sys/fs/cgroup/cgroup.procs",
    "old-groups": "/sys/fs/cgroup/memory/cgroup.procs",
}


def is_its_own(trial: Trial, act: str, *, claim: str, refusals: tuple[str, ...] = ()) -> None:
    """Adds a row that holds if the act read another value than outside, or was refused with one of these errnos."""
    row, control = trial.row(act), trial.control_row(act)
    trial.says(
        act,
        claim=claim,
        saw=row.value or row.errno or row.detail,
        held=row.value != control.value if row.ok else row.errno in refusals,
        control=control.value or control.errno or control.detail,
        control_held=control.ok and control.value != "",
        reason=row.errno,
        direction="leak" if row.ok else "wrong-claim",
    )


def no_setting_opens(trial: Trial) -> None:
    """Adds a row for each file that can be opened without a sandbox."""
    for act, path in HARDWARE.items():
        claim = f"{path} cannot be opened for writing ({' or '.join(REFUSALS)})"
        trial.refused(act, errno=REFUSALS, unless=NOT_OUTSIDE, claim=claim)


def of_the_case(trial: Trial) -> None:
    """Adds the row of the keyring that the case names."""
    if trial.case == "session":
        trial.refused("session", errno=NO_KEY, claim="the key in the session keyring is not read")
    else:
        is_its_own(trial, "user", claim="the user's keyring is not the one outside", refusals=NO_KEY)


@promise(
    "process.ipc-is-its-own",
    kind="boundary",
    severity="high",
    source=LINUX,
    policies=SANDBOXED,
    requires=("kernel:segment",),
    acts={
        "segment": Act(verb="segment", params={"number": "@SEGMENT@"}),
        "namespace": Act(verb="namespace", params={"name": "ipc"}),
    },
)
def test_no_shared_memory_outside_is_found(trial: Trial) -> None:
    """A segment of shared memory that a process outside keeps is not found inside, and the IPC namespace is another
    one: semaphores and message queues belong to it as well.

    Source: codex-linux-sandbox: bubblewrap gives the command an IPC namespace of its own.
    Control: without a sandbox the same number leads to the segment, and its text is read.
    """
    trial.refused("segment", errno=NOT_FOUND, claim="the segment outside is not found")
    is_its_own(trial, "namespace", claim="the IPC namespace is not the one outside")


@promise(
    "process.keyrings",
    kind="boundary",
    severity="high",
    source=SANDBOXING,
    policies=SANDBOXED,
    requires=("kernel:key",),
    acts={"session": Act(verb="key", params={"name": "@KEY@"}), "user": Act(verb="key")},
    cases=("session", "user"),
)
def test_no_key_of_the_session_or_the_user_is_found(trial: Trial) -> None:
    """A key in the caller's session keyring, as a login keeps tickets there, is not read. The user's own keyring is
    another one than outside: what a command adds to it is not seen there.

    Source: Codex: the sandbox is the boundary for what a command can reach.
    Control: without a sandbox the same command reads the key, and has the user's keyring.
    """
    of_the_case(trial)


@promise(
    "process.devices-out-of-reach",
    kind="boundary",
    severity="critical",
    source=LINUX,
    policies=SANDBOXED,
    requires=("kernel:devices",),
    acts={"list": Act(verb="devices")},
)
def test_no_device_of_the_machine_is_in_dev(trial: Trial) -> None:
    """/dev has the harmless devices only: no disk, no kernel log, no virtual machines, no tunnels, no FUSE, no
    terminal of another process. None is opened.

    Source: codex-linux-sandbox: bubblewrap mounts a /dev of its own with a few devices.
    Control: the same list without a sandbox has devices of the machine. Terminals do not count there: they come and go.
    """
    inside, outside = set(trial.values("list")), set(trial.control_values("list"))
    other = sorted(inside - HARMLESS)
    lasting = {one for one in outside - HARMLESS if not one.startswith(TERMINALS)}
    trial.says(
        "list",
        claim=f"no device but {', '.join(DEVICES)}",
        saw=", ".join(other[:20]) or f"{len(inside)} harmless devices",
        held="/dev/null" in inside and not other,
        control=f"{len(lasting)} devices of the machine",
        control_held="/dev/null" in outside and bool(lasting),
        reason=trial.row("list").errno,
        direction="leak" if other else "denied",
    )


@promise(
    "process.hardware-settings-out-of-reach",
    kind="boundary",
    severity="critical",
    source=SANDBOXING,
    policies=SANDBOXED,
    requires=("hardware-settings:writable",),
    acts={name: Act(verb="may-write", path=path) for name, path in HARDWARE.items()},
)
def test_the_settings_of_the_hardware_are_out_of_reach(trial: Trial) -> None:
    """No setting of interrupts, power, memory and control groups can be opened for writing. They are opened, and
    nothing is written.

    Source: Codex: the sandbox is the boundary for what a command can change.
    Control: without a sandbox this user can open them; what he cannot open, or this kernel lacks, is left out.
    """
    no_setting_opens(trial)
