"""This machine's name."""

from pytest_codexsandbox.environments.machine import this_machine
from pytest_codexsandbox.model.ids import is_value


def test_it_is_made_of_axis_values_and_always_the_same() -> None:
    machine = this_machine()
    assert all(is_value(part) for part in machine.id.split("~"))
    assert machine.id == f"{machine.distro}~host~local"
    assert (machine.backend, machine.provenance, machine.synthetic) == ("local", "host", False)
    assert is_value(machine.arch)
    assert machine is this_machine()
