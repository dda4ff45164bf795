"""Driven door: base class of doors whose driver talks to Codex (driver_command.py)."""

from pytest_codexsandbox.doors.support.codex_door import CodexDoor
from pytest_codexsandbox.doors.support.driver_command import with_driver_error
from pytest_codexsandbox.model.observation import Observation


class ConversingDoor(CodexDoor):
    reads_config_files = True

    def understood(self, observation: Observation) -> Observation:
        return with_driver_error(observation)
