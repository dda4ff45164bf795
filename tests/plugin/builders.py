"""Installs made-up distributions: a folder for PYTHONPATH with modules and a dist-info."""

from pathlib import Path


def distribution(folder: Path, *, name: str, module: str, text: str, **groups: dict[str, str]) -> Path:
    """Installs one module and its entry points, by group: `reporters={entry point: object}`. Returns the folder."""
    info = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    points = ""
    for group, names in groups.items():
        points += f"[codexsandbox.{group}]\n"
        points += "".join(f"{point} = {module}:{target}\n" for point, target in names.items())
    (info / "entry_points.txt").write_text(points)
    (folder / f"{module}.py").write_text(text)
    return folder
