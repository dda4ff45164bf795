"""Generators under strain, really run: the good one stands it, and each bad one of its kind is caught."""

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.generators.bad.catalogue import USER
from pytest_codexsandbox.generators.bad.catalogue import named as bad
from pytest_codexsandbox.generators.confinement import UNCONFINED, Confinement, confinement
from pytest_codexsandbox.generators.stress import STRESS_CHECKS, StressContext, named
from pytest_codexsandbox.generators.stress.file_watch import looking
from pytest_codexsandbox.generators.stress.strace import Tracer, tracer
from pytest_codexsandbox.model.generator import Case, Declaration, Finding, Intent
from pytest_codexsandbox.model.generator_spec import Generator, Spec
from pytest_codexsandbox.releases import installed_package
from tests.fakes.machine import run_folder
from tests.live.builders import GENEROUS

CASE = Case(id="ordinary", why="an ordinary file", config=USER)
NO_STRACE = Tracer(why="needs strace (apt install strace)")
EARLIER = "pytest_codexsandbox.generators.bad.bad_writes:earlier_words"
traced = pytest.mark.skipif(not tracer().program, reason=tracer().why or "strace is there")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with run_folder() as found:
        yield found


def generator(name: str) -> Generator:
    """Of the bad ones, of the shipped ones, of the other writers."""
    if name == "earlier-words":
        return of("py", EARLIER, name=name, declaration=bad(["grows"])[0].declaration())
    try:
        (one,) = bad([name])
    except KeyError:
        return named(name)
    return of("py", one.run.removeprefix("py:"), name=name, declaration=one.declaration())


def of(scheme: str, text: str, *, name: str, declaration: Declaration, words: tuple[str, ...] = ()) -> Generator:
    declaration = msgspec.structs.replace(declaration, timeout=GENEROUS)
    return Generator(name=name, spec=Spec(scheme=scheme, text=text, words=words), declaration=declaration)  # type: ignore[arg-type]


def sh(script: str) -> Generator:
    words = ("/bin/sh", "-c", script, "sh", "@CONFIG@", "@NETWORK@")
    return of("cmd", script, name="sh", declaration=Declaration(), words=words)


def strained(
    kind: str,
    one: Generator,
    folder: Path,
    *,
    how: Confinement | None = None,
    beside: str = "",
    strace: Tracer | None = None,
    codex: str = "",
) -> tuple[Finding, ...]:
    context = StressContext(
        generator=one,
        case=CASE,
        intent=Intent(roots=("@ROOT0@",)),
        other=Intent(network=True),
        version="0.163.0",
        folder=folder,
        confinement=confinement() if how is None else how,
        beside=beside,
        named=generator,
        tracer=strace,
        codex=codex,
    )
    return STRESS_CHECKS[kind](context)


def reasons(found: tuple[Finding, ...]) -> set[str]:
    """Of a strain that could be asked, and whose controls all held."""
    assert found
    assert not any(one.skipped for one in found), [one.skipped for one in found]
    assert all(one.control_held for one in found), [one.control for one in found if not one.control_held]
    return {one.reason for one in found if not one.held}


# ---- the good one
@pytest.mark.parametrize("kind", ["at-once", pytest.param("killed", marks=traced), "together"])
def test_the_good_generator_passes_every_stress_check(kind: str, folder: Path) -> None:
    found = strained(kind, generator("good"), folder)
    assert reasons(found) == set(), found


@pytest.mark.parametrize("beside", ["reserialises", "table-inside", "uncomments-marks", "loses-end"])
@pytest.mark.parametrize("kind", ["survives", "keeps-theirs"])
def test_the_good_one_is_right_after_others(kind: str, beside: str, folder: Path) -> None:
    found = strained(kind, generator("good"), folder, beside=beside)
    assert reasons(found) == set(), found


def test_the_good_one_takes_over_what_an_earlier_one_wrote(folder: Path) -> None:
    assert reasons(strained("migrates", generator("good"), folder, beside="earlier-words")) == set()


@traced
def test_it_is_the_same_where_nothing_confines(folder: Path) -> None:
    assert reasons(strained("killed", generator("good"), folder, how=UNCONFINED)) == set()


@traced
def test_a_new_file_whose_first_half_is_the_old_one_can_be_judged(folder: Path) -> None:
    """An atomic writer that doubles the file: the torn file of the control is another part of it."""
    script = (
        "import os, sys; path = sys.argv[1]; old = open(path).read()\n"
        "half = len(old) // 2\n"
        "if old[half:].strip('#\\n'):\n"
        "    open(path + '.t', 'w').write(old + '#' * (len(old) - 1) + '\\n'); os.replace(path + '.t', path)"
    )
    words = (sys.executable, "-I", "-S", "-c", script, "@CONFIG@")
    doubles = of("cmd", "doubles", name="doubles", declaration=Declaration(), words=words)
    assert reasons(strained("killed", doubles, folder)) == set()


# ---- the bad ones
@pytest.mark.parametrize(
    ("kind", "name", "beside", "why"),
    [
        ("at-once", "writes-in-halves", "", "half-a-file"),
        ("at-once", "ends-its-block-later", "", "emptied-first"),
        pytest.param("killed", "writes-in-halves", "", "half-a-file", marks=traced),
        pytest.param("killed", "empties-amid-other-files", "", "emptied-first", marks=traced),
        pytest.param("together", "loses-an-update", "", "lost-update", marks=traced),
        ("keeps-theirs", "deletes-what-follows", "loses-end", "key-lost"),
        ("keeps-theirs", "gives-up-on-moved-marks", "key-inside", "key-lost"),
        ("survives", "duplicates-its-block", "loses-marks", "two-blocks"),
        ("migrates", "knows-its-own-words-only", "earlier-words", "duplicate-key"),
        ("migrates", "molecule-82", "molecule-hotpatch", "key-lost"),
    ],
)
def test_each_bad_one_is_caught(kind: str, name: str, beside: str, why: str, folder: Path) -> None:
    found = reasons(strained(kind, generator(name), folder, beside=beside))
    # What two leave that write into each other's file may be TOML, or none any more.
    assert why in found or (why == "lost-update" and "half-a-file" in found)


def test_one_that_changes_no_file_is_not_asked(folder: Path) -> None:
    for kind in ("at-once", "together"):
        (one,) = strained(kind, generator("idle"), folder, strace=NO_STRACE)
        assert "changed no file" in one.skipped
        assert not one.held


# ---- without strace
def test_without_strace_the_reader_alone_sees_half_a_file(folder: Path) -> None:
    assert "half-a-file" in reasons(strained("at-once", generator("writes-in-halves"), folder, strace=NO_STRACE))
    good = strained("at-once", generator("good"), folder, strace=NO_STRACE)
    assert reasons(good) == set()
    assert "without strace" in good[0].saw


def test_a_strace_that_cannot_trace_is_no_proof(folder: Path) -> None:
    broken = Tracer(program="/bin/false")
    (one,) = strained("killed", generator("good"), folder, strace=broken)
    assert "strace cannot trace" in one.skipped
    assert not one.held


# ---- several processes
@traced
def test_a_script_is_killed_in_each_of_its_processes(folder: Path) -> None:
    script = 'cat "$1" > "$1.new"; echo "# $2" >> "$1.new"; mv "$1.new" "$1"'
    found = strained("killed", sh(f"set -e; {script}"), folder)
    assert "each next run" in found[0].saw or not found[0].held
    assert found[0].control_held


@traced
def test_a_script_that_goes_on_after_a_death_loses_the_file(folder: Path) -> None:
    """`cat` is killed, and `mv` puts what there is of its work over the file."""
    script = 'grep -v "^# net" "$1" > "$1.new"; echo "# net $2" >> "$1.new"; mv "$1.new" "$1"'
    assert "half-a-file" in reasons(strained("killed", sh(script), folder))


@traced
def test_a_lock_that_outlives_its_holder_is_in_the_way(folder: Path) -> None:
    script = (
        'mkdir "$1.lock" || exit 7; grep -v "^# net" "$1" > "$1.new"; echo "# net $2" >> "$1.new"; '
        'mv "$1.new" "$1"; rmdir "$1.lock"'
    )
    assert "does-not-recover" in reasons(strained("killed", sh(f"set -e; {script}"), folder))


# ---- the real Codex as the other writer
def test_codex_itself_takes_the_end_of_a_block_and_the_next_run_deletes_servers(folder: Path) -> None:
    """openai/codex#45432, and the rule for a block without an end."""
    found = installed_package.find()
    assert found, "install openai-codex-cli-bin"
    codex = found.binary
    spoilt = strained("keeps-theirs", generator("hermes-file-0.19"), folder, beside="codex-mcp-add", codex=codex)
    assert reasons(spoilt) == {"key-lost"}
    assert "mcp_servers.demo" in "".join(one.saw + one.diff for one in spoilt)
    good = strained("keeps-theirs", generator("good"), folder, beside="codex-mcp-add", codex=codex)
    assert reasons(good) == set()


# ---- who looks
def test_a_file_watcher_sees_every_state_and_follows_no_link(folder: Path) -> None:
    top = folder / "looked-at"
    top.mkdir()
    file = top / "config.toml"
    with looking(str(top), str(file)) as watcher:
        for content in (b"one", b"two"):
            file.write_bytes(content)
            time.sleep(0.2)
        file.unlink()
        file.symlink_to(sys.executable)
        time.sleep(0.2)
    looks = watcher.looks
    assert looks.looks > 20
    assert looks.saw(None)
    assert looks.saw(b"one")
    assert looks.saw(b"two")
    assert {one.kind for one in looks.seen} >= {"missing", "file", "unreadable"}
    assert max(len(one.content) for one in looks.seen) == 3
    shutil.rmtree(top)
