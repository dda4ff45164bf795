"""One line of the doctor, and all of them on a screen."""

import shutil
import textwrap
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError

Answer = Literal["yes", "no", "skipped"]
_WIDTH: Final = 100


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    what: str
    answer: Answer
    why: str
    fix: str = ""
    needed: bool = False  # without it nothing can be measured


def as_text(findings: tuple[Finding, ...]) -> str:
    wide, width = (
        max(len(finding.what) for finding in findings),
        max(60, min(_WIDTH, shutil.get_terminal_size().columns)),
    )
    lines = [f"{'this machine':<{wide}}  there     why"]
    for finding in findings:
        head = f"{finding.what:<{wide}}  {finding.answer:<8}  "
        lines += textwrap.wrap(
            finding.why, width, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
        )
        if finding.fix and finding.answer == "no":
            lines.append(f"{'':<{wide}}  fix       {finding.fix}")
    return "\n".join(lines)


def words(error: CodexSandboxError) -> str:
    return "; ".join(part for part in (error.what, error.why) if part)
