"""Exclusions: rules that keep a combination of axis values from being a cell: from the matrix file, from impossible
combinations, and from this machine. Pure."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final

import msgspec

from pytest_codexsandbox.matrix import toml_files
from pytest_codexsandbox.matrix.combinations import EXCLUDED, IMPOSSIBLE, UNAVAILABLE, LeftOut, Rule, left_out
from pytest_codexsandbox.matrix.load import Containers, Exclude, MatrixFile
from pytest_codexsandbox.matrix.where_clause import fits, in_range, parse
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.coverage import AXES
from pytest_codexsandbox.registry import data_folder

ENGINE: Final = "docker"
_ENVIRONMENT: Final[tuple[str, ...]] = AXES[:-1]
Identify = Callable[[Mapping[str, str]], str]  # returns the id of the environment with these axes


class _Impossible(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    impossible: tuple[Exclude, ...] = ()


def rules(
    matrix: MatrixFile, subjects: Iterable[SubjectSpec], *, left: Iterable[LeftOut], arch: str, identify: Identify
) -> tuple[Rule, ...]:
    """Returns the rules, in the order in which their reasons are reported."""
    versions = {subject.label: placed(subject) for subject in subjects}
    constants = {"kernel": "host", "engine": ENGINE, "arch": arch}
    written = [(EXCLUDED, exclude) for exclude in matrix.exclude]
    written += [(IMPOSSIBLE, exclude) for exclude in impossible()]
    made = [_written(kind, exclude, versions, constants, identify) for kind, exclude in written]
    return (*made, _looks_for_bwrap(matrix, versions), _has_bwrap(matrix), *left_out(left, UNAVAILABLE))


def placed(subject: SubjectSpec) -> str:
    """Returns the version that places a binary in version ranges."""
    return subject.as_version or subject.release or subject.label


@cache
def impossible() -> tuple[Exclude, ...]:
    return toml_files.convert(toml_files.read(data_folder("matrix") / "impossible.toml"), _Impossible).impossible


def _written(
    kind: str, exclude: Exclude, versions: Mapping[str, str], constants: Mapping[str, str], identify: Identify
) -> Rule:
    where = exclude.where
    named = _ENVIRONMENT if "environment" in where else tuple(axis for axis in _ENVIRONMENT if axis in where)
    axes = (*named, "codex") if "codex" in where else named

    def broken(row: Mapping[str, str]) -> str:
        known = dict(constants) | {axis: row[axis] for axis in axes}
        if "environment" in where:
            known["environment"] = identify(row)
        return exclude.why if fits(where, known, version=versions.get(row.get("codex", ""), "")) else ""

    return Rule(axes=axes, kind=kind, broken=broken)


def _looks_for_bwrap(matrix: MatrixFile, versions: Mapping[str, str]) -> Rule:
    """Excludes bubblewraps for a release that uses none: it would be measured repeatedly under different names."""
    asked = matrix.containers or Containers()
    ranges = {name: matrix.catalogue.bwrap(name).codex for name in asked.bwraps}

    def broken(row: Mapping[str, str]) -> str:
        wanted, version = ranges[row["bwrap"]], versions[row["codex"]]
        if not wanted or parse(version) is None or in_range(wanted, version):
            return ""
        return f"Codex that is not {wanted} looks for no bubblewrap"

    return Rule(axes=("bwrap", "codex"), kind=IMPOSSIBLE, broken=broken)


def _has_bwrap(matrix: MatrixFile) -> Rule:
    """Excludes a distribution's own bubblewrap where it has none."""
    asked, known = matrix.containers or Containers(), matrix.catalogue
    without = {name for name in asked.distros if not known.image(name).bubblewrap}
    its_own = {name for name in asked.bwraps if known.bwrap(name).source == "distro"}

    def broken(row: Mapping[str, str]) -> str:
        none = row["distro"] in without and row["bwrap"] in its_own
        return f"{row['distro']} has no bubblewrap of its own" if none else ""

    return Rule(axes=("distro", "bwrap"), kind=IMPOSSIBLE, broken=broken)
