"""Environment contract: tests for every environment. Your test module subclasses it and defines three fixtures:

class TestMyPlace(EnvironmentContract):
    @pytest.fixture
    def backend(self) -> Backend: ...            # a class that can be imported, called without arguments
    @pytest.fixture
    def environment(self) -> Environment: ...    # open; may be shared by all tests of the module
    @pytest.fixture
    def folder(self) -> Path: ...                # for one more environment; empty, outside /tmp
"""

from pytest_codexsandbox.contract.commands import CommandContract
from pytest_codexsandbox.contract.lifecycle import LifecycleContract
from pytest_codexsandbox.contract.live_processes import LiveProcessContract
from pytest_codexsandbox.contract.worlds import WorldContract

__all__ = ["EnvironmentContract"]


class EnvironmentContract(CommandContract, LiveProcessContract, WorldContract, LifecycleContract):
    """All parts of the contract."""
