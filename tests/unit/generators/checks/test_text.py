"""P5 and P6: comments stay with what they speak of, and lines end as they did."""

import pytest

from pytest_codexsandbox.generators.checks.comments import comments_kept
from pytest_codexsandbox.generators.checks.line_endings import line_ends_kept
from pytest_codexsandbox.model.generator import Case, Declaration, Marker
from tests.unit.generators.builders import ANY, BLOCK, case_run, held, reasons, skips

TABLE = b'[tui]\n# of the theme\ntheme = "x"\nlist = [\n  1, # one\n]\n'
USER = b'# mine\nmodel = "m"  # beside\n\n' + TABLE
GOOD = BLOCK + b"\n" + USER

# ---- P5


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (GOOD.replace(b"# mine\n", b""), "comment-lost"),
        (GOOD.replace(b"  # beside", b""), "comment-lost"),
        (GOOD.replace(b" # one", b""), "comment-lost"),
        (GOOD.replace(b"# of the theme\n", b"") + b"# of the theme\n", "comment-moved"),
        (GOOD.replace(b"# mine\n", b"# mine\n\n"), "comment-moved"),
        (b"# mine\n" + BLOCK + USER.removeprefix(b"# mine\n"), "comment-moved"),
        (BLOCK + TABLE + b'# mine\nmodel = "m"  # beside\n', "comment-moved"),
    ],
)
def test_a_comment_that_is_gone_or_elsewhere_is_found(after: bytes, reason: str) -> None:
    assert reasons(comments_kept(case_run(USER, after), ANY)) == {reason}


def test_comments_in_another_order_are_found() -> None:
    before, after = b"# one\n\n# two\n\na = 1\n", b"# two\n\n# one\n\na = 1\n"
    assert reasons(comments_kept(case_run(before, BLOCK + after), ANY)) == {"comments-reordered"}


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("# x\n\n# x\n\na = 1\n", "# x\n\na = 1\n", "comment-lost"),
        ("# x\na = 1\n# x\nb = 2\n", "# x\na = 1\nb = 2\n", "comment-lost"),
        ("a = 1 # x\nb = 2 # x\n", "a = 1\nb = 2 # x\n", "comment-lost"),
        ("# x\n\n# y\n\n# x\n\na = 1\n", "# x\n\n# x\n\n# y\n\na = 1\n", "comments-reordered"),
        ("a = 1\n\n# x\n\nb = 2\nc = 3\n", "# x\n\na = 1\nb = 2\nc = 3\n", "comment-moved"),
        ("a = 1\n\n# x\n", "# x\n\na = 1\n", "comment-moved"),
    ],
)
def test_each_of_several_equal_comments_counts_and_a_free_one_has_its_place(
    before: str, after: str, reason: str
) -> None:
    assert reasons(comments_kept(case_run(before.encode(), BLOCK + after.encode()), ANY)) == {reason}


def test_a_comment_goes_with_what_the_generator_may_replace_and_with_nothing_else() -> None:
    shared = b"# why\n[sandbox_workspace_write]\nnetwork_access = true\n"
    assert held(comments_kept(case_run(shared, BLOCK + b"# why\n"), ANY)), "the header of a table that it has keys in"
    tui = b"# why\n[tui]\nx = 1\n"
    assert reasons(comments_kept(case_run(tui, BLOCK + b"[tui]\n# why\nx = 1\n"), ANY)) == {"comment-moved"}
    cleared = b"a = 1\n[mcp_servers.x]\n# of x\ncommand = 'x'\n"
    assert held(
        comments_kept(case_run(b"# mine\n" + cleared, b"# mine\na = 1\n"), Declaration(authoritative=("mcp_servers",)))
    )
    assert reasons(comments_kept(case_run(cleared, b"a = 1\n"), Declaration(authoritative=("other",)))) == {
        "comment-lost"
    }


def test_the_place_of_a_free_comment_depends_on_the_users_statements_alone() -> None:
    before = b"# about all\n\n" + BLOCK.replace(b"# END", b"old = 1\n# END") + b"a = 1\n"
    marked = Declaration(markers=(Marker(begin="# BEGIN x", end="# END x"),))
    for after in (BLOCK + b"# about all\n\na = 1\n", b"# about all\n\n" + BLOCK + b"a = 1\n"):
        assert held(comments_kept(case_run(before, after), marked))


def test_a_free_comment_keeps_its_place_among_the_users_own_statements_alone() -> None:
    before = b"# about all\n\na = 1\n"
    assert held(comments_kept(case_run(before, b"# about all\n\n" + BLOCK + b"a = 1\n"), ANY))
    assert held(comments_kept(case_run(before, BLOCK + before), ANY))
    assert held(comments_kept(case_run(before, BLOCK + b"# about all\na = 1\n"), ANY)), "an empty line is not its own"
    assert reasons(comments_kept(case_run(before, BLOCK + b"a = 1\n# about all\n"), ANY)) == {"comment-moved"}


def test_a_hash_in_a_string_is_no_comment() -> None:
    before = b"a = '''\n# no comment\n'''\nb = \"# neither\"\n"
    assert "no comments" in skips(comments_kept(case_run(before, BLOCK + before), ANY))


def test_comments_of_files_that_no_parser_reads_are_kept_too() -> None:
    before = b"# \xff mine\na = 1\na = 2\nb = [ # open\n"
    assert held(comments_kept(case_run(before, BLOCK + before), ANY))
    assert reasons(comments_kept(case_run(before, BLOCK + before.replace(b"\xff", b"?")), ANY)) == {"comment-lost"}


def test_a_comment_at_a_key_of_the_generators_may_lose_its_neighbour_and_no_more() -> None:
    before = b'# why\nsandbox_mode = "read-only"  # beside\na = 1\n'
    assert held(comments_kept(case_run(before, BLOCK + b"# why\n# beside\na = 1\n"), ANY))
    assert reasons(comments_kept(case_run(before, BLOCK + b"# why\na = 1\n"), ANY)) == {"comment-lost"}


def test_comments_between_its_marks_are_the_generators() -> None:
    declaration = Declaration(markers=(Marker(begin="# BEGIN x", end="# END x"),))
    before = BLOCK.replace(b"# END", b"# old words\n# END") + b"# mine\na = 1\n"
    assert held(comments_kept(case_run(before, BLOCK + b"# mine\na = 1\n"), declaration))


def test_comments_at_the_keys_of_its_older_release_go_with_them() -> None:
    before, after = b"# of x 0.1\nsandbox_mode = 'read-only'\n# mine\na = 1\n", BLOCK + b"# mine\na = 1\n"
    old = Case(id="63-old", why="w", group="migration", config=before)
    migrating = Declaration(owns=("sandbox_mode", "sandbox_workspace_write"), migrates_from=("old",))
    assert held(comments_kept(case_run(before, after, case=old), migrating))
    assert reasons(comments_kept(case_run(before, after), migrating)) == {"comment-lost"}
    assert reasons(comments_kept(case_run(before, BLOCK + b"a = 1\n", case=old), migrating)) == {"comment-lost"}


# ---- P6


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (b"a = 1\r\nb = 2\r\n", b"x = 1\r\na = 1\nb = 2\n", "crlf-lost"),
        (b"a = 1\nb = 2\n", b"x = 1\na = 1\r\nb = 2\r\n", "lf-lost"),
        (b"a = 1\r\nb = 2\n", b"a = 1\nb = 2\n", "crlf-lost"),
        (b"a = 1\r\n", b"a=1\n", "crlf-lost"),
        (b"a = 1", b"x = 1\na = 1\n", "final-newline-added"),
        (b"a = 1\n", b"x = 1\na = 1", "final-newline-lost"),
        (b"\xef\xbb\xbfa = 1\n", b"x = 1\na = 1\n", "bom-lost"),
        (b"\xef\xbb\xbfa = 1\n", b"x = 1\n\xef\xbb\xbfa = 1\n", "bom-moved"),
        (b"a = 1\n", b"\xef\xbb\xbfa = 1\n", "bom-added"),
        (b"a = 1\nb = 2\n", b"a=1\r\nb=2\r\n", "lf-lost"),
        (b"a = 1\r\nb = 2", b"a=1\nb=2", "crlf-lost"),
        (BLOCK + b"a = 1\r\n", BLOCK + b"a=1\n", "crlf-lost"),
        (b"h\na = 1\nb = 2\nc = 3\nt\n", b"h\nx\nx\na=1\nb = 2\r\nc=3\nt\n", "lf-lost"),
        (b"h\na = 1\nb = 2\r\nc = 3\nt\n", b"h\na=1\nb = 2\nc=3\nt\n", "crlf-lost"),
        (b"\xef\xbb\xbf" + BLOCK, BLOCK, "bom-lost"),
    ],
)
def test_other_ends_of_lines_and_a_mark_that_moves_are_found(before: bytes, after: bytes, reason: str) -> None:
    assert reasons(line_ends_kept(case_run(before, after), ANY)) == {reason}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a = 1\r\nb = 2\n", b"x = 1\na = 1\r\nb = 2\n"),
        (b"a = 1", b"x = 1\na = 1"),
        (b"a = 1", b"a = 1\nx = 1\n"),
        (b"\xef\xbb\xbfa = 1\n", b"\xef\xbb\xbfx = 1\na = 1\n"),
    ],
)
def test_lines_that_end_as_they_did_pass(before: bytes, after: bytes) -> None:
    assert held(line_ends_kept(case_run(before, after), ANY))


def test_the_line_ends_of_its_own_block_are_free() -> None:
    block = BLOCK.replace(b"\n", b"\r\n")
    assert held(line_ends_kept(case_run(block + b"a = 1\r\n", BLOCK + b"a = 1\r\n"), ANY))
    assert reasons(line_ends_kept(case_run(block + b"a = 1\r\n", BLOCK + b"a = 1\n"), ANY)) == {"crlf-lost"}
    assert "no text" in skips(line_ends_kept(case_run(BLOCK.rstrip(), BLOCK), ANY))
    mark = b"\xef\xbb\xbf"
    assert held(line_ends_kept(case_run(mark + block + b"a = 1\r\n", mark + BLOCK + b"a = 1\r\n"), ANY))
    between = b"a = 1\r\n" + block + b"b = 2\r\n"
    assert held(line_ends_kept(case_run(between, between.replace(block, BLOCK).replace(b"a = 1", b"a=1")), ANY))
    assert reasons(line_ends_kept(case_run(b"\xef\xbb\xbf", BLOCK), ANY)) == {"bom-lost"}
