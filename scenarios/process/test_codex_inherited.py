"""Inheritance: user, limits, signals and umask of the caller reach the command; privileges do not."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.policy import SANDBOXED

SOURCE = "https://github.com/openai/codex/blob/main/codex-rs/cli/src/debug_sandbox.rs"
LINUX = "https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/README.md"
CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapAmb")
CORE = "RLIMIT_CORE"
STATE = {"process": Act(verb="process")}
STATUS = {"status": Act(verb="status")}


def as_outside(trial: Trial, *names: str, claim: str) -> None:
    """Adds a row that holds if each of these values is what it is without a sandbox."""
    inside, outside = trial.values("process"), trial.control_values("process")
    differing = [name for name in names if inside.get(name) != outside.get(name)] if inside else list(names)
    trial.says(
        "process",
        claim=claim,
        saw="; ".join(f"{name} {inside.get(name)}" for name in differing) or f"{', '.join(names)} as outside",
        held=bool(inside) and not differing,
        control="; ".join(f"{name} {outside.get(name)}" for name in differing or names),
        control_held=all(name in outside for name in names),
        direction="denied",
    )


def limits_as_outside(trial: Trial) -> None:
    """Adds a row that holds if each limit is what it is without a sandbox; that of core files may be 0."""
    inside, outside = trial.values("process").get("limits", {}), trial.control_values("process").get("limits", {})
    allowed = {name: ([0, 0], limit) if name == CORE else (limit,) for name, limit in outside.items()}
    differing = sorted(name for name in outside if inside.get(name) not in allowed[name])
    trial.says(
        "process",
        claim="each resource limit is the caller's",
        saw="; ".join(f"{name} {inside.get(name)}" for name in differing) or f"{len(inside)} limits as outside",
        held=bool(inside) and not differing,
        control="; ".join(f"{name} {outside[name]}" for name in differing) or f"{len(outside)} limits",
        control_held=bool(outside),
        direction="denied",
    )


def are_empty(trial: Trial, names: tuple[str, ...]) -> None:
    """Adds a row that holds if these sets of capabilities are empty."""
    inside, outside = trial.values("status"), trial.control_values("status")
    held = [name for name in names if inside.get(name, "0").strip("0")]
    trial.says(
        "status",
        claim=f"{', '.join(names)} are empty",
        saw="; ".join(f"{name} {inside[name]}" for name in held) or f"{len(inside)} marks, no capability",
        held=all(name in inside for name in names) and not held,
        control="; ".join(f"{name} {outside.get(name)}" for name in names),
        control_held=all(name in outside for name in names),
        direction="leak",
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
    """Files that the command makes have the permissions that a caller's umask of 022 gives them.

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
    limits_as_outside(trial)
    as_outside(trial, "nice", claim="the priority is the caller's")


@promise(
    "process.signals-as-outside", kind="capability", severity="high", source=SOURCE, policies=SANDBOXED, acts=STATE
)
def test_no_signal_is_ignored_or_blocked(trial: Trial) -> None:
    """The command ignores and blocks the signals that it would without a sandbox: Ctrl-C works.

    SIGPIPE and SIGXFSZ are not seen here, since Python ignores them: `process.program-signals-as-outside` asks.

    Source: `codex sandbox` runs its command as a shell would.
    Control: ignored and blocked signals of the same command without a sandbox.
    """
    as_outside(trial, "ignored", "blocked", claim="ignored and blocked signals are the caller's")


@promise("process.no-capabilities", kind="boundary", severity="critical", source=LINUX, policies=SANDBOXED, acts=STATUS)
def test_the_command_has_no_capability(trial: Trial) -> None:
    """The command has no capability, not even when root calls Codex: the kernel lets it mount and remount nothing.

    Source: codex-linux-sandbox: bubblewrap drops every capability.
    Control: the kernel says which capabilities the same command has without a sandbox.
    """
    are_empty(trial, CAPABILITIES)


@promise(
    "process.no-new-privileges",
    kind="boundary",
    severity="critical",
    source=LINUX,
    policies=SANDBOXED,
    requires=("new-privileges:possible",),
    acts=STATUS,
)
def test_a_setuid_program_gives_no_privilege(trial: Trial) -> None:
    """The kernel's mark NoNewPrivs is set: sudo, su and mount give a command nothing that it does not have.

    Source: codex-linux-sandbox sets PR_SET_NO_NEW_PRIVS before the command starts.
    Control: without a sandbox the mark of the same command is 0. Where it is 1 already, the promise is n/a.
    """
    inside, outside = trial.values("status"), trial.control_values("status")
    trial.says(
        "status",
        claim="NoNewPrivs is 1",
        saw=f"NoNewPrivs {inside.get('NoNewPrivs', 'is not shown')}",
        held=inside.get("NoNewPrivs") == "1",
        control=f"NoNewPrivs {outside.get('NoNewPrivs', 'is not shown')}",
        control_held=outside.get("NoNewPrivs") == "0",
        direction="leak",
    )
