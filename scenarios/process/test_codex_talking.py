"""Input and output: stdin, stdout, environment, and many calls at once."""

import hashlib
import json

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.policy import EVERY, READ_ONLY, WORKSPACE_WRITE

SOURCE = "https://github.com/openai/codex/blob/main/codex-rs/cli/src/debug_sandbox.rs"
SPAWN = "https://github.com/openai/codex/blob/main/codex-rs/core/src/spawn.rs"
SAID = bytes(range(256)) * 512  # 128 KiB, every byte: more than a pipe holds
TALK = Act(verb="output", params={"size": 10 << 20, "seed": "as much as a build prints"})
FLAG = "CODEX_SANDBOX_NETWORK_DISABLED"
PASSED = {
    "CX_EMPTY": "",
    "CX_EQUALS": "a=b=c",
    "CX_LINES": "one\ntwo",
    "CX_PLAIN": "as it was",
    "CX_SPACES": "  kept  ",
    "CX_UNICODE": "grün ✔",
}


@promise(
    "process.stdin-arrives",
    kind="capability",
    severity="high",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={"stdin": Act(verb="stdin")},
    call=Call(stdin=SAID),
)
def test_standard_input_arrives_byte_for_byte(trial: Trial) -> None:
    """The command reads what is written to the call's stdin, every byte value, to the end of file.

    Source: `codex sandbox` lets its command inherit stdin.
    Control: what the same command reads without a sandbox.
    """
    row, control = trial.row("stdin"), trial.control_row("stdin")
    wanted = json.dumps({"sha256": hashlib.sha256(SAID).hexdigest(), "length": len(SAID)})
    trial.says(
        "stdin",
        claim=f"{len(SAID)} bytes arrive unchanged",
        saw=row.value or row.errno or row.detail,
        held=row.value == wanted,
        control=control.value or control.errno,
        control_held=control.value == wanted,
        reason=row.errno,
        direction="denied",
    )


@promise(
    "process.output-is-intact",
    kind="capability",
    severity="high",
    source=SOURCE,
    policies=(READ_ONLY,),
    acts={"output": TALK},
    call=Call(timeout=40.0),
)
def test_ten_mebibytes_of_output_arrive_intact(trial: Trial) -> None:
    """10 MiB that a command writes to stdout arrive unchanged, and nothing of Codex's own is among them.

    Source: `codex sandbox` lets its command inherit stdout.
    Control: the same output without a sandbox.
    """
    seen, control = trial.observed(), trial.controlled()
    size = TALK.params["size"]
    wanted = hashlib.sha256(hashlib.shake_128(TALK.params["seed"].encode()).digest(size)).hexdigest()
    trial.says(
        "output",
        claim=f"{size} bytes with sha256 {wanted[:12]}…, and exit 0",
        saw=f"{seen.stdout_total} bytes with sha256 {seen.stdout_sha256[:12]}…, {seen.ended} {seen.code}",
        held=seen.stdout_sha256 == wanted and seen.stdout_total == size and seen.ended == "exit" and seen.code == 0,
        control=f"{control.stdout_total} bytes with sha256 {control.stdout_sha256[:12]}…, exit {control.code}",
        control_held=control.stdout_sha256 == wanted and control.stdout_total == size and control.code == 0,
        direction="denied",
    )


@promise(
    "process.environment-passed",
    kind="capability",
    severity="high",
    source=SPAWN,
    policies=(WORKSPACE_WRITE,),
    acts={"env": Act(verb="env", params={"names": sorted(PASSED)})},
    call=Call(env=PASSED),
)
def test_the_environment_is_passed_unchanged(trial: Trial) -> None:
    """Variables reach the command with their values: empty ones, several lines, spaces, equals signs, Unicode.

    Source: `codex sandbox` hands its environment on.
    Control: what the same command sees without a sandbox.
    """
    row, control = trial.row("env"), trial.control_row("env")
    wanted = json.dumps(PASSED)
    trial.says(
        "env",
        claim="each of the variables has its value",
        saw=row.value or row.errno or row.detail,
        held=row.value == wanted,
        control=control.value,
        control_held=control.value == wanted,
        direction="denied",
    )


@promise(
    "process.network-flag-tells-the-truth",
    kind="claim",
    severity="medium",
    source=SPAWN,
    policies=EVERY,
    acts={"env": Act(verb="env", params={"names": [FLAG]})},
)
def test_the_network_flag_is_set_exactly_when_the_network_is_off(trial: Trial) -> None:
    """CODEX_SANDBOX_NETWORK_DISABLED is 1 where the policy grants no network, and not there at all where it does.

    Source: codex-core, spawn: the variable tells programs that the network is off.
    Control: without Codex the variable is not there.
    """
    row, control = trial.row("env"), trial.control_row("env")
    wanted = json.dumps({FLAG: None if trial.network() else "1"})
    trial.says(
        "env",
        claim=f"{wanted} with the network {'on' if trial.network() else 'off'}",
        saw=row.value or row.errno or row.detail,
        held=row.value == wanted,
        control=control.value,
        control_held=control.value == json.dumps({FLAG: None}),
    )


@promise(
    "process.sixteen-calls-at-once",
    kind="capability",
    severity="high",
    source="https://developers.openai.com/codex/concepts/sandboxing",
    policies=(WORKSPACE_WRITE,),
    acts={
        "work": Act(verb="write", path="@WORKSPACE@/@NAME@", params={"data": "all at once"}),
        "outside": Act(verb="write", path="@OUTSIDE@/@NAME@", params={"data": "let through"}),
    },
    call=Call(copies=16, timeout=90.0),
)
def test_sixteen_calls_at_once_do_not_disturb_each_other(trial: Trial) -> None:
    """Sixteen calls that start together all do their work, each in its workspace, and each is confined.

    Source: Codex runs commands side by side, subagents included.
    Control: the same sixteen without a sandbox.
    """
    trial.allowed("work")
    trial.refused("outside")
