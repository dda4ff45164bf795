"""What becomes of several calls: a chain's, and the first one of all, in which a module is imported."""

from typing import Any

import pytest

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.generators.case_run import _joined, _with_import, written
from pytest_codexsandbox.generators.managed_block import ManagedBlock, block, content
from pytest_codexsandbox.model.generator import (
    CONFIG,
    CodexLaunch,
    Declaration,
    FileState,
    GeneratedFile,
    GeneratorRun,
    Marker,
)
from pytest_codexsandbox.model.generator_spec import Generator, Spec
from tests.unit.generators.builders import BLOCK, files, run, state


def one(**words: Any) -> GeneratorRun:
    return run(b"", **words)


def test_a_chain_says_what_all_of_its_parts_said_and_ends_as_the_last() -> None:
    launch = CodexLaunch(argv=("exec",))
    first = one(
        seconds=1.0,
        argv=("-c", "a=1"),
        env={"A": "1"},
        unset=("B",),
        strayed=("/x",),
        survivors=("s",),
        error="its result is no JSON",
        warnings=("hm",),
        launches=(launch,),
    )
    last = one(
        seconds=2.0,
        argv=("-c", "b=2"),
        env={"A": "2"},
        unset=("B", "C"),
        strayed=("/x", "/y"),
        code=3,
        refused=True,
        reason="so",
    )
    told = _joined((first, last))
    assert (told.seconds, told.argv, told.env, told.unset) == (3.0, ("-c", "a=1", "-c", "b=2"), {"A": "2"}, ("B", "C"))
    assert (told.strayed, told.survivors, told.warnings, told.launches) == (("/x", "/y"), ("s",), ("hm",), (launch,))
    assert (told.code, told.refused, told.reason) == (3, True, "so")
    assert told.error == first.error, "a part that was wrong makes the chain wrong"
    assert _joined((first, one(error="cut"))).error == f"{first.error}; cut"


def test_effects_of_an_import_count_for_the_first_run() -> None:
    told = _with_import(one(strayed=("/y",)), one(strayed=("/x", "/y"), survivors=("sleep",)))
    assert (told.strayed, told.survivors) == (("/x", "/y"), ("sleep",))
    assert _with_import(one(survivors=("own",)), one(survivors=("sleep",))).survivors == ("own",)


@pytest.mark.parametrize("words", [{"ended": "timeout"}, {"ended": "signal", "code": 9}, {"error": "no JSON"}])
def test_the_result_of_a_failed_run_is_copied_into_no_world(words: dict[str, Any]) -> None:
    with pytest.raises(HarnessError, match=r"^x "):
        written(files(b""), one(**words), "x")


def test_only_the_configuration_and_changed_files_are_copied() -> None:
    before = {**files(b"a"), "@HOME@/same": state(b"s"), "@HOME@/other": state(b"o")}
    after = {**before, "@HOME@/other": state(b"n", mode=0o100600), "@HOME@/link": FileState(kind="symlink", target="x")}
    told = written(before, run(b"", files=after, argv=("-c",), env={"A": "b"}, unset=("B",)), "x")
    assert told.files == {
        CONFIG: GeneratedFile(content=b"a", mode=0o100644),
        "@HOME@/other": GeneratedFile(content=b"n", mode=0o100600),
    }
    assert (told.argv, told.env, told.unset) == (("-c",), {"A": "b"}, ("B",))


# ---- what it writes into an empty file
def of(text: bytes | None, *declared: Marker, **words: Any) -> ManagedBlock:
    generator = Generator(name="g", spec=Spec(scheme="cmd", text="g"), declaration=Declaration(markers=declared))
    return block(run(text, **words), generator)


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        (BLOCK, Marker(begin="# BEGIN x", end="# END x")),
        (b"\r\n  # a\r\nk = 1\r\n  # b\r\n\n", Marker(begin="  # a", end="  # b")),
        (b"# a\n# b\n", Marker(begin="# a", end="# b")),
        (b"# a\nk = 1\n# a\n", None),
        (b"# a\n", None),
        (b"k = 1\n# b\n", None),
        (b"# a\nk = 1\n", None),
    ],
)
def test_its_marks_are_comments_on_the_first_and_the_last_line_that_differ(text: bytes, marker: Marker | None) -> None:
    found = of(text)
    assert (found.text, found.marker, found.why) == (text.strip(b"\r\n"), marker, "")
    declared = Marker(begin="# 1", end="# 2")
    assert of(text, declared, Marker(begin="# 3", end="")).marker == declared


def test_output_of_a_run_without_files_gives_the_reason() -> None:
    assert of(None, code=2, stderr="no such thing\n").why.endswith("(exit 2) no such thing")
    assert of(b"\n", error="its result is no JSON", stderr="x").why.endswith("(exit 0) its result is no JSON")
    assert content({CONFIG: FileState(kind="dir", content=b"x")}) is None
    assert content({}) is None
