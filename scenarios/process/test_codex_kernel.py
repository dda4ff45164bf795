"""Kernel: settings that a command in the sandbox could change, for every user of the machine."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.policy import SANDBOXED

SANDBOXING = "https://developers.openai.com/codex/concepts/sandboxing"
SETTINGS = {
    "core-pattern": "/proc/sys/kernel/core_pattern",  # the program that root starts, outside, when a process crashes
    "domainname": "/proc/sys/kernel/domainname",
    "hostname": "/proc/sys/kernel/hostname",
    "randomize": "/proc/sys/kernel/randomize_va_space",
    "swappiness": "/proc/sys/vm/swappiness",
    "sysrq": "/proc/sysrq-trigger",  # one letter restarts the machine; it is opened and never written to
}
REFUSALS = ("EROFS", "EACCES", "EPERM", "ENOENT")  # the last: covered, so that nothing of it is there
NOT_OUTSIDE = ("ENOENT", "EACCES", "EPERM", "EROFS")  # a kernel without it, or something outside that keeps it shut


def each_is_out_of_reach(trial: Trial) -> None:
    """Adds a row for each file that can be opened without a sandbox. If none can, there is no row at all."""
    for act, path in SETTINGS.items():
        claim = f"{path} cannot be opened for writing ({' or '.join(REFUSALS)})"
        trial.refused(act, errno=REFUSALS, unless=NOT_OUTSIDE, claim=claim)


@promise(
    "process.kernel-settings-out-of-reach",
    kind="boundary",
    severity="critical",
    source=SANDBOXING,
    policies=SANDBOXED,
    requires=("kernel-settings:writable",),
    acts={name: Act(verb="may-write", path=path) for name, path in SETTINGS.items()},
)
def test_the_settings_of_the_kernel_are_out_of_reach(trial: Trial) -> None:
    """No setting of the kernel in /proc/sys, and not /proc/sysrq-trigger, can be opened for writing: a command that
    may write in its workspace changes nothing for the whole machine. They are opened, and nothing is written.

    Source: Codex: the sandbox is the boundary for what a command can change.
    Control: without a sandbox this user can open them; what he cannot open, or this kernel lacks, is left out.
    """
    each_is_out_of_reach(trial)
