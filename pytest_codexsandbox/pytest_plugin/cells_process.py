"""Cells process: starts pytest as a run does, and asks its hooks about the cells on stdin. Collects nothing.

The answer is alone on stdout; what pytest and plugins print goes to stderr.
"""

import os
import sys

import msgspec
import pytest

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.harness.hook_answer import HookAnswer
from pytest_codexsandbox.matrix.expand import Expanded
from pytest_codexsandbox.pytest_plugin.hook_calls import call_cells_hook

PLUGIN = "codexsandbox"  # by the name of its entry point: also where plugins are not loaded by themselves


class CellsQuestion:
    """Asks in the place of the collection: plugins are configured by then."""

    def __init__(self, cells: Expanded) -> None:
        self._cells = cells
        self.answer: HookAnswer | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        try:
            self.answer = HookAnswer(cells=call_cells_hook(session.config, self._cells))
        except CodexSandboxError as fault:
            self.answer = HookAnswer.refused(fault)
        return True


def main(words: list[str]) -> int:
    """Returns 0 when the hooks were asked, else pytest's own exit code."""
    question = CellsQuestion(msgspec.json.decode(sys.stdin.buffer.read(), type=Expanded))
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    code = pytest.main(["-p", PLUGIN, "--collect-only", "-q", *words], plugins=[question])
    if question.answer is None:
        return int(code) or 1
    with os.fdopen(answers, "wb") as out:
        out.write(msgspec.json.encode(question.answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
