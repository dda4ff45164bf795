"""Environment: the caller's variables reach the command, Codex adds few, and none switches the sandbox off."""

import hashlib

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.boundary_acts import BOUNDARY_ACTS, REFUSALS, WALLS
from pytest_codexsandbox.model.policy import SANDBOXED, WORKSPACE_WRITE

SPAWN = "https://github.com/openai/codex/blob/main/codex-rs/core/src/spawn.rs"
POLICY = "https://developers.openai.com/codex/config-reference#shell_environment_policy"
SECURITY = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"
KEPT = ("CODEX_HOME", "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER")
OF_THE_SANDBOX = ("CODEX_SANDBOX_NETWORK_DISABLED", "PWD")  # from Codex's helper, and from bubblewrap
SECRETS = {
    name: f"{name.lower()} of the caller"
    for name in ("AWS_SECRET_ACCESS_KEY", "CODEX_API_KEY", "DATABASE_PASSWORD", "GITHUB_TOKEN", "OPENAI_API_KEY")
}
AUTH = "@CODEX_HOME@/auth.json"
WORD = "kept by Codex in its own file"  # stands in auth.json as the key
LOGIN = f'{{"OPENAI_API_KEY": "{WORD}", "tokens": null, "last_refresh": null}}\n'
HOLDS_THE_WORD = "CX_MARK"
HOSTILE = {
    "BASH_ENV": "@WORKSPACE@/run-me",
    "ENV": "@WORKSPACE@/run-me",
    "LD_PRELOAD": "@WORKSPACE@/no-such-library.so",
    "CODEX_SANDBOX": "off",
    "CODEX_SANDBOX_NETWORK_DISABLED": "0",
    "CODEX_UNSAFE_ALLOW_NO_SANDBOX": "1",
    "CODEX_SANDBOX_MODE": "danger-full-access",
    "SANDBOX_MODE": "danger-full-access",
    "GIT_DIR": "@OUTSIDE@",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "@WORKSPACE@/run-me",
    "PYTHONSTARTUP": "@WORKSPACE@/run-me",
    "RUST_LOG": "off",
}
LEFT = "@OUTSIDE@/@NAME@"
TRACE = "@WORKSPACE@/ran-@NAME@"  # made by the command itself: proves that bash ran
PROGRAM = f"#!/bin/sh\necho let through > '{LEFT}'\n"


def digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()[:16]


def digests_of(lines: list[str]) -> dict[str, str]:
    """Returns the digest of each variable by its name."""
    pairs = (str(line).partition(" ") for line in lines)
    return {name: found for found, _, name in pairs}


def sides(trial: Trial) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the variables inside and in the control, by digest."""
    inside, outside = trial.values("variables"), trial.control_values("variables")
    return digests_of(inside.get("digests", [])), digests_of(outside.get("digests", []))


def shown(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


@promise(
    "process.standard-variables-kept",
    kind="capability",
    severity="high",
    source=SPAWN,
    policies=SANDBOXED,
    acts={"variables": Act(verb="variables")},
)
def test_the_standard_variables_are_kept(trial: Trial) -> None:
    """HOME, LANG, PATH, SHELL, TMPDIR, USER and others have the caller's values. Codex may put folders before PATH.

    Source: `codex sandbox` hands its environment on; for `codex exec` the default inherits all.
    Control: the variables of the same command without a sandbox.
    """
    inside, outside = sides(trial)
    given, given_outside = trial.observed().env, trial.controlled().env
    path = trial.values("variables").get("path", "")
    longer = {"PATH"} if path.endswith(":" + given.get("PATH", "/")) else set()
    changed = {name for name in KEPT if inside.get(name) != digest(given.get(name, ""))} - longer
    trial.says(
        "variables",
        claim=f"{len(KEPT)} standard variables have the caller's values",
        saw=f"lost or changed: {shown(changed)}",
        held=bool(inside) and not changed,
        control=f"variables: {shown(set(outside))}",
        control_held=all(outside.get(name) == digest(given_outside.get(name, "")) for name in KEPT),
        direction="denied",
    )


@promise(
    "process.no-variable-added",
    kind="claim",
    severity="high",
    source=SPAWN,
    policies=SANDBOXED,
    acts={"variables": Act(verb="variables")},
)
def test_nothing_unknown_is_added_to_the_environment(trial: Trial) -> None:
    """The command gets no variable that the caller did not set, but the known ones of the sandbox and of its door.

    Source: codex-core, spawn. Each door names what it adds: `codex exec` sets pagers and locales for tools.
    Control: the variables of the same command without a sandbox.
    """
    inside, outside = sides(trial)
    added = set(inside) - set(outside) - {*OF_THE_SANDBOX, *trial.observed().adds}
    trial.says(
        "variables",
        claim="no variable is added but known ones",
        saw=f"added: {shown(added)}",
        held=bool(inside) and not added,
        control=f"variables: {shown(set(outside))}",
        control_held=set(KEPT) <= set(outside),
        direction="leak",
    )


@promise(
    "process.secrets-of-the-caller",
    kind="claim",
    severity="medium",
    source=POLICY,
    policies=(WORKSPACE_WRITE,),
    acts={
        "variables": Act(
            verb="variables",
            params={"holding": WORD},
            given=(
                Given(
                    kind="file",
                    path=AUTH,
                    content=LOGIN,
                    mode=0o600,
                ),
            ),
            looks=(AUTH,),
        )
    },
    call=Call(env={**SECRETS, HOLDS_THE_WORD: WORD}, at_every_door=True),
    cases=("passed", "own"),
)
def test_secrets_of_the_caller_are_passed_and_those_of_codex_are_not(trial: Trial) -> None:
    """Variables named like secrets reach the command as they are. What Codex keeps in auth.json is in no variable.

    One variable of the caller holds the same word as auth.json: the search has to find it on both sides.

    Source: configuration reference, shell_environment_policy: the default inherits all; nothing hands auth.json on.
    Control: the variables of the same command without a sandbox, beside the same auth.json.
    """
    inside, outside = sides(trial)
    wanted = {name: digest(value) for name, value in SECRETS.items()}
    lost = {name for name in wanted if inside.get(name) != wanted[name]}
    holding = set(trial.values("variables").get("holding", ()))
    found = set(trial.control_values("variables").get("holding", ()))
    login = hashlib.sha256(LOGIN.encode()).hexdigest()
    there, beside = (
        {look(AUTH, act="variables", before=b).sha256 for b in (True, False)}
        for look in (trial.look, trial.control_look)
    )
    passed = trial.case == "passed"
    trial.says(
        "variables",
        claim=f"{len(SECRETS)} variables have the caller's values" if passed else "only the caller's holds Codex's key",
        saw=f"lost or changed: {shown(lost)}" if passed else f"variables that hold it: {shown(holding)}",
        held=bool(inside) and (not lost if passed else holding == {HOLDS_THE_WORD} and there == {login}),
        control=f"variables: {shown(set(outside))}; that hold it: {shown(found)}",
        control_held=all(outside.get(name) == wanted[name] for name in wanted)
        and (passed or (found == {HOLDS_THE_WORD} and beside == {login})),
        direction="leak" if not passed and holding - {HOLDS_THE_WORD} else "denied",
    )


def runs_no_named_program(trial: Trial) -> None:
    """Adds a row that holds if bash ran, and the program that BASH_ENV names made nothing outside."""
    inside, plain = trial.look(LEFT, act="run"), trial.control_look(LEFT, act="run")
    ran, ran_plain = trial.look(TRACE, act="run"), trial.control_look(TRACE, act="run")
    row = trial.row("run")
    trial.says(
        "run",
        claim="the program that BASH_ENV names writes nothing outside",
        saw=f"bash {'ended well' if row.ok else row.detail[:200]}; trace {ran.kind}; outside {inside.kind}",
        held=row.ok and ran.kind == "file" and inside.kind == "missing",
        control=f"trace {ran_plain.kind}; outside {plain.kind}",
        control_held=ran_plain.kind == "file" and plain.kind == "file",
        direction="leak" if inside.kind == "file" else "denied",
    )


def widens_nothing(trial: Trial) -> None:
    """Adds the rows of the case: about the programs that variables name, or about one wall of the sandbox."""
    if trial.case == "programs":
        runs_no_named_program(trial)
        trial.refused("root")
    for act in WALLS.get(trial.case, ()):
        trial.refused(act, errno=REFUSALS[trial.case])


@promise(
    "process.hostile-variables-widen-nothing",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=(WORKSPACE_WRITE,),
    requires=("program:bash",),
    acts={
        "run": Act(
            verb="run",
            params={"argv": ["bash", "-c", f"echo ran > '{TRACE}'"]},
            given=(Given(kind="file", path="@WORKSPACE@/run-me", content=PROGRAM, mode=0o755),),
            looks=(LEFT, TRACE),
        ),
        "root": Act(verb="write", path="@ROOT0@/@NAME@", params={"data": "let through"}),
        **BOUNDARY_ACTS,
    },
    call=Call(env=HOSTILE, at_every_door=True),
    cases=("programs", *WALLS),
)
def test_hostile_variables_widen_nothing(trial: Trial) -> None:
    """BASH_ENV, LD_PRELOAD, GIT_ and CODEX_ variables switch nothing off, and run nothing outside the sandbox.

    Source: Codex documentation, sandbox modes: settings choose them, and no variable does.
    bash leaves a trace in the workspace: a bash that never ran proves nothing.
    Control: without a sandbox the same writes and connections work, and BASH_ENV runs its program.
    """
    widens_nothing(trial)
