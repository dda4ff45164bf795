"""Several whole files in a row are no torn file. A key that is missing between two of them is reported."""

import msgspec
import pytest

from pytest_codexsandbox.generators.stress.atomic_replace import Round, judged
from pytest_codexsandbox.generators.stress.crash_check import Kill, NotKilled
from pytest_codexsandbox.generators.stress.crash_check import judged as judged_kills
from pytest_codexsandbox.generators.stress.file_watch import FileSample, FileSamples
from pytest_codexsandbox.generators.stress.intermediate_files import are_whole, is_between
from pytest_codexsandbox.generators.stress.kill_choice import Choice
from pytest_codexsandbox.generators.stress.kill_points import KillPoint
from pytest_codexsandbox.generators.stress.setup import StressRun
from pytest_codexsandbox.model.generator import GeneratorRun
from tests.unit.generators.stress.builders import CONFIG, TMP, call, opened, renamed, trace, written

OLD = b'model = "m"\nmode = "a"\n'
STEP = b'model = "m"\nmode = "b"\n'
NEW = b'model = "m"\nmode = "b"\nmore = 1\n'
LOST = b'model = "m"\nmore = 1\n'
ONE = (opened(TMP, "O_WRONLY|O_CREAT|O_TRUNC"), written(TMP), renamed(TMP, CONFIG))
TORN = trace(opened(CONFIG, "O_WRONLY|O_CREAT|O_TRUNC"), written(CONFIG)).calls


@pytest.mark.parametrize(
    ("content", "between"),
    [
        (STEP, True),
        (b'model = "m"\nmode = "a"\nmore = 1\n', True),
        (b"# comments do not count\n" + STEP, True),
        (LOST, False),
        (b'model = "m"\nmode = "c"\n', False),
        (STEP + b"other = 1\n", False),
        (b'model = "m"\nmode = "b', False),
        (b"", False),
        (None, False),
    ],
)
def test_each_key_has_its_value_of_before_or_of_afterwards(content: bytes | None, between: bool) -> None:
    assert is_between(content, OLD, NEW) is between


def test_files_that_are_renamed_over_the_configuration_several_times_are_whole_steps() -> None:
    assert are_whole(trace(*ONE, *ONE).calls, CONFIG)
    assert not are_whole(trace(*ONE).calls, CONFIG), "one step leaves nothing between"
    assert not are_whole((*trace(*ONE, *ONE).calls, *TORN), CONFIG)
    assert not are_whole((*trace(*ONE, *ONE).calls, call("write", CONFIG)), CONFIG)


# ---- a reader
def round_of(*sights: tuple[bytes, int]) -> Round:
    seen = tuple(FileSample(kind="file", content=content, file=file) for content, file in sights)
    return Round(
        before=OLD,
        play=StressRun(outcome=GeneratorRun(ended="exit"), config=NEW),
        looks=FileSamples(looks=9, seen=seen),
    )


CAUGHT = round_of((OLD, 1), (b"", 1), (NEW, 1))


def reasons(*sights: tuple[bytes, int]) -> set[str]:
    found = judged([round_of(*sights)], [CAUGHT], CONFIG)
    assert all(one.control_held for one in found)
    return {one.reason for one in found if not one.held}


def test_a_file_of_its_own_between_two_others_is_a_step() -> None:
    assert reasons((OLD, 1), (STEP, 2), (NEW, 3)) == set()
    (one,) = judged([round_of((OLD, 1), (STEP, 2), (NEW, 3))], [CAUGHT], CONFIG)
    assert "; 1 times" in one.saw


def test_a_step_without_keys_of_before_and_afterwards_is_reported_as_empty() -> None:
    assert reasons((OLD, 1), (LOST, 2), (NEW, 3)) == {"half-done"}


@pytest.mark.parametrize(
    "sights",
    [
        ((OLD, 1), (STEP, 1), (NEW, 1)),  # written in place
        ((OLD, 1), (STEP, 2), (NEW, 2)),  # put there before it was finished
        ((OLD, 1), (STEP, 2), (STEP[:11], 2), (NEW, 3)),  # one file in two states
        ((OLD, 0), (STEP, 0), (NEW, 0)),  # files that could not be told apart
        ((OLD, 1), (b'model = "', 2), (NEW, 3)),  # a step that does not load
    ],
)
def test_anything_else_is_half_a_file(sights: tuple[tuple[bytes, int], ...]) -> None:
    assert "half-a-file" in reasons(*sights)


# ---- a kill
POINT = KillPoint(target=call("rename", TMP, CONFIG), number=0, name="rename", count=1)
CHOICE = Choice(own=(POINT,), others=(), own_calls=1, other_calls=0, unreachable=0, unseen=0)
AGAIN = StressRun(outcome=GeneratorRun(ended="exit"), config=NEW)
STEPS = NotKilled(old=OLD, new=NEW, steps=True)


@pytest.mark.parametrize(
    ("known", "left", "why"),
    [
        (STEPS, STEP, set()),
        (STEPS, LOST, {"half-done"}),
        (STEPS, b'model = "', {"half-a-file"}),
        (msgspec.structs.replace(STEPS, steps=False), STEP, {"half-a-file"}),
    ],
)
def test_a_kill_between_two_steps_leaves_a_whole_file(known: NotKilled, left: bytes, why: set[str]) -> None:
    found = judged_kills(known, [Kill(point=POINT, struck=True, left=left, again=AGAIN)], CHOICE)
    assert all(one.control_held for one in found)
    assert {one.reason for one in found if not one.held} == why
