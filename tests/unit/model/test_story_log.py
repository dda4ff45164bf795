"""A story as a journal keeps it: each run against what it found, bounded, and nobody's folders in it."""

import hashlib

import pytest

from pytest_codexsandbox.model.generator import CONFIG, CodexLaunch, FileState, GeneratorRun
from pytest_codexsandbox.model.story_log import SAID, SHOWN, anonymous, told_files, told_runs, without_paths
from tests.unit.generators.builders import WORLD, case_run, files, run, state


def test_each_run_is_logged_by_its_changes_against_the_files_before_it() -> None:
    first = run(None, files={**files(b"a"), "@HOME@/log": state(b"1")})
    second = run(None, files={"@HOME@/log": state(b"2")})
    told = told_runs(case_run(b"", b"", runs=(first, second)))
    assert [{path: (one.kind, one.text) for path, one in run.changed.items()} for run in told] == [
        {CONFIG: ("file", "a"), "@HOME@/log": ("file", "1")},
        {CONFIG: ("missing", ""), "@HOME@/log": ("file", "2")},
    ]
    same = case_run(b"x", b"x")
    assert [one.changed for one in told_runs(same)] == [{}, {}, {}]


def test_output_and_results_of_a_run_are_logged() -> None:
    given = GeneratorRun(
        ended="signal",
        code=137,
        seconds=1.5,
        stdout="o" * 9999,
        stderr="e" * 9999,
        error="wrong",
        refused=True,
        reason="so",
        argv=("-c", "a=b"),
        env={"A": "b"},
        unset=("B",),
        warnings=("hm",),
        survivors=("sleep",),
        launches=(CodexLaunch(argv=("exec",)),),
        strayed=("/x",),
    )
    (told,) = told_runs(case_run(None, None, runs=(given,)))
    assert (told.stdout, told.stderr) == ("o" * SAID, "e" * SAID)
    names = [name for name in told.__struct_fields__ if name not in ("stdout", "stderr", "changed", "listed", "more")]
    assert [getattr(told, name) for name in names] == [getattr(given, name) for name in names]


def test_a_file_is_logged_by_its_bytes_and_a_link_by_its_target() -> None:
    content = b"\xff" * (SHOWN + 9)
    told = told_files(
        {
            "@HOME@/x": state(content, links=2, mode=0o100600),
            "@HOME@/l": FileState(kind="symlink", target="/y"),
            "@HOME@/d": FileState(kind="dir"),
        }
    )
    assert list(told) == ["@HOME@/x", "@HOME@/l"]
    one = told["@HOME@/x"]
    assert (one.text, one.size, one.links, one.mode) == ("\xff" * SHOWN, SHOWN + 9, 2, 0o100600)
    assert one.sha256 == hashlib.sha256(content).hexdigest()
    assert (told["@HOME@/l"].sha256, told["@HOME@/l"].target) == ("", "/y")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("/stage/home/.codex/config.toml", "@CODEX_HOME@/config.toml"),
        ("in /stage/home/x and /stage/root0", "in @HOME@/x and @ROOT0@"),
        ({"/stage/home/a": ["/stage/outside", 1, None, True]}, {"@HOME@/a": ["@OUTSIDE@", 1, None, True]}),
        (("/stage/sibling",), ["@SIBLING@"]),
    ],
)
def test_private_folders_have_their_names_the_deepest_first(value: object, shown: object) -> None:
    assert without_paths(value, {**WORLD, "NOWHERE": ""}) == shown


def test_an_anonymous_value_keeps_its_type() -> None:
    told = anonymous(CodexLaunch(argv=("/stage/home/x",), cwd="/stage/workspace"), WORLD)
    assert told == CodexLaunch(argv=("@HOME@/x",), cwd="@WORKSPACE@")
