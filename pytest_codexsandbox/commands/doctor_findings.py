"""One line of the doctor, and all of them on a screen."""

import shutil
import textwrap
from typing import Final

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.model.doctor_finding import DoctorFinding

_WIDTH: Final = 100


def as_text(findings: tuple[DoctorFinding, ...]) -> str:
    wide, width = (
        max(len(finding.what) for finding in findings),
        max(60, min(_WIDTH, shutil.get_terminal_size().columns)),
    )
    lines = [f"{'this machine':<{wide}}  answer    why"]
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
