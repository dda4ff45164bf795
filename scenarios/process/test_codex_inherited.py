"""What a command inherits: its user, limits, signals, umask. What it must not inherit: privileges."""

import json
from typing import Any

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, ActResult
from pytest_codexsandbox.model.policy import SANDBOXED

SOURCE = "https://github.com/openai/codex/blob/main/codex-rs/cli/src/debug_sandbox.rs"
LINUX = "https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/README.md"
CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapAmb")
CORE = "RLIMIT_CORE"
STATE = {"process": Act(verb="process")}
STATUS = {"status": Act(verb="status")}


def read(row: ActResult) -> dict[str, Any]:
    """Returns the values of a row; {} if there are none: a forger may print anything."""
    try:
        found = json.loads(row.value) if row.ok else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def limits(row: ActResult) -> dict[str, Any]:
    found = read(row)
    return {**found.get("limits", {}), "nice": found.get("nice")} if found else {}


def as_outside(trial: Trial, *names: str, claim: str) -> None:
    """Adds a row that holds if each of these values is what it is without a sandbox."""
    row, control = trial.row("process"), trial.control_row("process")
    inside, outside = read(row), read(control)
    differing = [name for name in names if inside.get(name) != outside.get(name)] if inside else list(names)
    saw = "; ".join(f"{name} {inside.get(name)}" for name in differing) or f"{', '.join(names)} as outside"
    trial.says(
        "process",
        claim=claim,
        saw=saw if inside else row.errno or row.detail,
        held=bool(inside) and not differing,
        control="; ".join(f"{name} {outside.get(name)}" for name in differing or names),
        control_held=all(name in outside for name in names),
        direction="denied",
    )


@promise(
    "process.identity-kept",
    kind="capability",
    severity="high",
    source=SOURCE,
    policies=SANDBOXED,
    acts=STATE,
)
def test_the_command_runs_as_the_same_user(trial: Trial) -> None:
    """The command has the user and the group of the caller: its files belong to the caller.

    Source: `codex sandbox` runs its command as the user who calls it.
    Control: user and group of the same command without a sandbox.
    """
    as_outside(trial, "uid", "gid", claim="user and group are the caller's")


@promise("process.umask-kept", kind="capability", severity="medium", source=SOURCE, policies=SANDBOXED, acts=STATE)
def test_the_umask_is_the_callers(trial: Trial) -> None:
    """Files that the command makes have the permissions that they would have without a sandbox.

    Source: `codex sandbox` changes nothing about the files that its command makes.
    Control: the umask of the same command without a sandbox.
    """
    as_outside(trial, "umask", claim="the umask is the caller's")


@promise("process.limits-kept", kind="capability", severity="medium", source=SOURCE, policies=SANDBOXED, acts=STATE)
def test_the_resource_limits_are_the_callers(trial: Trial) -> None:
    """Limits on open files, file sizes, memory, processes and priority are the caller's.

    Codex may lower the limit on the size of a core file to 0. It may not raise it.

    Source: `codex sandbox` runs its command with the caller's limits.
    Control: the limits of the same command without a sandbox.
    """
    row, control = trial.row("process"), trial.control_row("process")
    inside, outside = limits(row), limits(control)
    differing = sorted(name for name in outside if inside.get(name) != outside[name])
    if inside.get(CORE) == [0, 0] and CORE in differing:
        differing.remove(CORE)
    trial.says(
        "process",
        claim="each resource limit is the caller's",
        saw="; ".join(f"{name} {inside.get(name)}" for name in differing) or f"{len(inside)} limits as outside",
        held=bool(inside) and not differing,
        control="; ".join(f"{name} {outside[name]}" for name in differing) or f"{len(outside)} limits",
        control_held=bool(outside),
        direction="denied",
    )


@promise(
    "process.signals-as-outside", kind="capability", severity="high", source=SOURCE, policies=SANDBOXED, acts=STATE
)
def test_no_signal_is_ignored_or_blocked(trial: Trial) -> None:
    """The command ignores and blocks the signals that it would without a sandbox: `yes | head` ends, Ctrl-C works.

    Source: `codex sandbox` runs its command as a shell would.
    Control: ignored and blocked signals of the same command without a sandbox.
    """
    as_outside(trial, "ignored", "blocked", claim="ignored and blocked signals are the caller's")


@promise("process.no-capabilities", kind="boundary", severity="critical", source=LINUX, policies=SANDBOXED, acts=STATUS)
def test_the_command_has_no_capability(trial: Trial) -> None:
    """The command has no capability, not even when root calls Codex: it can mount nothing and remount nothing.

    Source: codex-linux-sandbox: bubblewrap drops every capability.
    Control: the kernel says which capabilities the same command has without a sandbox.
    """
    row, control = trial.row("status"), trial.control_row("status")
    inside, outside = read(row), read(control)
    held = [name for name in CAPABILITIES if inside.get(name, "0").strip("0")]
    trial.says(
        "status",
        claim=f"{', '.join(CAPABILITIES)} are empty",
        saw="; ".join(f"{name} {inside[name]}" for name in held) or ("no capability" if inside else row.errno),
        held=bool(inside) and all(name in inside for name in CAPABILITIES) and not held,
        control="; ".join(f"{name} {outside.get(name)}" for name in CAPABILITIES),
        control_held=all(name in outside for name in CAPABILITIES),
        direction="leak",
    )


@promise(
    "process.no-new-privileges", kind="boundary", severity="critical", source=LINUX, policies=SANDBOXED, acts=STATUS
)
def test_a_setuid_program_gives_no_privilege(trial: Trial) -> None:
    """The kernel's mark NoNewPrivs is set: sudo, su and mount give a command nothing that it does not have.

    Source: codex-linux-sandbox sets PR_SET_NO_NEW_PRIVS before the command starts.
    Control: the kernel says the mark of the same command without a sandbox.
    """
    row, control = trial.row("status"), trial.control_row("status")
    inside, outside = read(row), read(control)
    trial.says(
        "status",
        claim="NoNewPrivs is 1",
        saw=f"NoNewPrivs {inside.get('NoNewPrivs', row.errno)}",
        held=inside.get("NoNewPrivs") == "1",
        control=f"NoNewPrivs {outside.get('NoNewPrivs', control.errno)}",
        control_held="NoNewPrivs" in outside,
        direction="leak",
    )
