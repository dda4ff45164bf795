"""A check that cannot notice what it is there for proves nothing: its control says so, whatever it found."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_codexsandbox.generators.checks import Check, argv, comments, grant_limits, line_endings, user_values
from pytest_codexsandbox.generators.checks.findings import CheckFault, Control
from pytest_codexsandbox.generators.stress import remaining_content
from pytest_codexsandbox.model.generator import CaseRun, Finding, Intent
from tests.unit.generators.builders import ANY, BLOCK, case_run, run

BOM = b"\xef\xbb\xbf"
MODE = ("-c", 'sandbox_mode="workspace-write"')
Find = Callable[..., Iterator[CheckFault]]
Replace = Callable[[Find], Find]


def blind(*reasons: str) -> Replace:
    """The same, but for some kinds of fault."""
    return lambda find: lambda *given, **words: (one for one in find(*given, **words) if one.reason not in reasons)


def startled(find: Find) -> Find:
    """It finds something in whatever it is shown."""

    def told(*given: Any, **words: Any) -> Iterator[CheckFault]:
        yield from find(*given, **words)
        yield CheckFault(reason="anything", saw="")

    return told


def on_top(text: bytes) -> CaseRun:
    mark = BOM if text.startswith(BOM) else b""
    return case_run(text, mark + BLOCK + text.removeprefix(BOM))


def told(*words: str) -> CaseRun:
    return case_run(b"", b"", runs=(run(b"", argv=words),) * 3, intent=Intent(), alone=None)


TEXT = b"# free\n\n# of a\na = 1 # beside\nb = 'x'\n"
BLIND: list[tuple[Check, Any, str, CaseRun, tuple[str, ...]]] = [
    (user_values.values_kept, user_values, "lost", on_top(TEXT), ("key-lost",)),
    (user_values.values_kept, user_values, "lost", on_top(TEXT), ("type-changed",)),
    (user_values.values_kept, user_values, "lost", on_top(b"a = 6.25\nb = 1\n"), ("type-changed",)),
    (user_values.values_kept, user_values, "lost", on_top(b"[a]\n"), ("key-lost",)),
    (comments.comments_kept, comments, "disturbed", on_top(TEXT), ("comment-lost",)),
    (comments.comments_kept, comments, "disturbed", on_top(TEXT), ("comment-moved",)),
    (line_endings.line_ends_kept, line_endings, "changed", on_top(b"a = 1\n"), ("bom-added",)),
    (line_endings.line_ends_kept, line_endings, "changed", on_top(BOM + b"a = 1\n"), ("bom-lost",)),
    (line_endings.line_ends_kept, line_endings, "changed", on_top(b"a = 1\nb = 2\n"), ("lf-lost",)),
    (line_endings.line_ends_kept, line_endings, "changed", on_top(BOM + b"a = 1\r\nb = 2\r\n"), ("crlf-lost",)),
    (line_endings.line_ends_kept, line_endings, "changed", on_top(b"a = 1\n"), ("final-newline-lost",)),
    (line_endings.line_ends_kept, line_endings, "changed", on_top(b"a = 1\nb = 2"), ("final-newline-added",)),
    (argv.argv_as_codex_reads, argv, "misread", told(*MODE), ("becomes-a-string",)),
    (argv.argv_as_codex_reads, argv, "misread", told(*MODE), ("root-added",)),
    (argv.argv_as_codex_reads, argv, "misread", told("-c", "model=x"), ("becomes-a-string",)),
    *(
        (grant_limits.grants_no_more, grant_limits, "exceeded", told(*MODE), (reason,))
        for reason in ("not-asked", "whole-machine", "network-added", "no-sandbox")
    ),
]


def controls(found: tuple[Finding, ...]) -> set[bool]:
    assert not any(one.skipped for one in found), found
    return {one.control_held for one in found}


@pytest.mark.parametrize(("check", "module", "name", "shown", "reasons"), BLIND)
def test_a_check_that_is_blind_to_one_kind_of_fault_proves_nothing(
    check: Check, module: Any, name: str, shown: CaseRun, reasons: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert controls(check(shown, ANY)) == {True}
    monkeypatch.setattr(module, name, blind(*reasons)(getattr(module, name)))
    assert controls(check(shown, ANY)) == {False}


@pytest.mark.parametrize(
    ("check", "module", "name", "text"),
    [
        (user_values.values_kept, user_values, "lost", TEXT),
        (user_values.values_kept, user_values, "lost", b"[a]\n"),
        (comments.comments_kept, comments, "disturbed", TEXT),
        (line_endings.line_ends_kept, line_endings, "changed", TEXT),
    ],
)
def test_a_check_that_finds_a_fault_in_everything_proves_nothing(
    check: Check, module: Any, name: str, text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, startled(getattr(module, name)))
    assert controls(check(on_top(text), ANY)) == {False}


# ---- what must be in a file after somebody's run
def remain(more: Control) -> tuple[Finding, ...]:
    given: dict[str, Any] = {"example": b"a = 1 # x\n", "more": more}
    after = case_run(b"", b"a = 1 # x\n")
    return (
        *remaining_content.values_remain("c", {("a",): 1}, after, was="before", **given),
        *remaining_content.comments_remain("c", ("# x",), after, **given),
    )


@pytest.mark.parametrize("replace", [blind("value-changed", "comment-lost"), startled])
def test_a_missing_part_is_found_only_where_it_is_missing(replace: Replace, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [one.control_held for one in remain(Control("so", True))] == [True, True]
    assert [one.control_held for one in remain(Control("not so", False))] == [False, False]
    for name in ("unlike", "gone"):
        monkeypatch.setattr(remaining_content, name, replace(getattr(remaining_content, name)))
    assert [one.control_held for one in remain(Control("so", True))] == [False, False]


def test_each_of_several_equal_comments_must_remain() -> None:
    assert [one.reason for one in remaining_content.gone(("# x", "# x"), b"# x\n", "")] == ["comment-lost"]
    assert not list(remaining_content.gone(("# x", "# x"), b"# x\n\na = 1 # x\n", ""))


def test_without_a_part_to_keep_or_a_readable_file_there_is_no_finding() -> None:
    so = Control("so", True)
    none: dict[tuple[str, ...], Any] = {}
    unread = case_run(b"", b"a = 1\n", b"a =\n", b"a = 1\n")
    for due, after in ((none, case_run(b"", b"a = 1\n")), (none | {("a",): 1}, unread)):
        assert remaining_content.values_remain("c", due, after, example=b"a = 1\n", was="", more=so) == ()
    assert remaining_content.comments_remain("c", (), case_run(b"", b""), example=b"", more=so) == ()
