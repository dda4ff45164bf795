"""The subjects understand Codex's command line, and each does the one thing wrong that it says."""

from pathlib import Path

import pytest

from pytest_codexsandbox.selftest import FAKES, Fake, canaries, named, subject
from pytest_codexsandbox.selftest.fake_codex_script import GUEST, SOURCES
from tests.selftest.builders import NO_TMP, WRITING, Act, World, probe, said


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--version",), 0, "codex-cli 0.0.0"),
        (("--help",), 0, "Usage: codex [OPTIONS]"),
        (("sandbox", "--help"), 0, "Usage: codex sandbox [OPTIONS]"),
        (("sandbox",), 1, "sandbox command must not be empty"),
        (("sandbox", "--full-auto", "true"), 2, "unexpected argument '--full-auto' found"),
        (("-c", 'sandbox_mode="bogus"', "sandbox", "true"), 1, "unknown variant `bogus`"),
        (("app-server", "--help"), 0, "Usage: codex app-server [OPTIONS]"),
        (("mcp-server", "true"), 1, "knows `sandbox`, `app-server`, `exec` and `features` only"),
        ((), 1, "knows `sandbox`, `app-server`, `exec` and `features` only"),
    ],
)
def test_the_command_line_is_codex_s(world: World, words: tuple[str, ...], code: int, text: str) -> None:
    ended = world.call("good", *words)
    assert (ended.returncode, text in (ended.stdout + ended.stderr).decode()) == (code, True)


def test_overrides_may_stand_before_and_after_the_subcommand(world: World) -> None:
    act: list[Act] = [("write", world.workspace / "a", {})]
    for words in ((*WRITING, "sandbox", "--"), ("sandbox", *WRITING, "--"), ("sandbox", "-P", ":workspace")):
        ended = world.call("good", *words, *probe(act), stdin=b"go\n")
        assert [row["ok"] for row in said(ended.stdout, "row")] == [True]


def test_names_are_unique_and_every_subject_says_what_is_wrong() -> None:
    assert len({fake.name for fake in FAKES}) == len(FAKES)
    assert [fake.name for fake in FAKES if not fake.wrong] == ["good"]


def test_every_flaw_is_known_to_the_code_that_acts_on_it() -> None:
    """A misspelt flaw would make a mutant good; it would survive, and this says why."""
    text = "".join((GUEST / name).read_text() for name in SOURCES)
    composed = {
        "lets",
        "denies",
        "forgets",
        "socket",
        "litter",
        "errno",
        "unconfined",
        "late",
    }  # a word and a name, put together
    situations = {flaw.split(":")[1] for fake in FAKES for flaw in fake.flaws if flaw.startswith("when:")}
    assert {word for word in situations if f'"{word.removeprefix("stdin-")}"' not in text} == set()
    unknown = [
        flaw
        for fake in FAKES
        for flaw in (flaw.split(":", 2)[2] if flaw.startswith("when:") else flaw for flaw in fake.flaws)
        if f'"{flaw}"' not in text
        and f"'{flaw}'" not in text
        and flaw.split(":")[0] not in composed
        and not flaw.startswith("metadata:lets-")
    ]
    assert not unknown


@pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.name)
def test_each_subject_is_an_executable(fake: Fake, world: World) -> None:
    made = subject(world.folder / "bin", fake)
    assert world.call(fake.name, "--version").stdout == b"codex-cli 0.0.0\n"
    assert made.spec.label == fake.name and made.spec.path == made.binary and len(made.digest) == 64


def test_writing_the_same_subject_again_changes_nothing(tmp_path: Path) -> None:
    first, again = (subject(tmp_path, named(["late"])[0]) for _ in range(2))
    assert first == again
    assert first.digest != subject(tmp_path, named(["liar"])[0]).digest


def test_the_canaries_are_one_that_must_be_caught_and_one_that_must_pass(tmp_path: Path) -> None:
    assert [canary.spec.label for canary in canaries(tmp_path)] == ["allow-all", "good"]


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        named(["nobody"])


def test_allow_all_has_no_sandbox(world: World) -> None:
    assert world.rows("allow-all", [("write", world.outside / "a", {})], policy=()) == ["ok"]
    assert (world.outside / "a").exists()


def test_the_liar_says_ok_and_does_nothing(world: World) -> None:
    acts: list[Act] = [("write", world.workspace / "a", {}), ("write", world.outside / "a", {})]
    assert world.rows("liar", acts) == ["ok", "EROFS"]
    assert not (world.workspace / "a").exists()


def test_the_late_one_refuses_and_does_it_afterwards(world: World) -> None:
    assert world.rows("late", [("write", world.outside / "a", {})]) == ["EROFS"]
    assert (world.outside / "a").exists()


def test_half_stops_in_the_middle(world: World) -> None:
    acts: list[Act] = [("status", "", {})] * 2 + [("sleep", "", {"seconds": 120})] * 2
    ended = world.call("half", "sandbox", "--", *probe([*acts]), stdin=b"go\n")
    assert len(said(ended.stdout, "row")) == 2 and not said(ended.stdout, "done")


def test_twice_runs_it_twice(world: World) -> None:
    ended = world.call(
        "twice", *NO_TMP, "sandbox", "--", *probe([("append", world.workspace / "a", {})]), stdin=b"go\n"
    )
    assert len(said(ended.stdout, "done")) == 2 and (world.workspace / "a").read_text() == "xx"


@pytest.mark.parametrize(
    ("name", "code", "out", "error"),
    [
        ("exit-0", 0, b"", b""),
        ("exit-1", 1, b"", b""),
        ("silent", 3, b"", b""),
        ("crash", -11, b"", b""),
        ("swallows-exit-code", 0, b"said\n", b"told\n"),
        ("exit-code-one", 1, b"said\n", b"told\n"),
        ("output-banner", 3, b"codex: running in a sandbox\nsaid\n", b"told\n"),
    ],
)
def test_each_fake_runs_a_plain_command_in_its_way(
    world: World, name: str, code: int, out: bytes, error: bytes
) -> None:
    ended = world.call(name, "sandbox", "--", "sh", "-c", "echo said; echo told >&2; exit 3")
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, out, error)


def test_the_files_of_the_guest_s_subjects_stand_alone() -> None:
    """They run where nothing of ours is installed."""
    for name in SOURCES:
        text = (GUEST / name).read_text()
        outside_typing = [
            line for line in text.splitlines() if line.startswith(("import", "from")) and "pytest_codex" in line
        ]
        assert not outside_typing, name
