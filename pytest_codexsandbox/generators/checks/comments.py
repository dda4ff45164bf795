"""P5: the user's comments are kept, in their order, next to what they describe.

A comment right above a key or a header belongs to it. A comment at the end of a line belongs to that line, one inside
an array to the array. One with an empty line below only keeps its place among the user's own statements.
"""

from collections.abc import Iterator

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.codex_toml import written
from pytest_codexsandbox.generators.checks.findings import (
    CheckFault,
    Control,
    all_hold,
    as_findings,
    difference,
    listed,
    of_first_run,
    skipped,
)
from pytest_codexsandbox.generators.checks.ownership import Ownership, own, users_comments
from pytest_codexsandbox.generators.checks.toml_lexer import Comment, Document, Statement, bytes_of, document, without
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding

CLAIM = "the user's comments are kept, in order, next to the keys they describe"
Anchor = tuple[str, ...]


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A comment, and the statement that it belongs to."""

    comment: Comment
    anchor: Anchor
    bound: bool  # whether it must stay there; if not, the generator may replace that statement

    @property
    def what(self) -> str:
        place = {"above": "above", "beside": "beside", "inside": "inside", "free": "before"}[self.comment.place]
        return f"{place} {written(self.anchor[1:]) if self.anchor else 'the end'}"


def comments_kept(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    ownership, text = own(case_run, declaration), case_view.text_before(case_run)
    mine = said(text, text, ownership)
    why = case_view.not_asked(case_run) or ("" if mine else "the user's file has no comments")
    if why:
        return skipped(CLAIM, why)
    faults = of_first_run(
        disturbed(text, after.content, ownership, after.name) for after in case_view.results(case_run)
    )
    shown = listed([one.comment.text[:40] for one in mine], limit=3)
    return as_findings(CLAIM, faults, control=_control(text, ownership), saw=f"{len(mine)} are in place: {shown}")


def said(content: bytes, users: bytes, ownership: Ownership) -> tuple[Said, ...]:
    """Returns the comments in `content`. A free comment belongs to the next statement that `users` contains."""
    found, known = document(content), _anchors(document(users), ownership)
    return tuple(
        Said(comment=one, anchor=anchor, bound=not _replaceable(anchor, ownership))
        for one in users_comments(found, ownership)
        if not ((anchor := _anchor(one, found, known)) and _goes_too(anchor, ownership))
    )


def _goes_too(anchor: Anchor, ownership: Ownership) -> bool:
    """Checks for a comment that may go: in a table that the generator may clear, or at keys of an older release."""
    older = ownership.anywhere and (ownership.owns_here(anchor[1:]) or _replaceable(anchor, ownership))
    return older or ownership.may_delete(anchor[1:])


def _replaceable(anchor: Anchor, ownership: Ownership) -> bool:
    """Checks whether the generator may replace the statement. A header goes with the keys of its table."""
    if not anchor:
        return False
    return ownership.shares(anchor[1:]) if anchor[0] == "header" else ownership.owns(anchor[1:])


def _anchors(found: Document, ownership: Ownership) -> set[Anchor]:
    spans = ownership.inside(found)
    mine = (one for one in found.statements if not any(start <= one.start < end for start, end in spans))
    return {_name(one) for one in mine if not ownership.owns(one.path)}


def _name(statement: Statement) -> Anchor:
    return (statement.kind, *statement.path)


def _anchor(comment: Comment, found: Document, known: set[Anchor]) -> Anchor:
    if comment.statement < 0:
        return ()
    if comment.place != "free":
        return _name(found.statements[comment.statement])
    following = found.statements[comment.statement :]
    return next((_name(one) for one in following if _name(one) in known), ())


def disturbed(before: bytes, after: bytes, ownership: Ownership, name: str = "afterwards") -> Iterator[CheckFault]:
    """Yields a fault for the first comment that is missing or out of order. Later ones would only repeat it."""
    mine, there = said(before, before, ownership), said(after, before, ownership)
    at = 0
    for one in mine:
        step = next((number for number, other in enumerate(there[at:], start=at) if _kept(one, other)), None)
        if step is None:
            yield _fault(one, mine, there, name, difference(before, after))
            return
        at = step + 1


def _kept(one: Said, other: Said) -> bool:
    if one.comment.text != other.comment.text:
        return False
    places = ("free", "above") if one.comment.place == "free" else (one.comment.place,)
    return not one.bound or (one.anchor == other.anchor and other.comment.place in places)


def _fault(one: Said, mine: tuple[Said, ...], there: tuple[Said, ...], name: str, diff: str) -> CheckFault:
    alike = [other for other in there if other.comment.text == one.comment.text]
    text = one.comment.text[:80]
    if len(alike) < sum(other.comment.text == one.comment.text for other in mine):
        return CheckFault(reason="comment-lost", saw=f"{name}: {text!r} ({one.what}) is gone", diff=diff)
    if any(_kept(one, other) for other in alike):
        return CheckFault(reason="comments-reordered", saw=f"{name}: {text!r} is out of order", diff=diff)
    saw = f"{name}: {text!r} was {one.what}, and is now {alike[0].what}"
    return CheckFault(reason="comment-moved", saw=saw, diff=diff)


def _control(text: bytes, ownership: Ownership) -> Control:
    mine = said(text, text, ownership)
    kept = not any(disturbed(text, text, ownership))
    first = mine[0].comment
    gone = any(disturbed(text, without(text, first.start, first.end), ownership))
    controls = [Control(f"{first.text[:40]!r} is removed, and that is noticed", kept and gone)]
    bound = next((one for one in mine if one.bound and one.comment.place != "free"), None)
    if bound is not None:
        controls.append(_moved(text, bound.comment, ownership))
    return all_hold(controls)


def _moved(text: bytes, comment: Comment, ownership: Ownership) -> Control:
    """Moves a comment to the end of the file, where it belongs to no statement."""
    source = document(text).text
    rest = source[: comment.start] + source[comment.end :]
    moved = bytes_of(f"{rest}\n\n{comment.text}\n")
    noticed = any(disturbed(text, moved, ownership))
    return Control(f"{comment.text[:40]!r} is moved to the end, and that is noticed", noticed)
