"""P2 to P4: what is done to the user's text is found, named, and nothing else is."""

import pytest

from pytest_codexsandbox.generators.checks.comments import comments_kept
from pytest_codexsandbox.generators.checks.key_placement import own_place
from pytest_codexsandbox.generators.checks.line_endings import line_ends_kept
from pytest_codexsandbox.generators.checks.toml_syntax import parses
from pytest_codexsandbox.generators.checks.user_values import values_kept
from pytest_codexsandbox.model.generator import Case, Declaration
from tests.unit.generators.builders import ANY, BLOCK, case_run, ended, held, reasons, skips

TABLE = b'[tui]\n# of the theme\ntheme = "x"\nlist = [\n  1, # one\n]\n'
USER = b'# mine\nmodel = "m"  # beside\n\n' + TABLE
GOOD = BLOCK + b"\n" + USER


def test_a_block_on_top_breaks_no_promise() -> None:
    for check in (parses, values_kept, own_place, comments_kept, line_ends_kept):
        assert held(check(case_run(USER, GOOD), ANY)), check


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (GOOD.replace(b'model = "m"', b'model = "n"'), "value-changed"),
        (GOOD.replace(b'model = "m"', b"model = 1"), "type-changed"),
        (GOOD.replace(b"[\n  1, # one\n]", b"[1.0]"), "value-changed"),
        (GOOD.replace(b'theme = "x"\n', b""), "key-lost"),
        (b"[features]\n" + GOOD, "captured"),
        (GOOD + b"[tui]\n", "duplicate-table"),
        (GOOD + b'theme = "y"\n', "duplicate-key"),
        (b"", "key-lost"),
    ],
)
def test_a_key_of_the_users_that_is_not_what_it_was_is_found(after: bytes, reason: str) -> None:
    assert reason in reasons(values_kept(case_run(USER, after), ANY))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = 1", "a = 1.0"),
        ("a = 3.0", "a = 3"),
        ("a = 1979-05-27", 'a = "1979-05-27"'),
        ("a = true", "a = 1"),
        ("a = -0.0", "a = 0.0"),
        ("a = 1979-05-27T00:00:00Z", "a = 1979-05-27T00:00:00+01:00"),
        ("[a]", ""),
        ("a = [1, 2]", "a = [2, 1]"),
        ("a = {b = 1}", "a = {b = '1'}"),
        ("[[a]]\nb = 1\n[[a]]\nb = 2", "[[a]]\nb = 1"),
        ("a = [1]", "a = [1, 2]"),
        ("a = []", "[[a]]\nb = 1"),
        ("[[a]]\nb = 1", "a = 1"),
        ("a = [{b = 1}, 2]", "a = [2]"),
        ("a = [{b = 1}]", "a = [{b = 1}, 2]"),
        ("a = []", "[a]\nb = 1"),
        ("a = ''", "[a]\nb = 1"),
        ("[a.b]", "a = 1"),
        ("[a]\n[b]\nx = 1", "[a]\nb = 1\n[b]"),
    ],
)
def test_types_and_order_count(before: str, after: str) -> None:
    assert reasons(values_kept(case_run(before.encode(), after.encode()), ANY))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = 10", "a = 0xA"),
        ("a = nan", "a = +nan"),
        ("a = {b = 1}", "[a]\nb = 1"),
        ("a.b = 1", "[a]\nb = 1"),
        ("a = 'x'", 'a = "x"'),
        ("[[a]]\nb = 1", "[[a]]\nb = 1\n[[a]]\nb = 2"),
        ("[a]\n", "[a]\nb = 1"),
    ],
)
def test_another_spelling_of_the_same_value_is_the_same_value(before: str, after: str) -> None:
    assert held(values_kept(case_run(before.encode(), after.encode()), ANY))


def test_declared_keys_may_change() -> None:
    before, after = b'sandbox_mode = "read-only"\na = 1\n', b'sandbox_mode = "workspace-write"\na = 1\n'
    assert held(values_kept(case_run(before, after, alone=None), Declaration(owns=("sandbox_mode",))))
    assert reasons(values_kept(case_run(before, after), Declaration(owns=("other.*",)))) == {"value-changed"}
    assert held(values_kept(case_run(before, after), ANY)), "inferred from what it writes alone"
    assert "`owns`" in skips(values_kept(case_run(before, after, alone=None), ANY))


def test_a_key_that_is_lost_beside_an_owned_one_is_lost() -> None:
    """Without a declaration a changed value may be the generator's; a missing one, or one beside it, is the user's."""
    before = b"a = 1\nb = 2\n"
    assert reasons(values_kept(case_run(before, b"a = 3\n", alone=None), ANY)) == {"key-lost"}
    assert reasons(values_kept(case_run(before, b"a = 1\n", alone=None), ANY)) == {"key-lost"}
    told = values_kept(case_run(before, b"a = 3\n", alone=None), ANY)
    assert [(one.reason, "b = int 2" in one.saw) for one in told] == [("key-lost", True)]


def test_without_keys_of_the_users_the_check_is_skipped() -> None:
    assert "no keys" in skips(values_kept(case_run(BLOCK, BLOCK), ANY))
    assert "not TOML" in skips(values_kept(case_run(b"a =\n", BLOCK), ANY))


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ("[t]\nmodel = 'm'\n", "captured"),
        ("[t]\nmodel = 'other'\n", "key-lost"),
        ("[t]\nother = 'm'\n", "key-lost"),
        ("sandbox_workspace_write.model = 'm'\n", "key-lost"),
        ("sandbox_workspace_write.x.model = 'm'\n", "key-lost"),
    ],
)
def test_a_key_is_captured_only_where_it_is_found_again_and_not_as_the_generators_own(after: str, reason: str) -> None:
    owner = Declaration(owns=("sandbox_workspace_write.model", "sandbox_workspace_write.x"))
    found = values_kept(case_run(b"[tui]\nmodel = 'm'\n", after.encode()), owner)
    assert reasons(found) == {reason}
    swallowed = b"[sandbox_workspace_write]\n[sandbox_workspace_write.x.tui]\nmodel = 'm'\n"
    assert reasons(values_kept(case_run(b"[tui]\nmodel = 'm'\n", swallowed), owner)) == {"captured"}


def test_a_wildcard_matches_one_part_and_an_owned_table_every_part() -> None:
    before = b'[mcp_servers.a]\ncommand = "x"\n[mcp_servers.a.env]\nK = "v"\n[other]\nb = 1\n'
    after = b"[other]\nb = 1\n"
    assert held(values_kept(case_run(before, after), Declaration(authoritative=("mcp_servers",))))
    assert held(values_kept(case_run(before, after), Declaration(owns=("mcp_servers.*",))))
    assert reasons(values_kept(case_run(before, after), Declaration(owns=("mcp_servers.b",)))) == {"key-lost"}


def test_a_loss_in_a_later_run_is_found_too() -> None:
    assert reasons(values_kept(case_run(USER, GOOD, GOOD, BLOCK), ANY)) == {"key-lost"}


def test_a_refusal_that_touched_nothing_is_no_green_cell() -> None:
    refusal = ended(USER, code=3, refused=True, reason="two blocks")
    for check in (values_kept, own_place, comments_kept, line_ends_kept, parses):
        assert "it declined" in skips(check(refusal, ANY)), check


def test_a_refusal_that_wrote_is_judged_like_any_other_run() -> None:
    assert "key-lost" in reasons(values_kept(ended(USER, after=b"", code=1), ANY))


# ---- P2


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (BLOCK + GOOD, "duplicate-key"),
        (BLOCK + b"[sandbox_workspace_write]\n" + USER, "duplicate-table"),
        (BLOCK + b"\xef\xbb\xbf" + USER, "bom-moved"),
        (USER.replace(b"  1, # one\n", b"  1, # one\n" + BLOCK), "spliced-into-array"),
        (b'model = "\xff"\n', "not-utf-8"),
        (b'model = "m"\nx = 9223372036854775808\n', "number-too-large"),
        (b"model = 'm\0'\n", "control-character"),
        (b"model =\n", "does-not-parse"),
    ],
)
def test_toml_that_is_broken_is_found_and_named(after: bytes, reason: str) -> None:
    assert reasons(parses(case_run(USER, after), ANY)) == {reason}


def test_toml_1_1_and_one_mark_of_byte_order_are_toml() -> None:
    assert held(parses(case_run(b"", b'\xef\xbb\xbfa = {\n b = 1, # c\n}\nc = "\\e\\x41"\n'), ANY))


def test_a_broken_file_is_left_alone_by_one_that_says_so() -> None:
    broken = b"a = 1\na = 2\n"
    assert held(parses(ended(broken, code=3, refused=True, reason="broken"), ANY))
    assert reasons(parses(ended(broken, code=0), ANY)) == {"broken-and-accepted"}
    assert reasons(parses(case_run(broken, BLOCK + broken), ANY)) == {"duplicate-key"}
    assert held(parses(case_run(broken, BLOCK + b"a = 2\n"), ANY)), "repaired"


def test_a_repair_of_a_broken_file_by_emptying_it_is_found() -> None:
    broken = b"a = 1\na = 2\n[t]\nb = 1\n"
    assert reasons(parses(case_run(broken, BLOCK), ANY)) == {"broken-and-wiped"}
    assert reasons(parses(case_run(broken, BLOCK + b"a = 1\n"), ANY)) == {"broken-and-wiped"}
    assert held(parses(case_run(broken, BLOCK + b"a = 1\n[t]\nb = 1\n"), ANY))
    wide = "a = 1\nb = 2\n".encode("utf-16")
    assert reasons(parses(case_run(wide, BLOCK), ANY)) == {"broken-and-wiped"}
    assert held(parses(case_run(wide, BLOCK + b"a = 1\nb = 2\n"), ANY))
    assert held(parses(case_run(b"a = 1\nbad = \n", BLOCK + b"a = 1\n"), ANY)), "what broke it may go"
    assert held(parses(case_run(BLOCK + BLOCK + b"a = 1\n", BLOCK + b"a = 1\n"), ANY)), "its own block, once too often"


# ---- P4


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (b"[tui]\n", b"[tui]\n" + BLOCK, "captured"),
        (b"[tui]\n", b"[tui]\n", "not-there"),
        (b"a = '''\n\n'''\n", b"a = '''\n" + BLOCK + b"\n'''\n", "inside-a-string"),
        (b"a = 1\n", b"a = 1\n" + BLOCK.replace(b'"workspace-write"', b"1"), "type-changed"),
        (b"a = 1\n", b"a = 1\n" + BLOCK.replace(b"sandbox_mode", b"sandbox_mood"), "not-there"),
    ],
)
def test_a_key_that_is_not_at_its_own_place_is_found(before: bytes, after: bytes, reason: str) -> None:
    assert reason in reasons(own_place(case_run(before, after), ANY))


def test_a_key_that_the_declaration_does_not_know_is_found() -> None:
    owner = Declaration(owns=("sandbox_mode", "sandbox_workspace_write"))
    assert held(own_place(case_run(USER, GOOD), owner))
    assert reasons(own_place(case_run(USER, GOOD + b"[other]\nx = 1\n"), owner)) == {"not-declared"}
    below = b"[tui.sandbox_workspace_write]\nnetwork_access = true\n"
    assert reasons(own_place(case_run(b"[tui]\n", BLOCK + b"[tui]\n" + below), owner)) == {"captured"}


def test_without_a_lone_run_the_check_is_skipped() -> None:
    assert "without a file" in skips(own_place(case_run(USER, GOOD, alone=None), ANY))
    assert held(own_place(case_run(None, BLOCK, alone=None), ANY)), "there was nothing of the user's: that is it"


# ---- what stands between its own marks


def test_a_block_that_was_captured_may_be_taken_from_there() -> None:
    before = b"[tui]\nnotifications = true\n" + BLOCK + b"# of mine\n"
    assert held(values_kept(case_run(before, BLOCK + b"[tui]\nnotifications = true\n# of mine\n"), ANY))
    assert reasons(values_kept(case_run(before, BLOCK), ANY)) == {"key-lost"}
    inside = BLOCK.replace(b"# END", b"mine = 1\n# END")
    assert reasons(values_kept(case_run(inside, BLOCK), ANY)) == {"key-lost"}, "a key of the user's inside of the block"


def test_the_content_of_a_broken_file_is_known_when_it_is_repaired() -> None:
    owner = Declaration(owns=("sandbox_mode", "sandbox_workspace_write"))
    before = BLOCK + BLOCK + b"model = 1\ninline = {a = 1}\n[[t]]\nb = 1\n"
    assert held(own_place(case_run(before, BLOCK + b"model = 1\ninline = {a = 1}\n[[t]]\nb = 1\n"), owner))


def test_a_migration_may_take_its_keys_from_where_an_older_release_put_them() -> None:
    before, after = b"[tui]\nx = 1\nsandbox_mode = 'read-only'\n", BLOCK + b"[tui]\nx = 1\n"
    old = Case(id="63-old", why="w", group="migration", config=before)
    migrating = Declaration(owns=("sandbox_mode", "sandbox_workspace_write"), migrates_from=("old",))
    assert held(values_kept(case_run(before, after, case=old), migrating))
    assert reasons(values_kept(case_run(before, after), migrating)) == {"key-lost"}
    assert reasons(values_kept(case_run(before, BLOCK, case=old), migrating)) == {"key-lost"}


def test_a_broken_file_is_no_business_of_one_that_writes_none() -> None:
    assert "writes no file" in skips(parses(ended(b"a =\n", argv=("-c", "a=1"), alone=None), ANY))


def test_faults_of_one_kind_are_one_row() -> None:
    (row,) = values_kept(case_run(b"a = 1\nb = 2\nc = 3\n", BLOCK), ANY)
    assert (row.reason, "(and 2 more" in row.saw) == ("key-lost", True)


def test_a_file_that_was_and_is_invalid_toml_is_reported_once() -> None:
    assert "generator.parses" in skips(own_place(case_run(b"a =\n", BLOCK + b"a =\n"), ANY))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a = {}\n[a.b]\n", "extends-inline-table"),
        (b"a = {}\na.b = 1\n", "extends-inline-table"),
        (b"a.b = 1\na = {}", "extends-inline-table"),
        (b"a = 1\na = 2\n", "duplicate-key"),
        (b"a = {}\na = {}\n", "duplicate-key"),
        (b"[a]\n[a]\n", "duplicate-table"),
        (b'[a.b]\nenv = { K = "v" }\n[a.b]\nenv = { K = "v" }\n', "duplicate-table"),  # braces of its own lines
        (b'[a.b]\nc = 1\nenv = { K = "v" }\nc = 1\n', "duplicate-key"),
        (b'a.env = { K = "v" }\na.b = 1\n[a]\nc = 1\n', "duplicate-table"),
        (b"a.b = 1\n[a]\nc = 1\n", "duplicate-table"),
        (b'a = "x\nb = 1\n', "unclosed-string"),
        (b'a = """x\nb = 1\n', "unclosed-string"),
    ],
)
def test_the_cause_of_broken_toml_has_a_word(text: bytes, reason: str) -> None:
    assert reasons(parses(case_run(b"", text), ANY)) == {reason}


def test_in_a_file_that_is_no_toml_no_key_is_at_its_place() -> None:
    broken = b"sandbox_mode = 'workspace-write'\n[[torn\n"
    found = own_place(case_run(USER, broken), ANY)
    assert not any(one.held for one in found)
    assert ["(line 2" in one.saw for one in found] == [True]


def test_the_place_of_a_key_is_not_checked_for_a_writer_of_no_toml_or_no_file() -> None:
    assert "generator.parses" in skips(own_place(case_run(USER, GOOD, alone=b"[[torn\n"), ANY))
