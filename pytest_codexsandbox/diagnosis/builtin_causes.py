"""Causes that no text tells: they follow from the verdict itself. `explain` chooses among them."""

from typing import Final

from pytest_codexsandbox.model.record import Diagnosis

NO_SANDBOX: Final = Diagnosis(
    fingerprint="no-sandbox-was-on",
    verdict="sandbox",
    cause="Codex ran the command without a sandbox although the policy asks for one.",
    remedy="Look at the argv of the call: options of another release are ignored silently (`--full-auto` and "
    "`sandbox_mode` at `codex sandbox`). If the options are right for this release, this is a fault of this build.",
)
HALF_A_SANDBOX: Final = Diagnosis(
    fingerprint="half-a-sandbox-was-on",
    verdict="sandbox",
    cause="Codex set up a sandbox, of which the kernel shows marks, and a write that every policy refuses went through "
    "it: the part that protects the files is missing, or ignores what Codex requested.",
    remedy="Look at what set it up (the line `sandbox:`, `bwrap_used` of the call): what is called bwrap there may be "
    'another program. `bwraps = ["none"]` of a matrix file measures with the one that Codex brings; where that one '
    "lets it through, tell openai/codex by its security policy first.",
)
LET_THROUGH: Final = Diagnosis(
    fingerprint="sandbox-let-it-through",
    verdict="sandbox",
    cause="The sandbox was on and let through what the policy forbids. Nothing on this machine explains that.",
    remedy="Run the repro with another release to see since when. It may be a hole: tell openai/codex by its security "
    "policy first.",
)
ETC_CODEX: Final = Diagnosis(
    fingerprint="",
    cause="This machine has a configuration of its own in /etc/codex, which every Codex reads: it may have "
    "granted or refused something in place of the policy.",
    remedy="Look at what it sets ({names}), or run where /etc/codex does not exist: only then is this about Codex.",
)
ANOTHER_BWRAP: Final = Diagnosis(
    fingerprint="another-bwrap-was-used",
    verdict="not-sandbox",
    cause="Codex did not take the bubblewrap that was asked for, and set its sandbox up with another one: what holds "
    "there says nothing about the one that was asked for.",
    remedy="A Codex from 0.129 on leaves a bubblewrap aside whose --help lacks --perms, or that does not run for this "
    "user. Ask for one that it takes, for `none` (what Codex brings), or for `as-chosen` (whichever it takes).",
)
TIMED_OUT: Final = Diagnosis(
    fingerprint="",
    cause="The call did not end in its time, and the harness ended it: Codex hangs, or this machine is slow.",
    remedy="`--codex-timeout-scale 5` tells one from the other.",
)
KILLED: Final = Diagnosis(
    fingerprint="",
    cause="SIGKILL ended Codex before its command printed anything; the harness did not send it.",
    remedy="Run it again. Where memory is short the kernel does this (`dmesg`, or the memory limit of the container); "
    "if it stays, Codex does it itself.",
)
FAILS_OUTSIDE: Final = Diagnosis(
    fingerprint="fails-outside-too",
    verdict="not-sandbox",
    cause="The command of this test fails outside the sandbox too, in the same way: it is not the sandbox.",
    remedy="Correct the command, or what the test gives it (`given`, `env`, `stdin`). `control` says how it ended.",
)
NO_DIRECTION: Final = Diagnosis(
    fingerprint="",
    cause="The test failed, and nothing shows that the sandbox refused anything: `control` says what is known of the "
    "same command outside.",
    remedy="Compare what the test expects with `saw` and `control`. Where it expects a refusal, the command works.",
)
TEST_IS_WRONG: Final = Diagnosis(
    fingerprint="test-is-wrong",
    verdict="not-sandbox",
    cause="The test itself cannot be run as it is written, so nothing was measured. This says nothing about Codex.",
    remedy="Change the test as the reason says.",
)
UNKNOWN: Final = Diagnosis(
    fingerprint="",
    cause="no fingerprint fits; only the promise and the observation are known",
    remedy="if you find the cause, add a fingerprint for it: one TOML file (docs/how-to/add-a-fingerprint.md)",
)
HARNESS: Final = Diagnosis(
    fingerprint="",
    cause="no fingerprint fits; the harness could not tell, so this says nothing about Codex",
    remedy="run it again; `codexsandbox doctor` names what this machine lacks; if it stays, report it with the journal",
)
NEVER_RAN: Final = Diagnosis(
    fingerprint="",
    cause="the run, or the worker, ended before it reported this result: interrupted, killed, or "
    "without disk space for its journal",
    remedy="run it again, to its end",
)
DERIVED: Final = (NO_SANDBOX, HALF_A_SANDBOX, LET_THROUGH, ANOTHER_BWRAP, FAILS_OUTSIDE, TEST_IS_WRONG)
