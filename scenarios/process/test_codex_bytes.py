"""Arguments of any bytes: a file name on Linux need not be UTF-8."""

import hashlib
import json

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE

SOURCE = "https://github.com/openai/codex/blob/main/codex-rs/cli/src/debug_sandbox.rs"
WORDS = (b"\xff", b"gr\xfcn", b"a\xc3", b"", b"\n", bytes(range(1, 256)), b"\xfe" * 1000)


@promise(
    "process.arguments-of-any-bytes",
    kind="capability",
    severity="medium",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={"words": Act(verb="words")},
    call=Call(byte_words=WORDS),
)
def test_arguments_that_are_not_utf_8_are_passed(trial: Trial) -> None:
    """Arguments that are not UTF-8 reach the command byte for byte: an old file name in Latin-1 can be given to it.

    Source: `codex sandbox` runs the command that follows `--`.
    Control: the arguments of the same command without a sandbox.
    """
    row, control = trial.row("words"), trial.control_row("words")
    wanted = json.dumps([[len(one), hashlib.sha256(one).hexdigest(), one[:80].decode("latin-1")] for one in WORDS])
    trial.says(
        "words",
        claim=f"{len(WORDS)} arguments arrive unchanged",
        saw="each as it was given" if row.value == wanted else row.value[:500] or row.errno or row.detail,
        held=row.value == wanted,
        control="each as it was given" if control.value == wanted else control.value[:500] or control.errno,
        control_held=control.value == wanted,
        reason=row.errno,
        direction="denied",
    )
