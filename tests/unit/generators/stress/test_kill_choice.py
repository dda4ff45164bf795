"""All calls on the configuration are taken; the rest is a sample, and the row says so."""

from pytest_codexsandbox.generators.stress.kill_choice import QUICK, SLOW, Bounds, Choice, becoming, choice
from pytest_codexsandbox.generators.stress.kill_points import points
from pytest_codexsandbox.generators.stress.strace_log import Syscall
from tests.unit.generators.stress.builders import CONFIG, HOME, TMP, call

TOPS = ("/stage",)
OTHER = [call("write", f"{HOME}/cache/{number}") for number in range(100)]


def chosen(calls: list[Syscall], bounds: Bounds = QUICK) -> Choice:
    return choice(points(calls, TOPS, frozenset({CONFIG})), calls, CONFIG, bounds)


def numbers(found: Choice) -> list[int]:
    return [one.number for one in found.own]


def test_each_call_on_the_configuration_is_taken_at_every_position() -> None:
    calls = [*OTHER[:3], call("creat", CONFIG), call("write", CONFIG), *OTHER[3:], call("fchmod", CONFIG)]
    found = chosen(calls)
    assert numbers(found) == [3, 4, 102]
    assert (found.own_calls, found.other_calls) == (3, 100)
    assert len(found.points) == QUICK.altogether


def test_the_file_that_becomes_the_configuration_counts_as_the_configuration() -> None:
    calls = [*OTHER[:50], call("creat", TMP), call("write", TMP), call("rename", TMP, CONFIG), *OTHER[50:]]
    assert numbers(chosen(calls)) == [50, 51, 52]


def test_the_file_in_a_folder_that_becomes_the_configuration_s_folder_counts_too() -> None:
    new = f"{HOME}.new"
    calls = [call("write", f"{new}/config.toml"), call("rename", HOME, f"{HOME}.old"), call("rename", new, HOME)]
    assert becoming(calls, CONFIG) == {CONFIG, f"{new}/config.toml"}
    assert numbers(chosen([*OTHER, *calls])) == [100, 101, 102]


def test_a_temporary_file_that_is_renamed_twice_counts() -> None:
    calls = [call("write", f"{TMP}.1"), call("rename", f"{TMP}.1", TMP), call("rename", TMP, CONFIG)]
    assert becoming(calls, CONFIG) == {CONFIG, TMP, f"{TMP}.1"}


def test_a_rename_that_failed_makes_nothing_the_configuration() -> None:
    assert becoming([call("rename", TMP, CONFIG, worked=False)], CONFIG) == {CONFIG}


def test_a_file_that_was_the_configuration_and_is_written_afterwards_is_another_one() -> None:
    """A backup by rename changes the configuration once; what happens to the backup does not."""
    backup = f"{CONFIG}.bak"
    calls = [call("rename", CONFIG, backup), call("fchmod", backup), call("creat", CONFIG)]
    assert numbers(chosen(calls)) == [0, 2]


def test_few_calls_are_all_taken() -> None:
    found = chosen([call("creat", CONFIG), *OTHER[:15]])
    assert (len(found.own), len(found.others)) == (1, 15)


def test_many_calls_on_the_configuration_leave_a_sample_of_the_others() -> None:
    found = chosen([*OTHER, *[call("write", CONFIG)] * 40])
    assert (len(found.own), len(found.others)) == (40, QUICK.others)


def test_beyond_the_bound_the_file_itself_comes_before_the_temporary_one() -> None:
    calls = [*[call("write", TMP)] * 200, call("rename", TMP, CONFIG), call("fchmod", CONFIG)]
    found = chosen(calls, SLOW)
    assert len(found.own) == SLOW.configuration
    assert numbers(found)[-2:] == [200, 201]


def test_the_call_after_the_last_one_on_the_configuration_is_always_taken() -> None:
    """A lock that is removed there is in the way of the next run."""
    calls = [*OTHER[:50], call("rename", TMP, CONFIG), call("unlink", f"{HOME}/lock"), *OTHER[50:]]
    assert 51 in [one.number for one in chosen(calls).others]


def test_a_state_that_no_kill_shows_is_counted() -> None:
    """The second process comes to the same calls by the same counts as the first one."""
    calls = [call("write", CONFIG, pid=1), call("write", CONFIG, pid=2), call("write", CONFIG, pid=1)]
    found = chosen(calls)
    assert numbers(found) == [0, 2]
    assert (found.unreachable, found.unseen) == (1, 1)


def test_another_call_between_the_two_shows_that_state() -> None:
    between = call("unlink", f"{HOME}/x", pid=3)
    calls = [call("write", CONFIG, pid=1), *OTHER[:40], between, call("write", CONFIG, pid=2)]
    found = chosen([*calls, *OTHER[40:]])
    assert 41 in [one.number for one in found.others]
    assert found.unseen == 0


def test_the_first_call_on_the_configuration_needs_no_kill_of_its_own() -> None:
    """Before it the file is the old one, whatever is killed."""
    found = chosen([call("rename", f"{HOME}/b", f"{HOME}/a", pid=1), call("rename", TMP, CONFIG, pid=2)])
    assert (found.own, found.unreachable, found.unseen) == ((), 1, 0)
