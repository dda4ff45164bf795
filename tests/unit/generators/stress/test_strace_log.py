"""What strace wrote is read as it was meant, and a generator is killed where strace can find the place again."""

import pytest

from pytest_codexsandbox.generators.stress.kill_points import KillPoint, points, spread, stable_paths
from pytest_codexsandbox.generators.stress.strace_log import Syscall, Trace, below, read
from tests.unit.generators.stress.builders import CONFIG, HOME, TMP, call, h, line, opened, renamed, trace, written

TOPS = (HOME,)
CREATE = "O_WRONLY|O_CREAT|O_EXCL"


def test_a_call_has_its_paths_and_says_what_it_changes() -> None:
    found = trace(opened(TMP, CREATE), written(TMP), renamed(TMP, CONFIG), opened(CONFIG, "O_RDONLY"))
    made, wrote, moved, looked = found.calls
    assert made.changed == (TMP,)
    assert made.makes
    assert not made.empties
    assert wrote.writes == (TMP,)
    assert (moved.takes_away, moved.puts) == (TMP, CONFIG)
    assert looked.changed == ()
    assert [one.name for one in below(found.calls, TOPS)] == ["openat", "write", "rename"]


def test_a_call_in_two_halves_is_one_call() -> None:
    begun = f'openat(AT_FDCWD<{h("/w")}>, "{h(CONFIG)}", O_WRONLY|O_TRUNC <unfinished ...>'
    found = read(
        [
            line(begun, 6),
            line(written(TMP), 7),
            line(f"<... openat resumed>) = 3<{h(CONFIG)}>", 6),
        ]
    )
    assert [(one.pid, one.name, one.done) for one in found.calls] == [(6, "openat", True), (7, "write", True)]
    assert found.calls[0].empties


def test_a_killed_process_was_in_a_call_that_never_came_back() -> None:
    found = read([line(f'write(3<{h(CONFIG)}>, ""..., 12) = ?'), line("+++ killed by SIGKILL +++")])
    assert found.killed == (6,)
    assert (found.calls[0].done, found.calls[0].worked) == (False, False)


@pytest.mark.parametrize("gone", ["+++ exited with 0 +++", "--- SIGCHLD {si_signo=SIGCHLD} ---", "nonsense"])
def test_other_lines_say_nothing(gone: str) -> None:
    assert read([line(gone), gone]) == Trace()


def test_a_call_that_failed_changes_nothing() -> None:
    failed = f'unlink("{h(CONFIG)}") = -1 ENOENT (No such file or directory)'
    assert below(trace(failed).calls, TOPS) == ()


def test_a_relative_path_starts_where_its_process_is() -> None:
    found = trace(opened("/lib/x", "O_RDONLY", cwd="/stage/workspace"), f'chdir("{h(HOME)}") = 0', renamed("a", "b"))
    assert found.calls[-1].paths == (f"{HOME}/a", f"{HOME}/b")
    assert found.calls[-1].words == ("a", "b")


def test_a_file_opened_below_a_folder_has_its_whole_path() -> None:
    found = trace(f'unlinkat(5<{h(HOME)}>, "{h("config.toml")}", 0) = 0')
    assert found.calls[0].takes_away == CONFIG


def test_a_pipe_is_no_file_and_keeps_its_place() -> None:
    found = trace(
        f"sendfile(1<pipe:[77]>, 3<{h(CONFIG)}>, NULL, 9) = 9",
        f"copy_file_range(3<{h('/a')}>, NULL, 4<{h(CONFIG)}>, NULL, 9, 0) = 9",
    )
    assert found.calls[0].changed == ("pipe:[77]",)
    assert found.calls[1].changed == (CONFIG,)


def test_memory_that_is_shared_and_writable_changes_its_file() -> None:
    shared = f"mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3<{h(CONFIG)}>, 0) = 0x7f"
    private = f"mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE, 3<{h(CONFIG)}>, 0) = 0x7f"
    assert [one.writes for one in trace(shared, private).calls] == [(CONFIG,), ()]


# ---- where to kill
def asked(calls: list[Syscall], stable: frozenset[str] = frozenset()) -> list[tuple[str, int, str]]:
    return [(one.name, one.count, one.path) for one in points(calls, TOPS, stable)]


def test_each_change_is_named_by_its_count_in_its_process() -> None:
    calls = [call("write", "/dev/null"), call("write", TMP), call("write", TMP), call("rename", TMP, CONFIG)]
    assert asked(calls) == [("write", 2, ""), ("write", 3, ""), ("rename", 1, "")]


def test_a_path_that_is_the_same_each_time_makes_the_count_its_own() -> None:
    calls = [call("write", "/dev/null"), call("write", TMP), call("rename", TMP, CONFIG)]
    assert asked(calls, frozenset({TMP})) == [("write", 1, TMP), ("rename", 1, TMP)]


def test_a_call_that_another_process_reaches_first_is_identified_by_its_predecessor() -> None:
    calls = [call("write", TMP, pid=1), call("fadvise64", "/etc/x", pid=2), call("write", TMP, pid=2)]
    assert asked(calls) == [("write", 1, ""), ("fadvise64", 1, "")]


def test_a_count_that_another_process_reaches_later_is_taken_only_if_there_is_no_other() -> None:
    """strace would kill that one as well, and what a parent makes of the death of its child would never be seen."""
    calls = [call("sigaltstack", pid=2), call("write", TMP, pid=2), call("write", TMP, pid=1)]
    assert asked(calls)[0] == ("sigaltstack", 1, "")
    assert asked(calls[1:])[0] == ("write", 1, "")


def test_an_ambiguous_call_is_reported() -> None:
    calls = [call("write", TMP, pid=1), call("write", TMP, pid=2)]
    found = points(calls, TOPS, frozenset())
    assert [one.reachable for one in found] == [True, False]


def test_a_call_before_the_last_change_is_not_taken_for_the_next_one() -> None:
    calls = [call("fadvise64", "/x", pid=2), call("write", TMP, pid=1), call("write", TMP, pid=2)]
    assert [one.reachable for one in points(calls, TOPS, frozenset())] == [True, False]


def test_a_kill_has_struck_only_where_it_was_meant() -> None:
    point = KillPoint(target=call("write", TMP), number=0, name="write", count=1, path=TMP)
    there, elsewhere = call("write", TMP, done=False), call("write", "/other", done=False)
    assert point.struck(Trace(calls=(there,), killed=(1,)))
    assert not point.struck(Trace(calls=(elsewhere,), killed=(1,)))
    assert not point.struck(Trace(calls=(there,), killed=()))
    assert not point.struck(Trace(calls=(call("write", TMP),), killed=(1,)))


def test_some_of_many_hold_the_first_and_the_last() -> None:
    many = [KillPoint(target=call("write", TMP), number=number) for number in range(100)]
    some = spread(many, 5)
    assert [one.number for one in some] == [0, 25, 50, 74, 99]
    assert spread(many[:3], 5) == tuple(many[:3])


def test_paths_that_differ_from_run_to_run_are_nothing_to_go_by() -> None:
    one, other = (
        [call("write", TMP), call("write", "relative")],
        [call("write", TMP + "2"), call("write", TMP), call("write", "relative")],
    )
    assert stable_paths(one, other) == frozenset({TMP})
