"""What the controller learns from its workers."""

from types import SimpleNamespace

import msgspec

from pytest_codexsandbox.controller import Controller
from tests.unit.reports.journals import subject


def test_a_codex_that_is_another_one_to_another_worker_is_told() -> None:
    line = subject("0.163.0")
    controller = SimpleNamespace(versions={}, digests={}, faults=[])
    Controller._have_told(controller, line)  # type: ignore[arg-type]
    Controller._have_told(controller, line)  # type: ignore[arg-type]
    assert controller.faults == []
    Controller._have_told(controller, msgspec.structs.replace(line, digest="f" * 64))  # type: ignore[arg-type]
    assert ["was replaced while the run went on" in fault for fault in controller.faults] == [True]
