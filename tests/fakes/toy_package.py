"""Toy package: installs the toy backend as a package of its own, found by its entry point."""

from pathlib import Path

from tests.fakes import toy_backend

ROOT = Path(__file__).parents[2]


def install(folder: Path) -> Path:
    """Writes the module and its metadata. Returns the folder, which belongs on sys.path."""
    metadata = folder / "toy_sandbox-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-sandbox\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[codexsandbox.backends]\ntoy = toy_backend:ToyBackend\n")
    (folder / "toy_backend.py").write_text(Path(toy_backend.__file__).read_text())
    return folder


def search_path(folder: Path) -> str:
    """Returns the PYTHONPATH of a process that finds the package."""
    return f"{folder}:{ROOT}"
