"""What a run came to: its own word is read strictly, and what the stub saw stands in for it."""

import json

import pytest

from pytest_codexsandbox.generators import placeholders
from pytest_codexsandbox.generators.confinement_proof import ConfinementProof, EscapeAttempt, excuse_of
from pytest_codexsandbox.generators.request_environ import environment, request
from pytest_codexsandbox.generators.run_result import RESULT_LIMIT, SAID, outcome, overrides, said
from pytest_codexsandbox.model.command import CommandResult
from pytest_codexsandbox.model.generator import Declaration, FileState, GeneratorRun, Intent

DONE = CommandResult(ended="exit", exit=0, stdout=b"said\xff", seconds=0.5)
GIVEN = {"HOME": "/s/home", "CODEX_HOME": "/s/home/.codex", "LANG": "C.UTF-8", "CXG_RESULT": "/s/own/result.json"}


def of(
    result: object = None, launches: tuple[object, ...] = (), done: CommandResult = DONE, **declared: object
) -> GeneratorRun:
    content = result if isinstance(result, bytes) else json.dumps(result).encode()
    state = None if result is None else FileState(kind="file", content=content, size=len(content))
    return outcome(
        done,
        state,
        [json.dumps(one).encode() for one in launches],
        given=GIVEN,
        folders=("/s/home", "/s/own"),
        declaration=Declaration(**declared),  # type: ignore[arg-type]
        files={},
    )


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        ("größer — ✓".encode(), "größer — ✓"),
        (b"\xff", "\\xff"),
        (b"a" * (SAID - 1) + "ß".encode(), "a" * (SAID - 1)),
        (b"a" * (SAID - 2) + "ß✓".encode(), "a" * (SAID - 2) + "ß"),
    ],
)
def test_printed_output_is_utf_8_and_no_character_is_cut_in_two(stream: bytes, text: str) -> None:
    assert said(stream) == text


def test_its_own_word_is_taken_where_it_gives_one() -> None:
    told = of({"files": ["/s/home/x"], "argv": ["-c", "a=b"], "env": {"A": ""}, "unset": ["B"], "reason": "so"})
    assert (told.argv, told.env, told.unset, told.reason, told.told) == (("-c", "a=b"), {"A": ""}, ("B",), "so", True)
    assert (told.stdout, told.error, told.refused) == ("said\\xff", "", False)


@pytest.mark.parametrize(
    "result",
    [
        b"",
        b"[]",
        b"{\xff}",
        {"unknown": 1},
        {"argv": "x"},
        {"env": {"A": 1}},
        {"refused": "yes"},
        {"files": ["/etc/passwd"]},
        {"files": ["/s/homes"]},
        {"files": ["/s/home/../../etc"]},
        {"files": ["relative"]},
        {"argv": ["a\0b"]},
        {"env": {"": "x"}},
        {"unset": ["A=B"]},
    ],
)
def test_a_word_that_cannot_be_is_said_and_none_of_it_is_taken(result: object) -> None:
    told = of(result, launches=({"argv": ["-c", "x=y"]},))
    assert told.error.startswith("its result ")
    assert (told.told, told.argv) == (False, ("-c", "x=y"))


@pytest.mark.parametrize(
    "result",
    [
        {"argv": ["a\0b"]},
        {"env": {"A": "a\0b"}},
        {"env": {"A\0": "b"}},
        {"unset": ["A\0"]},
        {"unset": [""]},
        {"env": {"A=B": "c"}},
    ],
)
def test_words_that_no_program_can_be_given_are_none(result: object) -> None:
    told = of(result)
    assert (told.told, told.argv, told.env, told.unset) == (False, (), {}, ()) and "NUL" in told.error


def test_a_result_that_is_no_file_or_too_large_is_none() -> None:
    for state in (FileState(kind="symlink", target="/x"), FileState(kind="file", content=b"{}", size=RESULT_LIMIT + 1)):
        told = outcome(DONE, state, (), declaration=Declaration(), given=GIVEN, folders=("/s/home",), files={})
        assert told.error.startswith("its result ")
        assert not told.told
    assert of({"files": ["/s/home", "/s/own/x"]}).told
    assert not of().told


def test_the_end_of_a_run_is_recorded_and_cut_output_is_marked() -> None:
    assert (of().ended, of().error) == ("exit", "")
    assert of(done=CommandResult(ended="timeout")).ended == "timeout"
    files = {"@…@": FileState(kind="other")}
    cut = outcome(DONE, None, (), declaration=Declaration(), given=GIVEN, folders=(), files=files)
    assert "limit" in cut.error and not of().error
    loud = of(done=CommandResult(ended="exit", stdout=b"x" * (SAID + 1), stderr=b"y" * (SAID + 1)))
    assert (len(loud.stdout), len(loud.stderr)) == (SAID, SAID)


def test_variables_that_the_stub_sets_are_not_the_generators() -> None:
    env = {name: value for name, value in GIVEN.items() if not name.startswith("CXG_")}
    assert of(launches=({"argv": ["exec"], "env": env},)).unset == ()


def test_a_refusal_is_its_word_or_a_declared_exit_code() -> None:
    assert of({"refused": True}).refused
    assert of(done=CommandResult(ended="exit", exit=3), refuse_exit=(3,)).refused
    assert not of(done=CommandResult(ended="exit", exit=3), refuse_exit=(4,)).refused
    assert not of(done=CommandResult(ended="signal", signal=3), refuse_exit=(131,)).refused


def test_the_last_start_of_codex_replaces_a_result() -> None:
    env = {**GIVEN, "A": "b", "PWD": "/x", "_": "y", "AREA_SCOPE": "z", "PATH": "/p", "CODEX_HOME": "/s/other"}
    del env["LANG"]
    told = of(launches=({"argv": ["--version"], "env": GIVEN}, {"argv": ["exec", "-c", "a=b", "do it"], "env": env}))
    assert told.argv == ("-c", "a=b")
    assert told.env == {"A": "b", "CODEX_HOME": "/s/other"}
    assert told.unset == ("LANG",)


def test_a_result_cannot_deny_the_recorded_start_of_codex() -> None:
    started = ({"argv": ["exec", "--yolo", "do it"], "env": GIVEN},)
    told = of({"argv": ["-c", 'sandbox_mode="read-only"']}, launches=started)
    assert (told.argv, told.told) == (("--yolo",), False)
    assert told.error.endswith(": --yolo")
    silent = of({"warnings": ["hm"]}, launches=started)
    assert (silent.argv, silent.error, silent.warnings) == (("--yolo",), "", ("hm",))
    same = of({"argv": ["--yolo"], "reason": "so"}, launches=started)
    assert (same.argv, same.error, same.reason) == (("--yolo",), "", "so")
    asked = ({"argv": ["mcp", "add", "demo", "--env", "K=v", "--", "npx"], "env": GIVEN},)
    assert of({"argv": ["-c", "a=b"]}, launches=asked).error == ""


def test_a_spoilt_record_is_said() -> None:
    assert "`array`" in of(launches=([1],)).error


def test_one_that_was_ended_for_what_it_wrote_died_by_a_signal() -> None:
    told = of(done=CommandResult(ended="lost", error="it wrote 9 bytes, more than 8, and was ended"))
    assert (told.ended, told.code) == ("signal", 137)
    assert "9 bytes" in told.error


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        (["app-server"], ()),
        (["exec", "-s", "read-only", "prompt -c x"], ("-s", "read-only")),
        (["-ca=b", "--config=c=d", "--sandbox=x", "-pq"], ("-ca=b", "--config=c=d", "--sandbox=x", "-pq")),
        (["--add-dir", "/x", "--full-auto"], ("--add-dir", "/x", "--full-auto")),
        (["exec", "--", "-c", "a=b"], ()),
        (["-c"], ("-c",)),
        (["--skip-git-repo-check", "--json", "--color", "never"], ()),
        *(
            (["exec", name, "x y", "hi"], (name, "x y"))
            for name in (
                "-c",
                "--config",
                "-s",
                "--sandbox",
                "-a",
                "--ask-for-approval",
                "-p",
                "--profile",
                "--add-dir",
                "--enable",
                "--disable",
            )
        ),
        *(
            (["exec", name, "hi"], (name,))
            for name in (
                "--full-auto",
                "--approve-for-me",
                "--yolo",
                "--dangerously-bypass-approvals-and-sandbox",
            )
        ),
    ],
)
def test_the_words_that_say_what_codex_may_do(argv: list[str], found: tuple[str, ...]) -> None:
    assert overrides(argv) == found


# ---- placeholders, and what it is told
VALUES = {"HOME": "/s/home", "CODEX_HOME": "/s/home/.codex", "ROOT0": "/s/@HOME@"}


def test_placeholders_are_replaced_once_and_literally() -> None:
    assert placeholders.fill("@HOME@/x @ROOT0@ @OTHER@ {} @HOME", VALUES) == "/s/home/x /s/@HOME@ @OTHER@ {} @HOME"
    assert placeholders.fill_bytes(b"\xff@HOME@@X@", VALUES) == b"\xff/s/home@X@"


def test_a_path_is_shown_by_the_innermost_folder() -> None:
    assert placeholders.shown("/s/home/.codex/config.toml", VALUES) == "@CODEX_HOME@/config.toml"
    assert placeholders.shown("/s/home/.codexx", VALUES) == "@HOME@/.codexx"
    assert placeholders.shown("/s/homes", VALUES) == "/s/homes"


def test_an_intent_overrides_the_cells_version_and_roots_keep_every_sign() -> None:
    paths = placeholders.of_folders(
        {
            name: f"/s/{name.lower()}"
            for name in ("HOME", "CODEX_HOME", "WORKSPACE", "ROOT0", "SIBLING", "OUTSIDE", "TMPDIR")
        },
        "/s/own",
    )
    intent = Intent(roots=('@ROOT0@/a "b"\\\n\U0001f680',), network=None, version="", capabilities={"userns": False})
    values = {**paths, **placeholders.of_intent(intent, "0.163.0", paths)}
    asked = request(intent, values, Declaration(env={"A": "@CONFIG@"}), codex="/c", run=2)
    told = environment(asked, values, Declaration(env={"A": "@CONFIG@"}), folders=("/stub", "/bin"))
    assert json.loads(told["CXG_WRITABLE_ROOTS"]) == list(asked.roots) == ['/s/root0/a "b"\\\n\U0001f680']
    assert (told["CXG_NETWORK"], told["CXG_CODEX_VERSION"], asked.version) == ("", "", "")
    assert told["PATH"].startswith("/stub:/bin:/usr/local/sbin")
    assert told["A"] == asked.config == "/s/codex_home/config.toml"
    assert (asked.run, asked.capabilities) == (2, {"userns": False})


# ---- proof
def test_an_act_that_is_impossible_outside_proves_nothing_without_a_known_reason() -> None:
    tried = EscapeAttempt(act="trace another's process", outside="EPERM", inside="ESRCH")
    assert not tried.held
    assert "unknown" in ConfinementProof(by="x", rows=(tried,)).faults[0]
    assert EscapeAttempt(act="x", outside="EPERM", inside="ESRCH", excuse="known").held
    assert not EscapeAttempt(act="x", outside="", inside="").held


def test_excuses_are_for_ordinary_users_and_for_kernels_that_refuse_every_user() -> None:
    assert excuse_of("have a capability", uid=1000, tracing="")
    assert not excuse_of("have a capability", uid=0, tracing="")
    assert excuse_of("trace another's process", uid=0, tracing="3")
    assert not excuse_of("trace another's process", uid=1000, tracing="1")
    assert not excuse_of("read a file outside", uid=1000, tracing="3")


def test_the_last_of_several_starts_that_starts_work_counts() -> None:
    """Whoever asks for the version afterwards has started nothing else."""
    work = {"argv": ["exec", "--yolo", "hi"], "env": GIVEN | {"A": "b"}, "cwd": "/"}
    told = of(
        launches=({"argv": ["exec", "-s", "read-only"]}, work, {"argv": ["--version"]}, {"argv": ["mcp", "list"]})
    )
    assert (told.argv, told.env) == (("--yolo",), {"A": "b"})


def test_a_call_that_the_real_codex_answered_gives_no_arguments_and_no_environment() -> None:
    asked = {"argv": ["-c", "a=b", "features", "enable", "x"], "env": GIVEN | {"A": "b"}, "work": False}
    told = of(launches=({"argv": ["--version"]}, asked))
    assert (told.argv, told.env, told.unset) == ((), {}, ())
    work = {"argv": ["new-kind-of-session", "-c", "a=b"], "env": GIVEN, "work": True}
    assert of(launches=(work, asked)).argv == ("-c", "a=b"), "what was recorded counts, not the list of words"
