"""Remaining content: checks what must be in a file after a run: values at their places, comments by their text.
Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.case_view import StateAfterRun
from pytest_codexsandbox.generators.checks.codex_toml import Path, comparable, leaves, read, written
from pytest_codexsandbox.generators.checks.findings import CheckFault, Control, as_findings
from pytest_codexsandbox.generators.checks.toml_lexer import document
from pytest_codexsandbox.model.generator import CaseRun, Finding


def values_remain(
    claim: str, due: Mapping[Path, Any], case_run: CaseRun, *, example: bytes, was: str, more: Control
) -> tuple[Finding, ...]:
    """Checks that values remain. `example`: a file that has them. `was`: where they had these values. A file that does
    not load gives no row, because the check that parses reports it."""
    after = case_view.results(case_run)
    if not due or not all(read(one.content).loads for one in after):
        return ()
    faults = first_of(after, lambda one: unlike(due, one.content, one.name, was))
    held = any(unlike(due, b"", "", was)) and not any(unlike(due, example, "", was))
    control = Control(f"{more.text}; missing values are noticed", held and more.held)
    return as_findings(claim, faults, control=control, saw=f"{len(due)} keys, each with its value")


def first_of(
    after: Iterable[StateAfterRun], look: Callable[[StateAfterRun], Iterable[CheckFault]]
) -> tuple[CheckFault, ...]:
    """Returns the faults of the first run that has any. Later runs would only repeat them."""
    return next((found for one in after if (found := tuple(look(one)))), ())


def unlike(due: Mapping[Path, Any], content: bytes, name: str, was: str) -> Iterator[CheckFault]:
    now = leaves(read(content).data)
    for path, value in due.items():
        if path not in now or comparable(now[path]) != comparable(value):
            saw = f"{name}: {written(path)} is {now.get(path, 'missing')!r}; {was} it is {value!r}"
            yield CheckFault(reason="value-changed", saw=saw, direction="wrong-claim")


def comments(content: bytes) -> tuple[str, ...]:
    return tuple(one.text.strip() for one in document(content).comments)


def comments_remain(
    claim: str, theirs: Sequence[str], case_run: CaseRun, *, example: bytes, more: Control
) -> tuple[Finding, ...]:
    """Checks that comments remain, by their text, at any place. `example`: a file that has them."""
    if not theirs:
        return ()
    faults = first_of(case_view.results(case_run), lambda one: gone(theirs, one.content, one.name))
    held = any(gone(theirs, b"", "")) and not any(gone(theirs, example, ""))
    control = Control(f"{more.text}; a file without comments is noticed", held and more.held)
    return as_findings(claim, faults, control=control, saw=f"{len(theirs)} are present")


def gone(theirs: Sequence[str], content: bytes, name: str) -> Iterator[CheckFault]:
    there = list(comments(content))
    for text in theirs:
        if text in there:
            there.remove(text)
        else:
            yield CheckFault(reason="comment-lost", saw=f"{name}: {text[:80]!r} is gone")
