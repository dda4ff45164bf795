"""A clock that jumps neither ends a command early nor keeps one for ever."""

import re

import pytest

from tests.lint.tracked import files

# When something happened may be told by the wall's clock; how long it may take is measured by one that only goes on.
LIMIT = re.compile(r"(limit|deadline)\w*\s*=\s*.*time\.time\(\)|time\.time\(\)\s*[-+<>]")
ALLOWED = {
    "pytest_codexsandbox/commands/sweep.py",
    "pytest_codexsandbox/environments/container/portable_python.py",
    "pytest_codexsandbox/environments/container/ssh_tunnel.py",
    "pytest_codexsandbox/journal/run_folders.py",
}


def sources() -> list[tuple[str, str]]:
    found = [path for path in files() if path.suffix == ".py" and "pytest_codexsandbox" in path.parts]
    return [
        (path.as_posix().rpartition("/pytest_codexsandbox/")[2], path.read_text(encoding="utf-8")) for path in found
    ]


def test_no_limit_is_measured_by_the_walls_clock() -> None:
    """But for the age of files, whose times are the wall's."""
    there = {f"pytest_codexsandbox/{name}" for name, text in sources() if LIMIT.search(text)}
    assert there - ALLOWED == set()


def test_nothing_that_runs_in_an_environment_knows_the_time_of_day() -> None:
    guests = [(name, text) for name, text in sources() if name.startswith("guest/")]
    assert guests
    assert [name for name, text in guests if "time.time()" in text] == []


@pytest.mark.parametrize("line", ["limit = time.time() + 5", "if time.time() > limit:", "deadline = 5 + time.time()"])
def test_the_pattern_finds_what_it_looks_for(line: str) -> None:
    assert LIMIT.search(line)
