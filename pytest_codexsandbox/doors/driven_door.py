"""Driven door: base class of doors whose driver talks to Codex (doors/driver_command.py)."""

from pytest_codexsandbox.doors.codex_door import CodexDoor
from pytest_codexsandbox.doors.driver_command import with_driver_error
from pytest_codexsandbox.model.observation import Observation


class ConversingDoor(CodexDoor):
    reads_config_files = True

    def understood(self, observation: Observation) -> Observation:
        return with_driver_error(observation)
