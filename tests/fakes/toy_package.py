"""Toy packages: install the toy backend, doors or suite as a package of their own, found by their entry points."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from pytest_codexsandbox import registry
from tests.fakes import toy_backend, toy_door, toy_suite

ROOT = Path(__file__).parents[2]
SCENARIOS = Path(__file__).parent / "version_scenarios"
DOORS = {"toy": "ToyDoor", "patient-toy": "PatientToyDoor", "toy-control": "ToyControl"}


def install(folder: Path) -> Path:
    """Writes the module of the backend and its metadata. Returns the folder, which belongs on sys.path."""
    return install_points(folder, toy_backend, "backends", {"toy": "ToyBackend"})


def install_doors(folder: Path, points: Mapping[str, str] = DOORS) -> Path:
    """Writes the module of the doors and its metadata. `points`: classes by the names of their entry points."""
    return install_points(folder, toy_door, "doors", points)


def install_suite(folder: Path) -> Path:
    """Writes the module of the suite, its scenarios and its metadata."""
    install_points(folder, toy_suite, "suites", {"version": "VersionSuite"})
    scenarios = folder / SCENARIOS.name
    scenarios.mkdir()
    for file in SCENARIOS.glob("*.py"):
        (scenarios / file.name).write_text(file.read_text())
    return folder


def install_points(folder: Path, module: ModuleType, group: str, points: Mapping[str, str]) -> Path:
    assert module.__file__ is not None
    source = Path(module.__file__)
    metadata = folder / f"toy_{group}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: toy-{group}\nVersion: 1.0\n")
    rows = "".join(f"{name} = {source.stem}:{target}\n" for name, target in points.items())
    (metadata / "entry_points.txt").write_text(f"[codexsandbox.{group}]\n{rows}")
    (folder / source.name).write_text(source.read_text())
    return folder


def search_path(folder: Path) -> str:
    """Returns the PYTHONPATH of a process that finds the package."""
    return f"{folder}:{ROOT}"


def forget_plugins() -> None:
    for cached in (registry.points, registry.load_plugin, registry.names, registry.doors):
        cached.cache_clear()
