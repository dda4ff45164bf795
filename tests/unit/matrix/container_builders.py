"""Matrix files with containers, for tests: the values are what is shipped."""

from pathlib import Path
from typing import Any

from pytest_codexsandbox.matrix.container_cells import CellChooser
from pytest_codexsandbox.matrix.load import MatrixFile, load
from pytest_codexsandbox.model.cell import SubjectSpec

RELEASES = ("0.114.0", "0.136.0", "0.163.0")


def subjects(*labels: str) -> tuple[SubjectSpec, ...]:
    return tuple(SubjectSpec(label=label, release=label) for label in labels or RELEASES)


def written(folder: Path, containers: str, *, rest: str = "", name: str = "mine") -> Path:
    file = folder / f"{name}.toml"
    file.write_text(f"releases = {list(RELEASES)!r}\n{rest}\n[containers]\n{containers}\n".replace("'", '"'))
    return file


def matrix(folder: Path, containers: str, *, rest: str = "") -> MatrixFile:
    return load(str(written(folder, containers, rest=rest)))


def choice(folder: Path, containers: str, *, rest: str = "", codex: tuple[str, ...] = (), **more: Any) -> CellChooser:
    return CellChooser(matrix(folder, containers, rest=rest), subjects(*codex), arch="x86_64", **more)


SMALL = """
distros  = ["debian-bookworm", "debian-trixie", "busybox"]
bwraps   = ["distro", "none", "0.8.0", "0.8.0-setuid"]
profiles = ["docker-default", "seccomp-unconfined"]
users    = ["root", "u1000"]
"""
