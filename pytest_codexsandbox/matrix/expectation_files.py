"""Expectation files: known deviations (`matrix/expectations/known.toml`, and `--codex-expectations FILE` of a user).

A deviation states that this promise is violated in these cells only, in this way, for this reason. It turns `violates`
into `expected`, but never `broken`, `blocked` or a lost capability. A deviation that claims too much becomes stale.

    [[deviation]]
    id = "nested-git-is-writable"           # unique over all files
    promise = "protected.nested-git"        # a promise id; globs (* ? []) allowed, they must match something known
    case = "rename"                         # optional, a glob or a list of them; omitted: every case of the promise
    direction = "leak"                      # leak | denied | wrong-claim | litter: how it is violated
    fingerprint = "userns-denied"           # the diagnosis' fingerprint; omitted: none is recognised
    where = { codex = ">=0.115,<0.155", policy = ["workspace-write", "workspace-write-roots"] }
    reason = "by design: only the .git of a root is protected"
    issue = "https://github.com/openai/codex/issues/1"
    owner = "the person who reviews it again"
    until = 2027-05-01                      # a date; from that day on it is expired
    intermittent = "3/96"                   # optional: may pass or fail, is never healed, counts as flaky

`where` (optional; omitted or {}: every cell) names axes of a cell (distro, kernel, profile, user, engine, arch,
environment, codex, bwrap, generator) and `door`, `policy`. A value is a text or a list of texts (any of them), each a
glob; all names in `where` must fit. `codex` takes release labels ("0.163.0", "candidate") or a version range: a text
that begins with < > = ! or ~. Ranges follow PEP 440 and include pre-releases. By PEP 440, `<0.155` leaves out
0.155.0-alpha.3; write `<0.155.0a3`. A candidate has a place in ranges only as `--codex-bin LABEL=PATH@AS-VERSION`.

`codexsandbox expectations update JOURNAL` writes entries with empty `owner` and `issue`; a run refuses those.
"""

import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import toml_files
from pytest_codexsandbox.matrix.axis_values import AxisValues
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.matrix.toml_files import TomlFile
from pytest_codexsandbox.matrix.where_clause import AXES, range_fault, values
from pytest_codexsandbox.model.deviation import Deviation
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.registry import measured_doors

WHERE: Final = (*AXES, "door", "policy")
LOST_CAPABILITY: Final = "capability-lost"  # the fingerprint that no deviation may cover
_LABEL: Final = "your own label applies only in runs that have it: give those runs a separate file"
_RATE = re.compile(r"([1-9][0-9]*)/([1-9][0-9]*)")


class _Entry(Deviation, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Entry of a file. A name that is not known is refused there, and ignored in a journal of a later version."""


class DeviationFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    deviation: tuple[_Entry, ...] = ()


def load(
    paths: tuple[Path, ...],
    *,
    promises: Collection[str] = (),
    fingerprints: Collection[str] = (),
    cells: Collection[Mapping[str, str]] = (),
    beside: Path | None = None,
) -> tuple[Deviation, ...]:
    """Returns every deviation of these files. If promise ids and fingerprints are given, unknown ones are refused.

    `cells`: the axes of the run's cells; with them, a value is refused that neither a cell nor a data file knows.
    `beside`: the folder of a user's matrix file.
    """
    first: dict[str, str] = {}
    found: list[Deviation] = []
    for path in paths:
        file = toml_files.read(path)
        axes = AxisValues(cells, (beside, path.parent)) if cells else None
        for index, entry in enumerate(toml_files.convert(file, DeviationFile).deviation):
            deviation = Deviation(**msgspec.structs.asdict(entry))
            check = _Check(file, index, deviation)
            check.everything(promises, fingerprints)
            if axes is not None:
                check.values(axes)
            place = check.place("id")
            if deviation.id in first:
                raise InputError(
                    f"two deviations are called {deviation.id!r}", where=f"{first[deviation.id]} and {place}"
                )
            first[deviation.id] = place
            found.append(deviation)
    return tuple(found)


class _Check:
    """Checks one entry against everything that it may name."""

    def __init__(self, file: TomlFile, index: int, deviation: Deviation) -> None:
        self._file, self._index, self._deviation = file, index, deviation

    def place(self, key: str) -> str:
        return self._file.place(key, table="deviation", index=self._index)

    def everything(self, promises: Collection[str], fingerprints: Collection[str]) -> None:
        self._filled()
        self._where()
        self._rate()
        if promises:
            self._promise(promises)
        if fingerprints and self._deviation.fingerprint:
            self._known("fingerprint", self._deviation.fingerprint, fingerprints)
        if self._deviation.fingerprint == LOST_CAPABILITY:
            self._refuse("fingerprint", "a lost capability cannot be expected")

    def _filled(self) -> None:
        deviation = self._deviation
        for key in ("id", "promise", "reason", "owner", "issue"):
            if not getattr(deviation, key).strip():
                self._refuse(
                    key, f"{key} is empty", next_step=f"fill in {key}: the next reader needs it to check the deviation"
                )

    def _where(self) -> None:
        for name in self._deviation.where:
            self._known("where", name, WHERE)
            if not values(self._deviation.where, name):
                self._refuse("where", f"{name} is an empty list: it can fit nothing")
        for name, exist in (("policy", tuple(POLICIES)), ("door", measured_doors())):
            for value in values(self._deviation.where, name):
                if not any(fnmatchcase(one, value) for one in exist):
                    self._known("where", value, exist)
        if fault := range_fault(values(self._deviation.where, "codex")):
            self._refuse("where", fault)

    def values(self, axes: AxisValues) -> None:
        """Refuses a value of `where` that can fit no cell."""
        for name in AXES:
            for value in values(self._deviation.where, name):
                if not axes.knows(name, value):
                    self._refuse(
                        "where",
                        f"where: there is no {name} {value!r}",
                        why=did_you_mean(value, axes.of(name)),
                        next_step=_LABEL if name in ("codex", "generator") else "",
                    )

    def _rate(self) -> None:
        rate = self._deviation.intermittent
        found = _RATE.fullmatch(rate)
        if rate and (not found or int(found[1]) >= int(found[2])):
            self._refuse("intermittent", f"{rate!r} is not a rate", why='as in "3/96": seen 3 times in 96 runs')

    def _promise(self, promises: Collection[str]) -> None:
        if not any(fnmatchcase(promise, self._deviation.promise) for promise in promises):
            self._known("promise", self._deviation.promise, promises)

    def _known(self, key: str, value: str, exist: Collection[str]) -> None:
        if value not in exist:
            self._refuse(key, f"{key}: there is no {value!r}", why=did_you_mean(value, exist))

    def _refuse(self, key: str, what: str, *, why: str = "", next_step: str = "") -> None:
        label = self._deviation.id or "without id"
        raise InputError(f"deviation {label}: {what}", where=self.place(key), why=why, next_step=next_step)
