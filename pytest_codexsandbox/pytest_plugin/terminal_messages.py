"""Terminal messages: prints a line during a test, past pytest's output capture."""

import sys
from contextlib import nullcontext

import pytest

from pytest_codexsandbox.harness.event_sink import JournalEvents


class TerminalEvents(JournalEvents):
    """Event sink of a pytest process: its next report carries the lines, messages go to the terminal."""

    def __init__(self, config: pytest.Config, worker: str) -> None:
        super().__init__(worker)
        self._config = config

    def say(self, text: str) -> None:
        notify(self._config, text)


def notify(config: pytest.Config, line: str) -> None:
    capture = config.pluginmanager.getplugin("capturemanager")
    # The terminal of an xdist worker is not shown; its stderr is that of the run, in the middle of a line of dots.
    terminal = None if hasattr(config, "workerinput") else config.pluginmanager.getplugin("terminalreporter")
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        if terminal is None:
            print(f"\ncodexsandbox: {line}", file=sys.stderr, flush=True)
        else:
            terminal.ensure_newline()
            terminal.write_line(f"codexsandbox: {line}")
            terminal.flush()  # into a log as well: no other output comes now


def tell_last(config: pytest.Config, reason: str) -> int:
    """Prints a reason for the exit code after pytest's own last line. Returns the code that it begins with."""
    code, _, words = reason.partition(" ")
    terminal = config.pluginmanager.getplugin("terminalreporter")
    if terminal is not None:
        terminal.write_line(f"exit {code}: {words}", red=True)
    return int(code)
