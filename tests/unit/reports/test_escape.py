"""Each format has its own way to say something dangerous."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.reports import escape

QUIETLY = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("Grüße, 漢字 → 12 KiB", "Grüße, 漢字 → 12 KiB"),
    ],
)
def test_invisible_characters_are_spelled(text: str, shown: str) -> None:
    assert escape.visible(text) == shown


def test_line_ends_can_be_kept() -> None:
    assert escape.visible_lines("a\r\nb\x07\n") == ["a", "b\\x07", ""]


def test_ascii_has_twins_for_our_ornaments_and_spells_the_rest() -> None:
    assert escape.ascii_only("8 → 12 · é 漢") == "8 -> 12 | \\xe9 \\u6f22"


def test_a_long_text_says_how_much_is_missing() -> None:
    assert escape.clipped("w" * 1_500, 100) == "w" * 100 + "… (and 1,400 more characters)"
    assert escape.clipped("short", 5) == "short"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**bold** _it_", "&#42;&#42;bold&#42;&#42; &#95;it&#95;"),
        ("[a](b) ![c](d)", "&#91;a&#93;(b) !&#91;c&#93;(d)"),
        ("a|b", "a&#124;b"),
        ("@someone #12", "&#64;someone &#35;12"),
        ("https://x.example www.x.example :smile:", "https&#58;//x.example www&#46;x.example &#58;smile:"),
        ("<img src=x>", "&#60;img src=x&#62;"),
        ("`code` ~~gone~~ $x$", "&#96;code&#96; &#126;&#126;gone&#126;&#126; &#36;x&#36;"),
        ("MAX_USER_NAMESPACES: 8,192 (bytes)", "MAX_USER_NAMESPACES: 8,192 (bytes)"),
    ],
)
def test_markdown_means_nothing(text: str, shown: str) -> None:
    assert escape.markdown(text) == shown


@QUIETLY
@given(st.text())
def test_a_fence_is_longer_than_anything_inside(text: str) -> None:
    block = escape.markdown_block(text + "\n```\n````")
    first, *inside, last = block.split("\n")
    assert first == last + "text"
    assert not any(line.startswith(last) for line in inside)


@QUIETLY
@given(st.text())
def test_visible_text_is_one_printable_line(text: str) -> None:
    shown = escape.visible(text)
    assert len(shown.splitlines()) <= 1
    assert escape.ascii_only(shown).isascii()


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("é", 1)])
def test_width_is_what_a_terminal_takes(text: str, width: int) -> None:
    assert escape.width_of(text) == width
