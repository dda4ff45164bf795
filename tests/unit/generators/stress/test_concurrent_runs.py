"""Two at once: what may be left is what one after the other leaves."""

from typing import Any

from pytest_codexsandbox.generators.stress.concurrent_runs import Alone, ConcurrentPair, judged, overlap
from pytest_codexsandbox.generators.stress.setup import StressRun
from pytest_codexsandbox.model.generator import Declaration, FileState, GeneratorRun
from tests.unit.generators.builders import case_run, files
from tests.unit.generators.stress.builders import CONFIG as PATH
from tests.unit.generators.stress.builders import HOME, call

USER = b'model = "x"\n# mine\nname = "y"\n'
ONE, OTHER = USER + b"one = true\n", USER + b"other = [1, 2]\n"
BOTH = USER + b"one = true\nother = [1, 2]\n"
DECLARED = Declaration(owns=("one", "other"))
LAST_WINS = Alone(case_run=case_run(USER, ONE), one=ONE, other=OTHER, in_turn=(OTHER, ONE))
ADDS = Alone(case_run=case_run(USER, ONE), one=ONE, other=OTHER, in_turn=(BOTH, USER + b"other = [1, 2]\none = true\n"))


def pair(content: bytes | None, *, code: int = 0, overlap: bool | None = None, **more: Any) -> ConcurrentPair:
    outcome = GeneratorRun(ended="exit", files=more.pop("files", files(content)))
    second = GeneratorRun(ended="exit", code=code, stderr="locked" if code else "", files=outcome.files)
    return ConcurrentPair(
        one=StressRun(outcome=outcome, config=content), other=StressRun(outcome=second, config=content), overlap=overlap
    )


def reasons(*pairs: ConcurrentPair, alone: Alone = LAST_WINS) -> set[str]:
    found = judged(pairs, alone, DECLARED)
    assert all(one.control_held for one in found), [one.control for one in found]
    return {one.reason for one in found if not one.held}


def test_either_result_holds_where_the_last_one_wins() -> None:
    assert reasons(pair(ONE), pair(OTHER)) == set()


def test_both_hold_where_both_can_be_there() -> None:
    assert reasons(pair(BOTH), alone=ADDS) == set()


def test_one_of_two_that_both_reported_success_is_a_lost_update() -> None:
    assert reasons(pair(ONE), alone=ADDS) == {"lost-update"}


def test_one_of_two_is_right_where_the_other_says_that_it_declined() -> None:
    assert reasons(pair(ONE, code=1), alone=ADDS) == set()


def test_both_may_not_decline() -> None:
    one = GeneratorRun(ended="exit", code=1, stderr="locked", files=files(USER))
    play = StressRun(outcome=one, config=USER)
    assert "both-declined" in reasons(ConcurrentPair(one=play, other=play), alone=ADDS)


def test_a_mixture_is_reported() -> None:
    assert reasons(pair(OTHER + b"\n = true\n")) == {"half-a-file"}


def test_a_missing_file_is_reported() -> None:
    assert reasons(pair(None)) == {"file-lost"}


def test_a_lost_key_of_the_user_is_found() -> None:
    assert "key-lost" in reasons(pair(b'model = "x"\none = true\n'))


def test_a_leftover_file_is_reported() -> None:
    left = {**files(ONE), "@CODEX_HOME@/.config.toml.tmp": FileState(kind="file")}
    assert reasons(pair(ONE, files=left)) == {"left-behind"}


def test_a_run_that_does_not_end_is_reported() -> None:
    hung = GeneratorRun(ended="timeout", files=files(ONE))
    assert "does-not-end" in reasons(ConcurrentPair(one=StressRun(outcome=hung, config=ONE), other=pair(ONE).other))


def test_two_that_were_never_at_work_at_once_prove_nothing() -> None:
    apart = judged([pair(ONE, overlap=False), pair(OTHER, overlap=False)], LAST_WINS, DECLARED)
    assert not any(one.control_held for one in apart)
    assert all(one.control_held for one in judged([pair(ONE, overlap=True)], LAST_WINS, DECLARED))


def test_no_round_proves_nothing() -> None:
    assert not any(one.control_held for one in judged([], LAST_WINS, DECLARED))


def test_two_overlap_where_each_begins_before_the_other_is_done() -> None:
    early = [call("openat", PATH, at=1.0), call("rename", PATH, at=3.0)]
    late = [call("openat", PATH, at=2.0), call("rename", PATH, at=4.0)]
    after = [call("openat", PATH, at=5.0)]
    assert overlap(early, late, (HOME,))
    assert overlap(late, early, (HOME,))
    assert not overlap(early, after, (HOME,))
    assert not overlap(early, [call("openat", "/elsewhere", at=2.0)], (HOME,))
    assert not overlap([], late, (HOME,))
