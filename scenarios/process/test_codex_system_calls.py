"""System calls that would go past the sandbox: io_uring, ptrace, other ABIs, a remount."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.policy import NO_TMP, READ_ONLY, ROOTS, SANDBOXED, WORKSPACE_WRITE

LINUX = "https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/README.md"
OFF = (READ_ONLY, WORKSPACE_WRITE, ROOTS, NO_TMP)
REFUSED = ("EPERM", "EACCES")
ABI_REFUSED = (*REFUSED, "ENOSYS", "SIGSYS")  # a filter may also end the process
NO_SUCH_ABI = ("ENOSYS", "SIGSEGV", "EPERM", "SIGSYS")  # the kernel lacks it, or a filter outside refuses it
NOT_REMOUNTED = (*REFUSED, "EROFS", "ENOSPC", "ENOSYS")  # or not even the namespace can be made
REMOUNTS = {"mount": Act(verb="remount"), "user": Act(verb="remount", params={"user": True})}
RINGS = {name: Act(verb="kernel-call", params={"name": f"io_uring_{name}"}) for name in ("setup", "enter", "register")}
TRACES = {
    "attach": Act(verb="trace"),
    "read": Act(verb="memory", params={"by": "process_vm_readv"}),
    "write": Act(verb="memory", params={"by": "process_vm_writev"}),
}


def no_remount_works(trial: Trial) -> None:
    """Adds a row for each namespace in which the remount works without a sandbox."""
    for name in REMOUNTS:
        claim = f"`/` cannot be remounted in a {name} namespace of its own ({' or '.join(NOT_REMOUNTED)})"
        trial.refused(name, errno=NOT_REMOUNTED, unless=NOT_REMOUNTED, claim=claim)


def no_ring_works(trial: Trial) -> None:
    """Adds a row for each system call of io_uring."""
    for name in RINGS:
        trial.refused(name, errno=REFUSED, claim=f"io_uring_{name}(2) is refused")


@promise(
    "process.io-uring-refused",
    kind="boundary",
    severity="critical",
    source=LINUX,
    policies=OFF,
    requires=("kernel:io-uring",),
    acts=RINGS,
)
def test_io_uring_is_refused_with_the_network_off(trial: Trial) -> None:
    """With the network off the three system calls of io_uring are refused: it would open sockets past every filter.

    Source: codex-linux-sandbox: the seccomp filter refuses io_uring.
    Control: without a sandbox the kernel itself judges the same calls, which name no valid address or descriptor.
    """
    no_ring_works(trial)


@promise(
    "process.ptrace-refused",
    kind="boundary",
    severity="high",
    source=LINUX,
    policies=OFF,
    requires=("kernel:ptrace",),
    acts={"attach": TRACES["attach"]},
)
def test_a_command_cannot_trace_its_own_child(trial: Trial) -> None:
    """With the network off ptrace(2) is refused, even for a child of the command.

    Source: codex-linux-sandbox: the seccomp filter refuses ptrace(2).
    Control: without a sandbox the same command attaches to its child.
    """
    trial.refused("attach", errno=REFUSED, claim="a child cannot be attached to")


@promise(
    "process.other-memory-refused",
    kind="boundary",
    severity="medium",
    source=LINUX,
    policies=OFF,
    requires=("kernel:memory",),
    acts={name: TRACES[name] for name in ("read", "write")},
)
def test_memory_of_a_process_cannot_be_reached_by_its_number(trial: Trial) -> None:
    """With the network off process_vm_readv(2) and process_vm_writev(2) are refused, even for the command itself.

    Source: codex-linux-sandbox: the seccomp filter refuses them together with ptrace(2).
    Control: without a sandbox the same command copies its own bytes.
    """
    trial.refused("read", errno=REFUSED, claim="process_vm_readv(2) is refused")
    trial.refused("write", errno=REFUSED, claim="process_vm_writev(2) is refused")


@promise(
    "process.other-abi-refused",
    kind="boundary",
    severity="critical",
    source=LINUX,
    policies=OFF,
    requires=("kernel:other-abi",),
    acts={name: Act(verb="other-abi", params={"abi": name}) for name in ("i386", "x32")},
)
def test_another_abi_makes_no_socket_with_the_network_off(trial: Trial) -> None:
    """With the network off the system calls of 32-bit programs make no IPv4 socket, and those of x32 none.

    Source: codex-linux-sandbox: the network is off; a filter that knows one ABI must refuse the others.
    Control: without a sandbox the same machine code makes the socket. An ABI that the kernel lacks is left out.
    """
    trial.refused("i386", errno=ABI_REFUSED, claim="a 32-bit system call makes no socket")
    trial.refused("x32", errno=ABI_REFUSED, unless=NO_SUCH_ABI, claim="a system call of x32 makes no socket")


@promise(
    "process.remount-refused",
    kind="boundary",
    severity="critical",
    source=LINUX,
    policies=SANDBOXED,
    requires=("kernel:remount",),
    acts=REMOUNTS,
)
def test_nothing_can_be_remounted_writable(trial: Trial) -> None:
    """The command cannot remount `/` so that it can be written, not in a mount namespace of its own either, and not
    with the capabilities that a further user namespace gives.

    Source: codex-linux-sandbox: the file system is read-only but for the writable roots.
    Control: without a sandbox the same remount works. A namespace in which it is refused without a sandbox is left out.
    """
    no_remount_works(trial)
