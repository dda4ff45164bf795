"""Parts of a measurement, with fakes below them."""

from pathlib import Path

from pytest_codexsandbox.harness.codex_programs import CodexPrograms
from pytest_codexsandbox.harness.codex_resolver import OneSubject
from pytest_codexsandbox.harness.environment_pool import EnvironmentPool
from pytest_codexsandbox.harness.event_sink import EventSink
from tests.fakes.scripted import FakeSubject


def pool(events: EventSink) -> EnvironmentPool:
    programs = CodexPrograms((), OneSubject(FakeSubject()), events, cache=Path("/c"))
    return EnvironmentPool(Path("/f"), Path("/c"), programs=programs, events=events)
