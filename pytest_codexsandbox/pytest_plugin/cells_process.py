"""Cells process: starts pytest as a run does, and collects nothing.

It calls the hooks with the cells on stdin. Where stdin is empty, it reports what the options ask for. Only the answer
goes to stdout; what pytest and plugins print goes to stderr.
"""

import os
import sys
from collections.abc import Callable, Iterator

import msgspec
import pytest

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.harness.pytest_answer import PytestAnswer, encode
from pytest_codexsandbox.matrix.expand import Expanded
from pytest_codexsandbox.pytest_plugin.hook_calls import call_cells_hook
from pytest_codexsandbox.pytest_plugin.run_planner import run_request
from pytest_codexsandbox.pytest_plugin.settings import settings

PLUGIN = "codexsandbox"  # the name of its entry point: works also where pytest does not load plugins by itself


class Question:
    """Finds the answer in a pytest whose plugins are configured: the options before the session, the cells in place of
    the collection."""

    def __init__(self, cells: Expanded | None) -> None:
        self._cells = cells
        self.answer: PytestAnswer | None = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Iterator[None]:
        if self._cells is None:
            self._keep(lambda: PytestAnswer(request=run_request(session.config, settings(session.config))))
            pytest.exit("the options are known", returncode=0)
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        cells = self._cells
        if cells is not None:
            self._keep(lambda: PytestAnswer(cells=call_cells_hook(session.config, cells)))
        return True

    def _keep(self, answer: Callable[[], PytestAnswer]) -> None:
        try:
            self.answer = answer()
        except CodexSandboxError as fault:
            self.answer = PytestAnswer.refused(fault)


def main(words: list[str]) -> int:
    """Returns 0 when pytest gave an answer, else pytest's own exit code."""
    cells = sys.stdin.buffer.read()
    question = Question(msgspec.json.decode(cells, type=Expanded) if cells else None)
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    code = pytest.main(["-p", PLUGIN, "--collect-only", "-q", *words], plugins=[question])
    if question.answer is None:
        return int(code) or 1
    with os.fdopen(answers, "wb") as out:
        out.write(encode(question.answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
