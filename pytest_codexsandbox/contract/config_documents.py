"""Generated configurations: valid TOML documents that a generator must handle, shrunk to the smallest failing one.

    hunt(tell, CHECKS.values(), declaration)

`tell` sets up a case, runs the generator on it, and returns the case run. A document that breaks a promise is shrunk as
far as possible and printed as a file to paste. Needs hypothesis (`pip install "pytest-codexsandbox[hypothesis]"`).
"""

import base64
import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.generator import Case, CaseRun, Declaration, Finding

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Check = Callable[[CaseRun, Declaration], tuple[Finding, ...]]


class Broken(AssertionError):
    """Raised for a document on which a promise is broken, or on which a check's control fails."""

    def __init__(self, document: bytes, findings: tuple[Finding, ...]) -> None:
        super().__init__(_told(document, findings))
        self.document, self.findings = document, findings


def documents() -> "SearchStrategy[bytes]":
    """Returns a strategy for documents: comments, dotted keys, inline tables, arrays of tables, strings that look like
    headers or markers, CRLF, BOM, …"""
    try:
        from pytest_codexsandbox.contract.document_strategies import texts
    except ModuleNotFoundError as error:
        raise Unavailable("hypothesis is not installed", why=str(error), next_step="pip install hypothesis") from error
    return texts()


def case_of(document: bytes) -> Case:
    """Returns a document as a case of the corpus, named by a digest of its content."""
    name = f"generated-{hashlib.sha256(document).hexdigest()[:12]}"
    return Case(id=name, why="a document that was generated", config=document, group="generated")


def hunt(
    tell: Callable[[Case], CaseRun], checks: Iterable[Check], declaration: Declaration, *, examples: int = 100
) -> None:
    """Raises Broken with the smallest document on which a check does not hold."""
    strategy = documents()
    from hypothesis import HealthCheck, given, settings

    asked = tuple(checks)

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def each(document: bytes) -> None:
        case_run = tell(case_of(document))
        found = tuple(finding for check in asked for finding in check(case_run, declaration) if _is_bad(finding))
        if found:
            raise Broken(document, found)

    each()


def _is_bad(finding: Finding) -> bool:
    return not finding.skipped and not (finding.held and finding.control_held)


def paste(document: bytes, path: str = "config.toml") -> str:
    """Returns a shell command that writes the document, byte for byte."""
    text = document.decode("utf-8", "replace")
    plain = document.isascii() and text.endswith("\n") and "\r" not in text and text.replace("\n", "").isprintable()
    if plain and "EOF" not in text:
        return f"cat > {path} <<'EOF'\n{text}EOF"
    return f"printf %s '{base64.b64encode(document).decode()}' | base64 -d > {path}"


def _told(document: bytes, findings: tuple[Finding, ...]) -> str:
    rows = [
        f"{one.claim}\n    {one.reason}: {one.saw}"
        if one.control_held
        else f"{one.claim}\n    the control failed: {one.control}"
        for one in findings
    ]
    shown = document.decode("utf-8", "backslashreplace").replace("\r", "␍")
    return "\n".join([*rows, "", "The user's file:", shown, "", "To paste:", paste(document)])
