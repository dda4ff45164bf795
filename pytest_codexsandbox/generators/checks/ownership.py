"""Ownership: which keys and lines belong to the generator, and which to the user.

The author's declaration says so (`owns`, `authoritative`, `markers`). Otherwise it is inferred from what the generator
writes where there is no file (`CaseRun.alone`).
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.codex_toml import Path, leaves, read
from pytest_codexsandbox.generators.checks.toml_lexer import Comment, Document, document, key_path
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Marker


class Ownership(msgspec.Struct, frozen=True, kw_only=True):
    patterns: tuple[Path, ...] = ()
    markers: tuple[Marker, ...] = ()
    how: str = ""  # "declared", "inferred"; "": unknown
    authoritative: tuple[Path, ...] = ()
    anywhere: bool = False  # whether it takes over what an older release put in the wrong place

    def owns(self, path: Path) -> bool:
        """Checks whether the generator owns a key, or a table that contains it."""
        return any(_fits(pattern, path) for pattern in (*self.patterns, *self.authoritative))

    def owns_here(self, path: Path) -> bool:
        """Checks whether the generator owns a key, also below a table that has captured it."""
        return any(self.owns(path[cut:]) for cut in range(len(path)))

    def shares(self, table: Path) -> bool:
        """Checks whether some of the generator's keys are in this table."""
        return any(_fits(table, pattern) for pattern in self.patterns) or self.owns(table)

    def may_delete(self, path: Path) -> bool:
        return any(_fits(pattern, path) for pattern in self.authoritative)

    def inside(self, found: Document) -> tuple[tuple[int, int], ...]:
        """Returns the start and end of each managed block, markers included."""
        return tuple(span for marker in self.markers for span in _spans(found, marker))


def _fits(pattern: Path, path: Path) -> bool:
    return len(path) >= len(pattern) and all(
        fnmatchcase(word, one) if one == "*" else word == one for one, word in zip(pattern, path, strict=False)
    )


def own(case_run: CaseRun, declaration: Declaration) -> Ownership:
    markers = declaration.markers or _inferred_markers(case_run)
    authoritative = tuple(key_path(one) for one in declaration.authoritative)
    if declaration.owns is not None:
        patterns, how = tuple(key_path(one) for one in declaration.owns), "declared"
    else:
        alone = written_alone(case_run)
        known = alone is not None and read(alone).loads
        patterns, how = tuple(leaves(read(alone or b"").data)) if known else (), "inferred" if known else ""
    migrates = case_run.case.group in ("migration", "together") and bool(declaration.migrates_from)
    return Ownership(patterns=patterns, markers=markers, how=how, authoritative=authoritative, anywhere=migrates)


def written_alone(case_run: CaseRun) -> bytes | None:
    """Returns what the generator writes where the user has nothing; None if no run shows it."""
    if case_run.alone is not None:
        return case_run.alone
    if case_view.text_before(case_run).strip() or case_view.refused(case_run.first) or case_run.first.ended != "exit":
        return None
    return case_view.results(case_run)[0].content


def _inferred_markers(case_run: CaseRun) -> tuple[Marker, ...]:
    """Infers the markers: two comments on lines of their own, around everything that the generator writes."""
    found = document(written_alone(case_run) or b"")
    lone = [comment for comment in found.comments if found.alone(comment)]
    if len(lone) < 2 or not found.statements:
        return ()
    first, last = lone[0], lone[-1]
    around = first.start < found.statements[0].start and last.start >= found.statements[-1].end
    return (Marker(begin=first.text, end=last.text),) if around and first.text != last.text else ()


def marker_lines(found: Document, text: str) -> tuple[Comment, ...]:
    """Returns the comments with exactly this text on lines of their own, outside strings and arrays."""
    return tuple(one for one in found.comments if found.alone(one) and one.text.strip() == text.strip())


def _spans(found: Document, marker: Marker) -> Iterator[tuple[int, int]]:
    ends = marker_lines(found, marker.end) if marker.end else ()
    for begin in marker_lines(found, marker.begin):
        closing = next((one for one in ends if one.start > begin.start), None)
        if closing is not None:
            yield begin.start, closing.end


def users_comments(found: Document, ownership: Ownership) -> tuple[Comment, ...]:
    spans = ownership.inside(found)
    marks = {text.strip() for marker in ownership.markers for text in (marker.begin, marker.end) if text}
    return tuple(
        one
        for one in found.comments
        if one.text.strip() not in marks and not any(start <= one.start < end for start, end in spans)
    )
