"""Terminal causes: the blocks below the matrix, one for each cause, with what to do and a command to paste."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import SIGNS, Verdict
from pytest_codexsandbox.reports.cause_scope import Locations
from pytest_codexsandbox.reports.causes import Calls, Cause, promises_of
from pytest_codexsandbox.reports.diff_lines import lines_of
from pytest_codexsandbox.reports.headlines import plural, shortened_list
from pytest_codexsandbox.reports.terminal_style import Paint

IN_FULL: Final = 12  # causes with a block of their own; the others get one line
_NAMES: Final = 3
_WAYS: Final = 3
_CASES: Final = 4
_DIFF: Final = 12  # lines
_MARGIN: Final = 13


class CauseBlocks(msgspec.Struct, frozen=True, kw_only=True):
    """Writes the blocks of causes. Its fields are what every block needs."""

    paint: Paint
    calls: Calls
    places: Locations
    titles: Mapping[str, str]  # promise id → title
    again: tuple[str, ...]
    folder: Path | None
    verbosity: int
    keys: tuple[Key, ...] = ()  # of the plan
    paste: Callable[[Record], tuple[str, ...]] = lambda record: ()  # the command for one result, if any

    def blocks(self, causes: Sequence[Cause]) -> list[str]:
        in_full = len(causes) if self.verbosity else IN_FULL
        lines: list[str] = []
        for cause in causes[:in_full]:
            lines += ["", *self.block(cause)]
        rest = causes[in_full:]
        if rest:
            lines += ["", f"{plural(len(rest), 'more cause')}, in one line each (-v shows them in full)"]
            lines += [line for cause in rest for line in self._heading(cause, where=True)]
        return lines

    def block(self, cause: Cause) -> list[str]:
        lines = [*self._heading(cause), *self.paint.labelled("where", self._where(cause))]
        if cause.blocker is not None and not cause.starts:
            return [
                *lines,
                *self.paint.labelled("because", f"{cause.blocker.key.promise} is violated there: see above"),
            ]
        lines += self._cases(cause)
        lines += self._blocked(cause) if cause.verdict is Verdict.BLOCKED else self._seen(cause)
        return [*lines, *self._because(cause), *self._so_also(cause), *self._paste(cause)]

    def _heading(self, cause: Cause, *, where: bool = False) -> list[str]:
        sign = SIGNS[Verdict.VIOLATES if cause.starts else cause.verdict]
        direction = f"{cause.direction}: " if cause.direction and cause.verdict is Verdict.VIOLATES else ""
        shown = f" ({self._where(cause)})" if where else ""
        word = f"{cause.word}: " if cause.word else ""
        lines = self.paint.wrapped(f"{word}{self._what(cause)}{shown}", first=f"{sign} {direction}")
        return [self.paint.coloured(lines[0], cause.verdict), *lines[1:]]

    def _what(self, cause: Cause) -> str:
        if cause.verdict is Verdict.BLOCKED:
            return f"{cause.what_blocks}, {plural(len(cause.records), 'result')} blocked"
        if cause.first.attempt == 0:
            return f"never came: {plural(len(cause.records), 'result')}"
        promises = promises_of(cause.direct)
        several = f" ({cause.counted})" if len(cause.records) > 1 else ""
        return shortened_list(promises, len(promises) if self.verbosity else _NAMES) + several

    def _where(self, cause: Cause) -> str:
        return self.places.described(cause.records, len(cause.records) if self.verbosity else _NAMES)

    def _cases(self, cause: Cause) -> list[str]:
        names = cause.cases
        if not names:
            return []
        limit = len(names) if self.verbosity else _CASES
        return self.paint.labelled("cases" if len(names) > 1 else "case", shortened_list(names, limit))

    def _seen(self, cause: Cause) -> list[str]:
        row, first = cause.evidence, cause.first
        if row is None or row.held:
            return self.paint.labelled("saw", first.reason or "nothing is known")
        promised = row.claim or self.titles.get(first.key.promise, "")
        lines = [*self.paint.labelled("promised", promised), *self.paint.labelled("saw", row.saw or row.reason)]
        lines += self.paint.labelled("control", row.control) if row.control not in ("", row.saw) else []
        repeated = bool(row.control) and row.control in first.reason
        told_otherwise = cause.verdict is not Verdict.VIOLATES and first.reason and not repeated
        lines += self.paint.labelled("so", first.reason) if told_otherwise else []
        return [*lines, *self._diff(row.diff, first.key.case if len(cause.cases) > 1 else "")]

    def _diff(self, diff: str, case: str) -> list[str]:
        """Returns the diff of one case: the user's lines and the generator's, by sign as well as by colour."""
        found = lines_of(diff)
        if not found:
            return []
        limit = len(found) if self.verbosity else _DIFF
        shown = f"- the user's, + the generator's{f' (case {case})' if case else ''}"
        lines = self.paint.labelled("diff", shown)
        lines += [self.paint.diff(kind, text, margin=_MARGIN) for kind, text in found[:limit]]
        more = len(found) - limit
        return [*lines, f"{' ' * _MARGIN}  … {plural(more, 'more line')} (-v)"] if more > 0 else lines

    def _blocked(self, cause: Cause) -> list[str]:
        diagnosis = cause.diagnosis
        said = diagnosis.quote if diagnosis and diagnosis.quote else (*cause.starts, cause.first)[0].reason
        return self.paint.labelled("saw", said)

    def _because(self, cause: Cause) -> list[str]:
        diagnosis = cause.diagnosis
        if diagnosis is None:
            return []
        named = f"{diagnosis.fingerprint}: " if diagnosis.fingerprint else ""
        lines = self.paint.labelled("because", f"{named}{diagnosis.cause}")
        lines += self.paint.labelled("try", diagnosis.remedy) if diagnosis.remedy else []
        shown = diagnosis.ways if self.verbosity else diagnosis.ways[:_WAYS]
        for way in shown:
            lines += self.paint.labelled("way", way)
        if more := len(diagnosis.ways) - len(shown):
            lines += self.paint.labelled("", f"and {plural(more, 'more way')} (-v)")
        return [*lines, *(self.paint.labelled("see", diagnosis.link) if diagnosis.link else [])]

    def _so_also(self, cause: Cause) -> list[str]:
        """Returns the promises that the same cause breaks, each with its count."""
        if not cause.following:
            return []
        counts = Counter(record.key.promise for record in cause.following)
        shown = ", ".join(f"{promise} ({count:,})" for promise, count in counts.items())
        return self.paint.labelled("so also", shown)

    def _paste(self, cause: Cause) -> list[str]:
        record: Record = (*cause.starts, cause.first)[0]
        call = self.calls.of(record)
        script = record.repro or (call.repro if call else "")
        lines: list[str] = []
        if script:
            path = script if self.folder is None else str(self.folder / script)
            lines = self.paint.command("repro", ("sh", path))
        if cause.verdict is Verdict.BLOCKED or record.attempt == 0:
            return lines
        alone = self.paste(record)
        if alone:
            return [*lines, *self.paint.command("again", alone)]
        return lines or self.paint.command("again", again(self.again, (cause.promises[0],), keys=self.keys))


def again(invocation: Sequence[str], promises: Sequence[str], *, keys: Sequence[Key] = ()) -> tuple[str, ...]:
    """Returns the command of the run, narrowed to `promises`; without any, unchanged.

    `keys`: the plan of the run. A selection of its cells, doors or policies stays.
    """
    words = list(invocation) or ["pytest", "--codex-matrix"]
    if not promises:
        return tuple(words)
    kept: list[str] = []
    globs: list[str] = []
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option == "--codex-only":
            globs += (value if equals else next(rest, "")).split(",")
        else:
            kept.append(word)
    return (*kept, "--codex-only", ",".join((*promises, *_of_places([glob.strip() for glob in globs], keys))))


def _of_places(globs: Sequence[str], keys: Sequence[Key]) -> list[str]:
    """Returns the globs over cells, doors or policies. A glob that fits a promise as well would not narrow."""
    if not globs:
        return []
    places = {name for key in keys for name in (key.cell, key.door, key.policy)}
    promises = {key.promise for key in keys}
    return [
        glob
        for glob in dict.fromkeys(globs)
        if any(fnmatchcase(name, glob) for name in places) and not any(fnmatchcase(name, glob) for name in promises)
    ]
