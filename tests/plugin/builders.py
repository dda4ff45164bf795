"""Installs made-up distributions: a folder for PYTHONPATH with modules and a dist-info."""

from pathlib import Path


def distribution(folder: Path, *, name: str, module: str, text: str, reporters: dict[str, str]) -> Path:
    """Installs one module and its report formats (entry point → object). Returns the folder."""
    info = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    points = "".join(f"{point} = {module}:{target}\n" for point, target in reporters.items())
    (info / "entry_points.txt").write_text(f"[codexsandbox.reporters]\n{points}")
    (folder / f"{module}.py").write_text(text)
    return folder
