"""After another writer: what it left is what the checks compare with; one that changed nothing proves nothing."""

from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.generators.other_writers import NEEDS_MARKS, WRITERS
from pytest_codexsandbox.generators.other_writers.appenders import _appended, _key, _table
from pytest_codexsandbox.generators.other_writers.marker_damage import _uncommented, _without
from pytest_codexsandbox.generators.other_writers.rewriters import _crlf, _reserialised
from pytest_codexsandbox.generators.stress.other_writers_check import THEIRS as THEIRS_CLAIM
from pytest_codexsandbox.generators.stress.other_writers_check import (
    WriterVisit,
    comments_of_others,
    kept,
    marker_of,
    right,
)
from pytest_codexsandbox.generators.stress.setup import StressRun
from pytest_codexsandbox.matrix.generator_cells import OURS as OURS_OF_THE_PLAN
from pytest_codexsandbox.model.generator import CONFIG, Case, Declaration, GeneratorRun, Marker
from tests.unit.generators.builders import BLOCK, case_run, ended, files, state
from tests.unit.generators.stress.builders import DECLARED, reasons

USER = b'model = "x"  # mine\n\n[tui]\nnotifications = false\n'
OURS = BLOCK + USER
THEIRS = OURS + b'\n[mcp_servers.theirs]\ncommand = "c" # theirs\n'


def visit(after: bytes, *, theirs: bytes = THEIRS, ours: bytes = OURS, **words: Any) -> WriterVisit:
    told = case_run(theirs, after, after, **words)
    other = StressRun(outcome=GeneratorRun(ended="exit", files=files(theirs)), config=theirs)
    return WriterVisit(name="other", case_run=told, ours=ours, theirs=theirs, other=other)


def declined(theirs: bytes, after: bytes | None = None) -> WriterVisit:
    told = ended(theirs, after=theirs if after is None else after, code=3, stderr="the file is broken")
    other = StressRun(outcome=GeneratorRun(ended="exit"), config=theirs)
    return WriterVisit(name="other", case_run=told, ours=OURS, theirs=theirs, other=other)


def test_a_run_that_keeps_other_writers_keys_and_applies_the_intent_is_right() -> None:
    assert reasons(right(visit(THEIRS), DECLARED)) == set()
    assert reasons(kept(visit(THEIRS), DECLARED)) == set()


def test_a_lost_table_of_another_writer_is_found() -> None:
    assert reasons(kept(visit(OURS), DECLARED)) == {"key-lost", "comment-lost"}


def test_a_comment_of_the_users_that_is_gone_is_missed() -> None:
    assert reasons(kept(visit(THEIRS.replace(b"  # mine", b"")), DECLARED)) == {"comment-lost"}


def test_a_second_copy_is_not_right() -> None:
    assert "duplicate-key" in reasons(right(visit(BLOCK + THEIRS), DECLARED))


def test_a_value_that_the_other_one_changed_must_be_set_again() -> None:
    spoilt = THEIRS.replace(b"network_access = false", b"network_access = true")
    assert reasons(right(visit(spoilt, theirs=spoilt), DECLARED)) == {"value-changed"}
    assert reasons(right(visit(THEIRS, theirs=spoilt), DECLARED)) == set()


def test_a_mark_that_is_not_put_back_is_missed() -> None:
    lost = THEIRS.replace(b"# END x\n", b"")
    assert "orphan-mark" in reasons(right(visit(lost, theirs=lost), DECLARED))


def test_a_change_in_a_later_run_is_reported() -> None:
    told = case_run(THEIRS, THEIRS, THEIRS + b"\n")
    moved = WriterVisit(name="other", case_run=told, ours=OURS, theirs=THEIRS, other=visit(THEIRS).other)
    assert "grew" in reasons(right(moved, DECLARED))


def test_to_decline_a_file_that_loads_is_not_right_and_takes_nothing_away() -> None:
    assert reasons(right(declined(THEIRS), DECLARED)) == {"declines-after-others"}
    assert reasons(kept(declined(THEIRS), DECLARED)) == set()
    assert reasons(kept(declined(THEIRS, after=OURS), DECLARED)) == {"declined-and-wrote"}


def test_a_part_that_another_writer_damaged_may_be_left_alone() -> None:
    broken = THEIRS.replace(b"# END x", b"END x")
    for judge in (right, kept):
        assert reasons(judge(declined(broken), DECLARED)) == set()
        assert reasons(judge(declined(broken, after=OURS), DECLARED)) == {"declined-and-wrote"}


def test_a_generator_that_declines_a_damaged_file_keeps_every_byte_in_every_run() -> None:
    broken = THEIRS.replace(b"# END x", b"END x")
    first, second = ended(broken, code=3, stderr="no").first, ended(broken, after=OURS, code=3, stderr="no").first
    told = msgspec.structs.replace(declined(broken), case_run=case_run(broken, broken, runs=(first, second)))
    assert reasons(right(told, DECLARED)) == reasons(kept(told, DECLARED)) == {"declined-and-wrote"}
    (one,) = right(declined(broken), DECLARED)
    assert (one.held, one.reason) == (True, "")
    (one,) = kept(declined(broken), DECLARED)
    assert one.claim == THEIRS_CLAIM


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ((state(THEIRS.replace(b"\n", b"\r\n")),), "lf-lost"),
        ((state(THEIRS, mode=0o100666),), "mode-changed"),
        ((state(THEIRS), state(THEIRS.replace(b"[tui]", b"[ tui ]"))), "grew"),
    ],
)
def test_all_that_is_asked_of_a_run_is_asked_of_the_one_after_others(after: Any, reason: str) -> None:
    runs = tuple(GeneratorRun(ended="exit", files={CONFIG: one}) for one in (*after, after[-1])[:2])
    told = msgspec.structs.replace(visit(THEIRS), case_run=case_run(THEIRS, THEIRS, runs=runs))
    assert reason in reasons(right(told, DECLARED))


def test_leftovers_after_other_writers_are_found() -> None:
    one = GeneratorRun(ended="exit", files={**files(THEIRS), "@CODEX_HOME@/config.toml.tmp": state(b"x")})
    told = msgspec.structs.replace(visit(THEIRS), case_run=case_run(THEIRS, THEIRS, runs=(one, one)))
    assert reasons(right(told, DECLARED))


def test_an_undetermined_result_is_no_violation() -> None:
    unknown = Declaration()
    changed = THEIRS.replace(b'model = "x"', b'model = "y"')
    (one,) = kept(visit(changed, alone=None), unknown)
    assert one.skipped
    assert not one.held


def test_the_comments_of_others_are_neither_marks_nor_what_the_generator_wrote() -> None:
    theirs = b"# BEGIN x\n# by x\na = 1\n# END x\n# END x (kept)\n# mine\n# old of x\n# new\n"
    alone = b"# BEGIN x\n# by x\na = 1\n# END x\n"
    case = Case(id="c", why="w", config=b"# mine\n")
    ours = b"# BEGIN x\n# by x\na = 1\n# END x\n# mine\n# old of x\n"
    told = visit(theirs, theirs=theirs, ours=ours, alone=alone, case=case)
    assert comments_of_others(told, DECLARED) == ("# mine", "# new")


def test_a_writer_that_changed_nothing_proves_nothing() -> None:
    idle = visit(OURS, theirs=OURS)
    assert not any(one.control_held for one in (*right(idle, DECLARED), *kept(idle, DECLARED)))


def test_without_knowing_what_it_writes_nothing_is_said() -> None:
    (one,) = right(visit(THEIRS, alone=None), DECLARED)
    assert one.skipped
    assert not one.held


# ---- the writers
GIVEN = {"params": {"begin": "# BEGIN x", "end": "# END x"}}
TEXT = OURS.decode()


def test_a_table_inside_a_block_takes_no_key_of_the_users_to_itself() -> None:
    block = BLOCK.decode()
    assert "mcp_servers.inside.command =" in _table(TEXT, GIVEN)
    assert "[mcp_servers.inside]\n" in _table(block + "\n# mine\n[tui]\n", GIVEN)
    assert "[mcp_servers.inside]\n" in _table(block, GIVEN)


@pytest.mark.parametrize("change", [_table, _key])
def test_without_marks_nothing_is_put_inside(change: Any) -> None:
    assert change("a = 1\n", GIVEN) == "a = 1\n"
    assert change(TEXT, {"params": {}}) == TEXT


def test_an_inserted_key_is_right_below_the_mark() -> None:
    assert "# BEGIN x\nhide_agent_reasoning = true\n" in _key(TEXT, GIVEN)


def test_marks_are_lost_or_lose_their_sign() -> None:
    assert "# END x" not in _without(TEXT, "# END x")
    assert _without(TEXT, "") == TEXT
    assert "\nEND x\n" in _uncommented(TEXT, GIVEN)
    assert _uncommented(TEXT, GIVEN).startswith("BEGIN x\n")


def test_a_file_that_is_saved_anew_has_its_values_and_no_comment() -> None:
    anew = _reserialised(TEXT, GIVEN)
    assert "#" not in anew
    assert 'model = "x"' in anew
    assert "[mcp_servers.installed]" in anew


def test_an_editor_ends_every_line_alike() -> None:
    assert _crlf("a = 1\r\nb = 2\n", GIVEN) == "a = 1\r\nb = 2\r\n"
    assert _appended("a = 1", GIVEN).startswith("a = 1\n\n[mcp_servers.theirs]")


def test_a_program_that_disturbs_marks_is_a_writer() -> None:
    assert set(NEEDS_MARKS) < set(WRITERS)


def test_the_plan_knows_every_writer() -> None:
    assert set(OURS_OF_THE_PLAN) == set(WRITERS)


def test_the_marks_are_those_that_are_written() -> None:
    other = Marker(begin="# BEGIN other", end="# END other")
    assert marker_of((other, *DECLARED.markers), BLOCK) == DECLARED.markers[0]
    assert marker_of(DECLARED.markers, b"a = 1\n") is None
    assert marker_of((Marker(begin="# BEGIN x", end=""),), BLOCK) is None
    assert marker_of(DECLARED.markers, None) is None
