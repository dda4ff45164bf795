"""Report redaction: removes credentials from what pytest shows by itself: tracebacks and captured output of tests."""

from collections.abc import Generator

import pytest

from pytest_codexsandbox.model.redact import redact
from pytest_codexsandbox.pytest_plugin.collection import KEY


class ReportRedactor:
    """Redacts a report of pytest as soon as it is made: before other plugins, such as allure-pytest, copy from it."""

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if item.stash.get(KEY, None) is not None:
            redact_report(report)
        return report


def redact_report(report: pytest.TestReport) -> None:
    report.sections = [(name, redact(text)) for name, text in report.sections]
    shown = report.longrepr
    if isinstance(shown, tuple):
        report.longrepr = (shown[0], shown[1], redact(shown[2]))
    elif shown is not None and redact(str(shown)) != str(shown):
        report.longrepr = redact(str(shown))
