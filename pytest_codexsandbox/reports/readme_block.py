"""README block: Markdown for a generator's README: counts, an explanation of each word, a command to repeat it.
Pure."""

import posixpath
import shlex
from collections.abc import Iterator, Mapping
from typing import Final

from pytest_codexsandbox.reports.escape import markdown, markdown_block
from pytest_codexsandbox.reports.readme_line import NOT_TOLD, SIGNS, Answer, Summary, line

ASKED: Final[Mapping[str, str]] = {
    "loads": "its output is TOML, and the real Codex starts with it",
    "keeps": "the user's keys, comments, line ends, file mode, owner and links stay, and nothing is left behind",
    "idempotent": "a second and a third run change nothing and write no file anew",
    "effective": "the policy that Codex announces and enforces is the requested one, and grants no more",
    "shares": "its block survives other programs that write the same file, and it deletes nothing that they wrote",
    "robust": "exit codes are true, it ends by itself, and survives crashes, two runs at once and older shapes",
}
_KEPT: Final = (
    "the policy that Codex announces and enforces is the mode that it writes and grants nothing beyond it; "
    "the rest is as the user has it"
)
_MEANS: Final[Mapping[Answer, str]] = {
    "yes": "every check held",
    "no": "something did not hold",
    "unknown": "not all of it could be measured",
    "not asked": "not checked",
}
_INSTALL: Final = 'pip install "pytest-codexsandbox[codex]"'


def block(summary: Summary) -> str:
    return "\n".join(_lines(summary)) + "\n"


def _lines(summary: Summary) -> Iterator[str]:
    yield "### Codex configuration: measured with codexsandbox"
    yield ""
    yield markdown_block(line(summary))
    yield ""
    if summary.doubt:
        yield f"**Not trustworthy: {markdown(summary.doubt[:300])}**"
        yield ""
    yield "| word | | meaning |"
    yield "|---|---|---|"
    for word, answer in summary.answers.items():
        asked = _KEPT if word == "effective" and not summary.receives_request else ASKED[word]
        yield f"| {word} | {SIGNS[answer]} | {markdown(asked)} |"
    yield ""
    yield "; ".join(f"{sign} {_MEANS[answer]}" for answer, sign in SIGNS.items()) + "."
    if not summary.receives_request:
        yield f"It gets {NOT_TOLD}."
    yield ""
    yield "To repeat it:"
    yield ""
    yield markdown_block(f"{_INSTALL}\n{_again(summary.spec)}")


def _again(spec: str) -> str:
    """Returns the command to repeat the run. A declaration is named relative to its folder: its path on this machine
    would not help a reader."""
    named = f"./{posixpath.basename(spec)}" if spec.startswith("/") and spec.endswith(".toml") else spec
    return f"pytest --codex-matrix --codex-generator {shlex.quote(named)}"
