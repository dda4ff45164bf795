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
ERRORS = Act(verb="error-output", params={"lines": 60_000})  # one megabyte: much more than a pipe holds
ERROR_LINE = b"error line %06d\n"
WORDS = (
    "", " ", "two words", "  spaces  ", "-x", "--", "--help", "a\nb", "tab\there", "grün ✔", "'single'", '"double"',
    "$HOME", "`id`", "*", "%s", "back\\slash", "#", "", "a" * 100_000,
)  # fmt: skip
# A file name need not be UTF-8.
BYTE_WORDS = (b"\xff", b"gr\xfcn", b"a\xc3", b"", b"\n", bytes(range(1, 256)), b"\xfe" * 1000)
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
    wanted = _output_digest(TALK.params["seed"], size)
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


@promise(
    "process.arguments-passed",
    kind="capability",
    severity="high",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={"words": Act(verb="words")},
    call=Call(words=WORDS),
)
def test_the_arguments_are_passed_byte_for_byte(trial: Trial) -> None:
    """The command gets each argument as it was given: empty ones, spaces, newlines, quotes, options, 100 kB.

    Source: `codex sandbox` runs the command that follows `--`.
    Control: the arguments of the same command without a sandbox.
    """
    arguments_arrive(trial, tuple(word.encode() for word in WORDS))


@promise(
    "process.arguments-of-any-bytes",
    kind="capability",
    severity="medium",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={"words": Act(verb="words")},
    call=Call(byte_words=BYTE_WORDS),
)
def test_arguments_that_are_not_utf_8_are_passed(trial: Trial) -> None:
    """Arguments that are not UTF-8 reach the command byte for byte: an old file name in Latin-1 can be given to it.

    Source: `codex sandbox` runs the command that follows `--`.
    Control: the arguments of the same command without a sandbox.
    """
    arguments_arrive(trial, BYTE_WORDS)


def arguments_arrive(trial: Trial, words: tuple[bytes, ...]) -> None:
    row, control = trial.row("words"), trial.control_row("words")
    wanted = json.dumps([[len(one), hashlib.sha256(one).hexdigest(), one[:80].decode("latin-1")] for one in words])
    trial.says(
        "words",
        claim=f"{len(words)} arguments arrive unchanged",
        saw="each as it was given" if row.value == wanted else row.value[:500] or row.errno or row.detail,
        held=row.value == wanted,
        control="each as it was given" if control.value == wanted else control.value[:500] or control.errno,
        control_held=control.value == wanted,
        reason=row.errno,
        direction="denied",
    )


def around(text: str) -> tuple[bytes, bytes]:
    """Returns what stands before the command's first line and after its last one, where both are there."""
    first, last = ((ERROR_LINE % number).decode() for number in (0, ERRORS.params["lines"] - 1))
    before, start, _ = text.partition(first)
    _, end, after = text.rpartition(last)
    return (before.encode(), after.encode()) if start and end else (b"", b"")


@promise(
    "process.error-output-is-intact",
    kind="capability",
    severity="high",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={"errors": ERRORS},
    call=Call(timeout=40.0),
)
def test_a_megabyte_of_error_output_arrives_intact(trial: Trial) -> None:
    """One megabyte that a command writes to stderr arrives there unchanged, and none of it on stdout.

    Lines of Codex's own may stand before the command's and after them, and nowhere among them. The row tells them.

    Source: `codex sandbox` lets its command inherit stderr.
    Control: the same output without a sandbox.
    """
    seen, control = trial.observed(), trial.controlled()
    data = b"".join(map(ERROR_LINE.__mod__, range(ERRORS.params["lines"])))
    wanted = hashlib.sha256(data).hexdigest()
    before, after = around(seen.stderr)
    whole = hashlib.sha256(before + data + after)
    arrived = (seen.stderr_sha256, seen.stderr_total) == (whole.hexdigest(), len(before + data + after))
    own = b" ".join((before + after).split()).decode()
    trial.says(
        "errors",
        claim=f"{len(data)} bytes with sha256 {wanted[:12]}… of the command on stderr, none on stdout, and exit 0",
        saw=f"{seen.stderr_total} bytes with sha256 {seen.stderr_sha256[:12]}…, {seen.stdout_total} on stdout, "
        f"{seen.ended} {seen.code}; of Codex: {own[:500] or 'nothing'}",
        held=arrived and (seen.stdout_total, seen.code) == (0, 0),
        control=f"{control.stderr_total} bytes with sha256 {control.stderr_sha256[:12]}…",
        control_held=(control.stderr_sha256, control.stdout_total) == (wanted, 0),
        direction="denied",
    )


_DIGESTS: dict[tuple[str, int], str] = {}  # made once: 10 MiB are made anew for each cell of a journal otherwise


def _output_digest(seed: str, size: int) -> str:
    if (seed, size) not in _DIGESTS:
        data = hashlib.shake_128(seed.encode()).digest(size)
        _DIGESTS[seed, size] = hashlib.sha256(data).hexdigest()
    return _DIGESTS[seed, size]
