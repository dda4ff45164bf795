"""A backend of another distribution that fails: told as its fault, and never one of this product."""

import io
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox import registry
from pytest_codexsandbox.commands import doctor, sweep
from pytest_codexsandbox.errors import HarnessError, InputError
from pytest_codexsandbox.harness import backends, environment_pool, planning_facts
from pytest_codexsandbox.harness.backends import BackendFault
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.matrix.load import load
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.protocols import Availability
from tests.unit.harness.builders import pool
from tests.unit.harness.test_backends import Bare
from tests.unit.matrix.builders import environment, plan

SPEC = msgspec.structs.replace(environment(), id="acme", backend="acme")
CELLS = (Cell(environment=SPEC, subject=plan().cells[0].subject),)


def fails(*_: object, **__: object) -> Any:
    raise KeyError("no such machine")


class Failing(Bare):
    here = audit = foresee = stock = prepare = doctor = leftovers = image_store = fails


class Healthy(Bare):
    def here(self) -> EnvironmentSpec:
        return SPEC


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[], object]], None]]:
    """Installs the one backend `acme`."""

    def use(kind: Callable[[], object]) -> None:
        for module in (backends, environment_pool):
            monkeypatch.setattr(module, "load_plugin", lambda group, name: kind)
        for module in (backends, doctor, sweep):
            monkeypatch.setattr(module, "names", lambda group: ("acme",))
        point = EntryPoint("acme", "acme_vm:Acme", "codexsandbox.backends")
        monkeypatch.setattr(registry, "points", lambda group: (point,))
        monkeypatch.setattr(backends, "points", lambda group: (point,))

    yield use


@pytest.mark.parametrize(
    "ask",
    [
        lambda: backends.environments_here(["acme"]),
        lambda: backends.check_availability((SPEC,)),
        lambda: backends.stock(CELLS),
        backends.find_image_store,
    ],
)
def test_the_error_names_the_backend_and_where_it_comes_from(
    plug: Callable[[object], None], ask: Callable[[], object]
) -> None:
    plug(Failing)
    with pytest.raises(BackendFault, match="'acme' failed") as raised:
        ask()
    assert raised.value.where == "entry point 'acme' of acme_vm:Acme"
    assert "KeyError: 'no such machine'" in raised.value.why and "test_failing_backends.py" in raised.value.why


def test_a_backend_that_cannot_be_made_is_reported_likewise(plug: Callable[[object], None]) -> None:
    plug(fails)
    with pytest.raises(BackendFault, match="'acme' failed"):
        backends.load_backend("acme")
    assert list(backends.installed_backends()) == []


def test_a_fault_of_our_own_backend_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "load_plugin", lambda group, name: Failing)
    with pytest.raises(KeyError):
        backends.environments_here(["local"])


def test_a_preparation_that_fails_is_shown_and_the_run_goes_on(plug: Callable[[object], None]) -> None:
    plug(Failing)
    stream = io.StringIO()
    backends.prepare(CELLS, stream)
    assert "'acme' failed" in stream.getvalue()


def test_one_that_can_start_no_environment_keeps_its_cells_out_of_the_plan(plug: Callable[[object], None]) -> None:
    class NoMachine(Healthy):
        def foresee(self, specs: Sequence[EnvironmentSpec], cache: Path, hosts: Sequence[str] = ()) -> Availability:
            return Availability(fault=HarnessError("no /dev/kvm", next_step="modprobe kvm"))

    plug(NoMachine)
    why = backends.check_availability((SPEC,)).why_not(SPEC)
    assert why.startswith("no /dev/kvm") and why.endswith("modprobe kvm")


@pytest.mark.parametrize(
    "change", [{"backend": "local"}, {"id": "a/../b"}, {"id": "Acme 1"}, {"id": ""}, {"id": "acme~"}]
)
def test_an_environment_with_an_ambiguous_name_is_refused(
    plug: Callable[[object], None], change: dict[str, str]
) -> None:
    class Odd(Bare):
        def here(self) -> EnvironmentSpec:
            return msgspec.structs.replace(SPEC, **change)

    plug(Odd)
    with pytest.raises(InputError, match="backend 'acme'") as raised:
        backends.environments_here(["acme"])
    assert "EnvironmentSpec" in raised.value.why
    plug(Healthy)
    assert backends.environments_here(["acme"]) == {"acme": SPEC}


def test_one_that_lacks_a_package_does_not_keep_others_from_being_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = registry.load_plugin

    def plugged(group: str, name: str) -> Any:
        if name == "acme":
            raise ImportError("No module named 'libvirt'", name="libvirt")
        return real(group, name)

    monkeypatch.setattr(backends, "load_plugin", plugged)
    asked = msgspec.structs.replace(load("local"), environments=("local", "acme"))
    (lack,) = planning_facts.gather_facts(asked, tmp_path).lacks
    assert (lack.part, lack.next_step, lack.required) == ("environment acme", "pip install libvirt", True)


def test_the_doctor_goes_on(plug: Callable[[object], None]) -> None:
    plug(Failing)
    (found,) = doctor.of_backends(None)
    assert (found.what, found.answer, found.needed) == ("acme", "no", False)
    assert "KeyError" in found.why and "acme_vm:Acme" in found.fix


def test_a_sweep_goes_on_and_is_no_success(
    plug: Callable[[object], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_codexsandbox import cli

    plug(Failing)
    monkeypatch.setenv("CODEXSANDBOX_CACHE", str(tmp_path))
    assert cli.main(["sweep", "--dry-run", "--report-dir", str(tmp_path)]) == sweep.LEAK
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("unknown")]
    assert "entry point 'acme' of acme_vm:Acme" in line


def test_an_audit_that_fails_is_a_leak(plug: Callable[[object], None]) -> None:
    plug(Failing)
    made = pool(EventSink())
    with pytest.raises(NotImplementedError):
        made.get(SPEC)
    (leak,) = made.leaks()
    assert "'acme' failed" in leak and "entry point 'acme' of acme_vm:Acme" in leak and "leftovers" in leak


def test_a_name_that_two_distributions_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tuple(EntryPoint("acme", value, "codexsandbox.backends") for value in ("a:A", "b:B"))
    monkeypatch.setattr(registry, "points", lambda group: found)
    with pytest.raises(InputError, match="backend 'acme'") as raised:
        registry.load_plugin.__wrapped__("backends", "acme")
    assert "of a:A and" in raised.value.where
