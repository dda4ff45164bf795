"""`-c key=value` and other arguments of Codex are read as Codex reads them."""

from typing import Any

import pytest

from pytest_codexsandbox.generators.checks.cli_overrides import override, words


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("a=b", ("a",), "b"),
        ("a='b c'", ("a",), "b c"),
        ("a=''b''", ("a",), "b"),
        ('a=x"y"', ("a",), 'x"y'),
        (" a = 1 ", ("a",), 1),
        ("a=1 # c", ("a",), 1),
        ("a=", ("a",), ""),
        ('"a".b=1', ('"a"', "b"), 1),
        ("a=x\ny=2", ("a",), "x\ny=2"),
        ('a="x"\ny=2', ("a",), "x"),
        ("a={b=1,\nc=2}", ("a",), {"b": 1, "c": 2}),
        ('a="\\e"', ("a",), "\x1b"),
        ("a=9223372036854775808", ("a",), "9223372036854775808"),
    ],
)
def test_an_override_is_read_as_codex_reads_it(text: str, path: tuple[str, ...], value: Any) -> None:
    found = override(text)
    assert (found.path, found.value) == (path, value)


@pytest.mark.parametrize(
    ("argv", "data"),
    [
        (("-sread-only",), {"sandbox_mode": "read-only"}),
        (("-s=read-only",), {"sandbox_mode": "read-only"}),
        (("-a", "never"), {"approval_policy": "never"}),
        (("-anever",), {"approval_policy": "never"}),
        (("--ask-for-approval=never",), {"approval_policy": "never"}),
        (("-m", "x"), {"model": "x"}),
        (("--model", "x"), {"model": "x"}),
        (("--full-auto",), {"sandbox_mode": "workspace-write"}),
        (("--approve-for-me",), {"sandbox_mode": "workspace-write"}),
        (("--yolo",), {"sandbox_mode": "danger-full-access", "approval_policy": "never"}),
        (
            ("--dangerously-bypass-approvals-and-sandbox",),
            {"sandbox_mode": "danger-full-access", "approval_policy": "never"},
        ),
        (("-c", "a={b=1}", "-c", "a.c=2"), {"a": {"b": 1, "c": 2}}),
        (("-c", "a=1", "-c", "a.c=2"), {"a": {"c": 2}}),
        (("--search", "read-only", "-"), {}),
    ],
)
def test_an_option_means_its_setting(argv: tuple[str, ...], data: dict[str, Any]) -> None:
    assert words(argv).layer == data


def test_words_are_found_however_they_are_written() -> None:
    assert words(("-px",)).profile == words(("-p=x",)).profile == words(("--profile", "x")).profile == "x"
    found = words(("app-server", "-ca=1", "--config", "b.c=2", "-c=b.d=3", "--profile", "p", "--", "-c", "e=5"))
    assert found.layer == {"a": 1, "b": {"c": 2, "d": 3}}
    assert found.profile == "p"
