"""Half a file is seen by either witness; a witness that saw nothing proves nothing."""

from collections.abc import Sequence

import pytest

from pytest_codexsandbox.generators.stress.atomic_replace import Round, in_place, judged
from pytest_codexsandbox.generators.stress.file_watch import FileSample, FileSamples
from pytest_codexsandbox.generators.stress.setup import StressRun
from pytest_codexsandbox.generators.stress.strace_log import Syscall
from pytest_codexsandbox.model.generator import Finding, GeneratorRun
from tests.unit.generators.stress.builders import CONFIG, HOME, TMP, call, opened, renamed, trace, written

OLD, NEW = b"a = 1\n", b"a = 1\nb = 2\n"
GOOD = trace(opened(TMP, "O_WRONLY|O_CREAT|O_EXCL"), written(TMP), renamed(TMP, CONFIG)).calls
TORN = trace(opened(CONFIG, "O_WRONLY|O_CREAT|O_TRUNC"), written(CONFIG)).calls


def seen(*states: bytes | None) -> FileSamples:
    sights = tuple(
        FileSample(kind="missing") if one is None else FileSample(kind="file", content=one) for one in states
    )
    return FileSamples(looks=100, seen=sights)


def play(content: bytes | None) -> StressRun:
    return StressRun(outcome=GeneratorRun(ended="exit"), config=content)


def round_of(
    looks: FileSamples, calls: Sequence[Syscall] = (), *, traced: bool = True, before: bytes | None = OLD
) -> Round:
    return Round(before=before, play=play(NEW), looks=looks, calls=tuple(calls), traced=traced)


CAUGHT = round_of(seen(OLD, b"", NEW), TORN)


def verdict(found: tuple[Finding, ...]) -> tuple[bool, bool, set[str]]:
    """Whether all holds, whether every control does, and why not."""
    return all(one.held for one in found), all(one.control_held for one in found), {one.reason for one in found}


def test_a_whole_file_at_every_moment_holds() -> None:
    assert verdict(judged([round_of(seen(OLD, NEW), GOOD)], [CAUGHT], CONFIG)) == (True, True, {""})


def test_strace_sees_states_that_the_watcher_missed() -> None:
    held, control, why = verdict(judged([round_of(seen(OLD, NEW), TORN)], [CAUGHT], CONFIG))
    assert (held, control, why) == (False, True, {"emptied-first", "written-in-place"})


@pytest.mark.parametrize(("half", "why"), [(b"", "emptied-first"), (b"a = ", "half-a-file"), (None, "taken-away")])
def test_the_reader_sees_it_where_there_is_no_strace(half: bytes | None, why: str) -> None:
    torn = round_of(seen(OLD, b"", NEW), traced=False)
    found = judged([round_of(seen(OLD, half, NEW), traced=False)], [torn], CONFIG)
    assert verdict(found) == (False, True, {why})


def test_a_reader_that_never_read_holds_nothing() -> None:
    blind = round_of(FileSamples(), GOOD)
    assert verdict(judged([blind], [CAUGHT], CONFIG))[1] is False
    assert verdict(judged([round_of(seen(OLD, NEW), GOOD)], [round_of(FileSamples(), TORN)], CONFIG))[1] is False


def test_a_reader_that_does_not_see_the_other_writer_holds_nothing() -> None:
    missed = round_of(seen(OLD, NEW), TORN)
    assert verdict(judged([round_of(seen(OLD, NEW), GOOD)], [missed], CONFIG))[1] is False


def test_a_strace_that_saw_nothing_holds_nothing() -> None:
    assert verdict(judged([round_of(seen(OLD, NEW), ())], [CAUGHT], CONFIG))[1] is False
    silent = round_of(seen(OLD, b"", NEW), ())
    assert verdict(judged([round_of(seen(OLD, NEW), GOOD)], [silent], CONFIG))[1] is False


# ---- what calls say
def why(*calls: Syscall, there: bool = True) -> list[str]:
    return [fault.reason for fault in in_place(calls, CONFIG, there=there)]


def test_a_file_that_is_removed_first_is_missed_by_a_reader() -> None:
    assert why(call("unlink", CONFIG), call("rename", TMP, CONFIG)) == ["taken-away"]
    assert why(call("rename", CONFIG, f"{CONFIG}.bak"), call("rename", TMP, CONFIG)) == ["taken-away"]
    assert why(call("rename", HOME, "/elsewhere")) == ["taken-away"]


def test_an_exchange_takes_nothing_away() -> None:
    assert why(call("renameat2", TMP, CONFIG, args="RENAME_EXCHANGE")) == []


def test_a_new_file_that_is_made_in_place_is_empty_for_a_moment() -> None:
    made = call("openat", CONFIG, args="O_WRONLY|O_CREAT|O_EXCL")
    assert why(made, call("write", CONFIG), there=False) == ["made-empty", "written-in-place"]


def test_a_truncating_call_on_no_file_makes_an_empty_one() -> None:
    assert why(call("creat", CONFIG), there=False) == ["made-empty"]


def test_only_the_file_itself_counts() -> None:
    assert why(call("openat", TMP, args="O_TRUNC"), call("write", TMP), call("unlink", f"{CONFIG}.lock")) == []


def test_a_file_that_is_opened_to_be_locked_is_not_written() -> None:
    assert why(call("openat", CONFIG, args="O_RDWR|O_CREAT")) == []


@pytest.mark.parametrize("name", ["pwrite64", "ftruncate", "truncate", "fallocate"])
def test_every_way_to_write_counts(name: str) -> None:
    assert why(call(name, CONFIG)) == ["written-in-place"]
