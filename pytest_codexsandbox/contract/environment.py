"""What every environment owes the harness. A test module of yours subclasses it and gives three fixtures:

class TestMyPlace(EnvironmentContract):
    @pytest.fixture
    def backend(self) -> Backend: ...          # a class that can be imported, called without arguments
    @pytest.fixture
    def environment(self) -> Environment: ...  # open; may be shared by all tests of the module
    @pytest.fixture
    def folder(self) -> Path: ...              # for one more environment; nothing in it yet, outside /tmp
"""

from pytest_codexsandbox.contract.commands import CommandContract
from pytest_codexsandbox.contract.lifecycle import LifecycleContract
from pytest_codexsandbox.contract.live_processes import LiveProcessContract
from pytest_codexsandbox.contract.worlds import WorldContract

__all__ = ["EnvironmentContract"]


class EnvironmentContract(CommandContract, LiveProcessContract, WorldContract, LifecycleContract):
    """All of it."""
