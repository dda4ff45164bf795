"""A kill that left half a file is told, and a kill that was not seen proves nothing."""

import msgspec
import pytest

from pytest_codexsandbox.generators.confinement import UNCONFINED
from pytest_codexsandbox.generators.stress import STRESS_CHECKS, StressContext
from pytest_codexsandbox.generators.stress.crash_check import Kill, NotKilled, judged, part_of
from pytest_codexsandbox.generators.stress.kill_choice import Choice
from pytest_codexsandbox.generators.stress.kill_points import KillPoint
from pytest_codexsandbox.generators.stress.setup import StressRun
from pytest_codexsandbox.generators.stress.strace import Tracer
from pytest_codexsandbox.model.generator import Case, Declaration, GeneratorRun, Intent
from pytest_codexsandbox.model.generator_spec import Generator, Spec
from tests.unit.generators.stress.builders import TMP, call

OLD, NEW = b"a = 1\n", b"# long enough to be cut in the middle\na = 1\nb = 2\n"
KNOWN = NotKilled(old=OLD, new=NEW)
POINT = KillPoint(target=call("write", TMP), number=0, name="write", count=1)
AGAIN = StressRun(outcome=GeneratorRun(ended="exit"), config=NEW)


def strike(left: bytes | None, *, struck: bool = True, again: StressRun = AGAIN) -> Kill:
    return Kill(point=POINT, struck=struck, left=left, again=again)


def chosen(own: int = 1, *, own_calls: int = 1, others: int = 0, other_calls: int = 0, unseen: int = 0) -> Choice:
    return Choice(
        own=(POINT,) * own,
        others=(POINT,) * others,
        own_calls=own_calls,
        other_calls=other_calls,
        unreachable=own_calls + other_calls - own - others,
        unseen=unseen,
    )


def reasons(*strikes: Kill, known: NotKilled = KNOWN) -> set[str]:
    found = judged(known, strikes, chosen())
    assert all(one.control_held for one in found)
    return {one.reason for one in found if not one.held}


def test_the_old_file_and_the_new_one_hold() -> None:
    assert reasons(strike(OLD), strike(NEW)) == set()


@pytest.mark.parametrize(("left", "why"), [(b"", "emptied-first"), (NEW[:20], "half-a-file"), (None, "file-lost")])
def test_anything_else_does_not(left: bytes | None, why: str) -> None:
    assert reasons(strike(OLD), strike(left)) == {why}


def test_a_run_that_blocks_the_next_one_is_reported() -> None:
    declined = StressRun(outcome=GeneratorRun(ended="exit", code=1, stderr="locked"), config=OLD)
    assert reasons(strike(OLD, again=declined)) == {"does-not-recover"}
    other = StressRun(outcome=GeneratorRun(ended="exit"), config=OLD)
    assert reasons(strike(OLD, again=other)) == {"does-not-recover"}


def test_a_file_with_the_same_values_is_the_new_one_where_bytes_differ_each_time() -> None:
    other = b"# another time\na = 1\nb = 2\n"
    assert reasons(strike(other)) == {"half-a-file"}
    assert reasons(strike(other), known=msgspec.structs.replace(KNOWN, same_bytes=False)) == set()


def test_a_kill_that_was_not_seen_proves_nothing() -> None:
    found = judged(KNOWN, [strike(OLD), strike(OLD, struck=False)], chosen())
    assert not any(one.control_held for one in found)


def test_no_kill_at_all_proves_nothing() -> None:
    assert not any(one.control_held for one in judged(KNOWN, [], chosen(0, own_calls=0)))


def test_an_unidentified_call_is_reported() -> None:
    (one,) = judged(KNOWN, [strike(OLD)], chosen(1, own_calls=2))
    assert "1 of 2 calls" in one.saw
    assert "; 1 could not" in one.saw


def test_the_row_says_how_many_of_how_many_calls_were_tried() -> None:
    (one,) = judged(KNOWN, [strike(OLD)], chosen(4, own_calls=4, others=12, other_calls=100))
    assert "all 4 calls" in one.saw
    assert "12 of 100 calls" in one.saw


def test_a_state_of_the_file_that_no_kill_showed_is_not_known_to_be_whole() -> None:
    (one,) = judged(KNOWN, [strike(OLD)], chosen(1, own_calls=2, unseen=1))
    assert (one.held, one.control_held) == (True, False)
    assert "(1 times" in one.control


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a = 1\n", b"a = 1\nb = 2\n"),  # the old file is the first half of the new one
        (b"", b"a"),
        (None, b"a"),
        (b"a = 1\n", b""),
        (b"a = 1\n", None),
    ],
)
def test_the_torn_file_of_the_control_is_neither_the_old_one_nor_the_new_one(
    old: bytes | None, new: bytes | None
) -> None:
    known = NotKilled(old=old, new=new)
    again = StressRun(outcome=GeneratorRun(ended="exit"), config=new)
    assert part_of(known) not in (old, new)
    assert all(one.control_held for one in judged(known, [strike(old, again=again)], chosen()))


# ---- what is not asked
def context(generator: Generator, case: Case = Case(id="own", why="", config=OLD)) -> StressContext:  # noqa: B008
    return StressContext(
        generator=generator,
        case=case,
        intent=Intent(),
        other=Intent(network=True),
        version="",
        folder=None,  # type: ignore[arg-type]
        confinement=UNCONFINED,
        tracer=Tracer(why="needs strace (apt install strace)"),
        beside="loses-end",
    )


PLAIN = Generator(name="g", spec=Spec(scheme="cmd", text="true", words=("true",)), declaration=Declaration())


def test_without_strace_nothing_is_killed_and_nothing_holds() -> None:
    (one,) = STRESS_CHECKS["killed"](context(PLAIN))
    assert "apt install strace" in one.skipped
    assert (one.held, one.control_held) == (False, False)


@pytest.mark.parametrize("kind", STRESS_CHECKS)
def test_a_chain_is_not_stressed(kind: str) -> None:
    chain = Generator(name="c", spec=Spec(scheme="chain", text="g,g", parts=(PLAIN, PLAIN)))
    (one,) = STRESS_CHECKS[kind](context(chain))
    assert "a chain" in one.skipped
    assert not one.held


@pytest.mark.parametrize("kind", STRESS_CHECKS)
def test_a_link_is_not_stressed(kind: str) -> None:
    (one,) = STRESS_CHECKS[kind](context(PLAIN, Case(id="link", why="", config=OLD, link="symlink")))
    assert "a link" in one.skipped
    assert not one.held


def test_the_new_file_that_no_codex_can_read_is_not_right_because_it_is_the_new_one() -> None:
    torn = b"[[torn\n"
    again = StressRun(outcome=GeneratorRun(ended="exit"), config=torn)
    known = NotKilled(old=OLD, new=torn)
    (found,) = judged(known, [strike(torn, again=again)], chosen())
    assert (found.held, found.reason) == (False, "does-not-parse")
    both = NotKilled(old=torn, new=torn + b"a = 1\n")
    same = StressRun(outcome=GeneratorRun(ended="exit"), config=both.new)
    (found,) = judged(both, [strike(torn, again=same)], chosen())
    assert found.held, "it was the user's own, and broken before"


def test_a_next_run_that_leaves_the_right_file_and_says_that_it_failed_has_not_recovered() -> None:
    failed = StressRun(outcome=GeneratorRun(ended="exit", code=1, stderr="locked"), config=NEW)
    assert reasons(strike(OLD, again=failed)) == {"does-not-recover"}
