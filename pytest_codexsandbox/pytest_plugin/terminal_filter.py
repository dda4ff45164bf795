"""Terminal filter: keeps pytest from repeating item by item what the closing screen explains cause by cause.

An unavailable release is one block and not three hundred tracebacks. With `-v` pytest prints its part as well.
"""

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

TOLD: Final = "codexsandbox_told"  # attribute of a report that the closing screen explains; it travels with the report
_KINDS: Final = ("failed", "error", "skipped", "xfailed")


class TerminalFilter:
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: "TerminalReporter") -> Generator[None, Any, Any]:
        stats = terminalreporter.stats
        kept: dict[str, list[Any]] = {kind: stats[kind] for kind in _KINDS if kind in stats}
        if terminalreporter.config.get_verbosity() <= 0:
            for kind, reports in kept.items():
                stats[kind] = [report for report in reports if not getattr(report, TOLD, False)]
        try:
            return (yield)
        finally:
            stats.update(kept)  # pytest still counts all of them


def count_as_failed(config: pytest.Config, late: Mapping[str, str]) -> None:
    """Moves tests from pytest's passed to its failed ones, by node id with the reason. Their verdict is known only at
    the end."""
    reporter: Any = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None or not late:
        return
    passed = reporter.stats.get("passed", [])
    found = [report for report in passed if report.nodeid in late]
    for report in found:
        report.outcome, report.longrepr = "failed", late[report.nodeid]
    reporter.stats["passed"] = [report for report in passed if report.nodeid not in late]
    reporter.stats["failed"] = [*reporter.stats.get("failed", []), *found]
