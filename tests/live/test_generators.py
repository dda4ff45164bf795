"""Generators of every bad kind, really run: each ends as an outcome that says so; nothing of the machine is touched."""

import os
import signal
import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.generators.case_run import CaseRunner, open_case_runner
from pytest_codexsandbox.generators.confinement import confinement
from pytest_codexsandbox.guest import disk_space
from pytest_codexsandbox.model.generator import CONFIG, Case, Declaration
from pytest_codexsandbox.model.generator_spec import Generator, Spec
from tests.fakes.machine import run_folder
from tests.live.builders import CASE, GENEROUS, first, how, processes, python, sh, told


@pytest.fixture(scope="module", params=["confined", "unconfined"])
def runner(request: pytest.FixtureRequest) -> Iterator[CaseRunner]:
    with run_folder() as folder, open_case_runner(folder, how(request.param)) as opened:
        yield opened


@pytest.fixture(scope="module")
def walled() -> Iterator[CaseRunner]:
    with run_folder() as folder, open_case_runner(folder, confinement()) as opened:
        yield opened


# ---- what it is told
def test_three_runs_are_on_the_same_files(runner: CaseRunner) -> None:
    case_run = told(runner, sh('echo "# $CXG_PLATFORM $0" >> "$1"', "@CONFIG@"))
    assert [run.files[CONFIG].content.count(b"# linux sh\n") for run in case_run.runs] == [1, 2, 3]
    assert case_run.before[CONFIG].content == CASE.config
    assert case_run.alone == b"# linux sh\n"
    assert bool(case_run.confined) is bool(runner.confined)


def test_the_request_says_the_same_in_its_file_and_in_the_environment(runner: CaseRunner) -> None:
    script = """
import json, os, pathlib
asked = json.load(open(os.environ["CXG_REQUEST"]))
assert asked["config"] == os.environ["CODEX_HOME"] + "/config.toml", asked
assert asked["roots"] == json.loads(os.environ["CXG_WRITABLE_ROOTS"]), asked
assert (asked["version"], os.environ["CXG_CODEX_VERSION"], os.environ["CXG_NETWORK"]) == ("0.163.0", "0.163.0", "0")
assert asked["home"] == os.environ["HOME"] and os.environ["TMPDIR"] and os.getcwd() == os.environ["CXG_WORKSPACE"]
pathlib.Path(asked["config"]).write_text(f"# run {asked['run']}\\n")
result = {"argv": ["-c", "a=b"], "env": {"A": "b"}, "unset": ["C"], "warnings": ["hm"]}
json.dump(result, open(os.environ["CXG_RESULT"], "w"))
"""
    case_run = told(runner, python(script))
    assert [run.files[CONFIG].content for run in case_run.runs] == [b"# run 1\n", b"# run 2\n", b"# run 3\n"], (
        case_run.first
    )
    given = case_run.first
    assert (given.argv, given.env, given.unset, given.warnings) == (("-c", "a=b"), {"A": "b"}, ("C",), ("hm",))
    assert given.told


def test_nothing_of_our_environment_is_inherited(runner: CaseRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_API_KEY", "leaked")
    assert "leaked" not in first(runner, sh("env")).stdout


def test_a_result_that_is_forged_or_malformed_is_said_and_not_believed(runner: CaseRunner) -> None:
    for words, why in (
        ("{", "malformed"),
        ('{"argv": [1]}', "malformed"),
        ('{"files": ["/etc/passwd"]}', "outside its folders"),
        ('{"files": ["@HOME@/../../x"]}', "outside its folders"),
        ('{"argv": ["a\\\\u0000b"]}', "NUL"),
        ('{"env": {"A=B": "c"}}', "NUL"),
    ):
        given = first(runner, sh('printf "$2" > "$1"', "@RESULT@", words))
        assert why in given.error, (words, given)
        assert not given.told
        assert given.argv == ()
    linked = first(runner, sh('ln -s /etc/passwd "$1"', "@RESULT@"))
    assert "symlink" in linked.error


def test_the_arguments_of_its_codex_start_are_its_result(runner: CaseRunner) -> None:
    given = first(
        runner,
        sh("codex --version; cd /; A=b codex -s read-only app-server -c x=y --config=z=1 -- -c no", scheme="launch"),
    )
    assert "codexsandbox: " in given.stderr, "a question without an answer is an error"
    assert [launch.work for launch in given.launches] == [False, True]
    assert given.argv == ("-s", "read-only", "-c", "x=y", "--config=z=1")
    assert given.env == {"A": "b"}
    assert [launch.argv[0] for launch in given.launches] == ["--version", "-s"]
    assert given.launches[1].cwd == "/"
    assert not given.told


# ---- what goes wrong
def test_one_that_hangs_is_ended_and_not_asked_again(runner: CaseRunner) -> None:
    begun = time.monotonic()
    case_run = told(runner, sh("echo begun; sleep 1000", timeout=1.0))
    assert [run.ended for run in case_run.runs] == ["timeout"]
    assert case_run.first.stdout == "begun\n"
    assert "not finished after" in case_run.first.error
    assert time.monotonic() - begun < GENEROUS


def test_one_that_forks_and_stays_is_ended_and_named(runner: CaseRunner) -> None:
    word = uuid.uuid4().hex
    script = f"""
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)  # holds the pipes: {word}
    os._exit(0)
"""
    given = first(runner, python(script))
    assert (given.ended, given.code) == ("exit", 0)
    assert len(given.survivors) == 1, given.survivors
    assert not processes(word)


def test_output_without_an_end_is_cut(runner: CaseRunner) -> None:
    given = first(runner, sh("yes"))
    assert given.ended == "signal"
    assert "it printed" in given.error
    assert len(given.stdout) <= 64 * 1024


def test_a_file_without_an_end_is_cut(runner: CaseRunner) -> None:
    given = first(runner, sh('head -c 2000000000 /dev/zero > "$1"', "@CONFIG@"))
    assert given.code != 0
    assert given.files[CONFIG].size <= 64 * 1024 * 1024
    assert len(given.files[CONFIG].content) <= 2 * 1024 * 1024


def test_files_without_an_end_are_cut(runner: CaseRunner) -> None:
    each = 'i=0; while :; do i=$((i+1)); head -c 60000000 /dev/zero > "$1/$i"; done'
    given = first(runner, sh(each, "@HOME@"))
    assert given.ended == "signal"
    assert "it wrote" in given.error
    many = first(runner, sh('i=0; while :; do i=$((i+1)); : > "$1/$i"; done', "@HOME@"))
    assert "files" in many.error
    assert "limit" in many.error


def test_files_beside_a_tool_are_not_its_output(walled: CaseRunner) -> None:
    """A checkout below /var/tmp is seen there by its own name: with all that was installed in it."""
    with run_folder() as folder:
        for number in range(20_001):
            (folder / str(number)).touch()
        tool = folder / "tool"
        tool.write_text("#!/bin/sh\nsleep 1\n")
        tool.chmod(0o755)
        spec = Spec(scheme="cmd", text=str(tool), words=(str(tool),))
        found = first(walled, Generator(name="t", spec=spec, declaration=Declaration(timeout=GENEROUS)))
    assert (found.ended, found.code, found.error) == ("exit", 0, "")


def test_binary_output_is_kept_as_it_is(runner: CaseRunner) -> None:
    given = first(runner, sh(r"printf '\377\000\033[31m'"))
    assert given.stdout == "\\xff\x00\x1b[31m"  # a byte that is no UTF-8 is shown as its escape


def test_a_generator_that_prompts_gets_no_answer(runner: CaseRunner) -> None:
    given = first(runner, sh("read answer || echo nobody; : < /dev/tty || echo no terminal"))
    assert "nobody" in given.stdout
    assert "no terminal" in given.stdout or given.code != 0


def test_one_that_deletes_its_home_is_seen_and_the_next_has_one(runner: CaseRunner) -> None:
    case_run = told(runner, sh('rm -rf "$HOME"'))
    assert case_run.first.files["@HOME@"].kind == "missing"
    assert CONFIG not in case_run.first.files
    assert told(runner, sh("true")).before[CONFIG].content == CASE.config


def test_folders_that_it_shuts_are_opened_again_for_the_next(runner: CaseRunner) -> None:
    given = first(runner, sh('mkdir -p "$1/a/b"; : > "$1/a/b/c"; chmod 000 "$1/a/b" "$1/a"; chmod 500 "$1"', "@HOME@"))
    assert given.code == 0
    after = told(runner, sh("true"))
    assert set(after.before) == {CONFIG}


def test_a_generator_without_effect_is_reported_as_such(runner: CaseRunner) -> None:
    case_run = told(runner, sh("exit 0"))
    assert case_run.first.files == case_run.before
    assert case_run.alone is None


def test_death_by_a_signal_stays_one(runner: CaseRunner) -> None:
    given = first(runner, sh("kill -SEGV $$"))
    assert (given.ended, given.code) == ("signal", 128 + signal.SIGSEGV)


def test_an_exit_code_that_says_declined_is_a_refusal(runner: CaseRunner) -> None:
    assert first(runner, sh("exit 7", refuse_exit=(7,))).refused
    assert not first(runner, sh("exit 8", refuse_exit=(7,))).refused


def test_one_that_finds_no_room_on_a_full_disk_has_shown_nothing(
    runner: CaseRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    declines = sh("echo 'sh: cannot write: No space left on device' >&2; exit 1")
    assert first(runner, declines).code == 1, "there is room: what it says is its own word"
    monkeypatch.setattr(disk_space, "least", lambda places: 4096)
    assert first(runner, sh("exit 1")).code == 1, "it says nothing of it"
    with pytest.raises(HarnessError, match="disk"):
        first(runner, declines)


def test_a_program_that_has_gone_is_an_outcome(runner: CaseRunner) -> None:
    gone = Generator(name="gone", spec=Spec(scheme="cmd", text="x", words=("/nowhere/at-all",)), base="/")
    given = first(runner, gone)
    assert given.ended == "not-started"
    assert "/nowhere/at-all" in given.error


def test_one_that_wants_codex_is_not_run_without_one(runner: CaseRunner) -> None:
    given = first(runner, sh("codex", codex_on_path=True))
    assert (given.ended, "no Codex" in given.error) == ("not-started", True)


# ---- walls
def test_a_write_elsewhere_is_prevented_and_named(walled: CaseRunner) -> None:
    home = Path.home()
    word = f"cx-stray-{os.getpid()}"
    given = first(
        walled, sh(f"for d in /tmp /var/tmp {home} {home}/.codex; do mkdir -p $d; : > $d/{word}; done; : > /{word}")
    )
    assert set(given.strayed) >= {f"/tmp/{word}", f"/var/tmp/{word}", f"{home}/{word}", f"{home}/.codex/{word}"}
    assert not (home / word).exists()
    assert not Path("/tmp", word).exists()
    assert not Path("/", word).exists()
    again = told(walled, sh("ls /tmp /var/tmp"))
    assert word not in again.first.stdout
    assert again.first.strayed == ()


def test_sockets_and_secrets_are_not_there(walled: CaseRunner) -> None:
    script = """
import os, socket
for name in ("/run/docker.sock", "/var/run/docker.sock", os.environ.get("SSH_AUTH_SOCK", "/none")):
    try:
        socket.socket(socket.AF_UNIX).connect(name); print("REACHED", name)
    except OSError as error:
        print(error.errno)
for path in (HOME + "/.ssh", HOME + "/.codex", HOME + "/.bashrc", "/etc/shadow"):
    try:
        print("REACHED", os.listdir(path) if os.path.isdir(path) else open(path).read())
    except OSError as error:
        print(error.errno)
"""
    given = first(walled, python(f"HOME = {str(Path.home())!r}\n{script}"))
    assert given.code == 0, given
    assert "REACHED" not in given.stdout


def test_there_is_no_network(walled: CaseRunner) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        script = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        assert first(walled, python(script)).code != 0
        socket.create_connection(("127.0.0.1", port), 2).close()  # the control


def test_one_that_moves_what_others_stand_on_does_not_disturb_the_next(walled: CaseRunner) -> None:
    """Below the home lie the points where the tool's own folders are mounted."""
    first(walled, sh(f"cd {Path.home()} && for one in .[a-z]* *; do mv $one moved-$one; done; true"))
    assert told(walled, python("print('well')")).first.stdout == "well\n"


def test_a_run_init_cannot_be_inspected_or_ended_by_its_processes(walled: CaseRunner) -> None:
    given = first(walled, sh("kill -KILL 1; kill -STOP 1; cat /proc/1/environ /proc/1/mem; ls -l /proc/1/fd; echo on"))
    assert given.stdout.endswith("on\n")
    assert "pipe:" not in given.stdout


def test_a_generator_that_needs_a_network_gets_the_option_for_it(walled: CaseRunner) -> None:
    given = first(walled, sh("true", needs_network=True))
    assert given.ended == "not-started"
    assert "--codex-generator-in" in given.error


# ---- cases
def test_a_case_may_begin_with_what_the_generator_itself_writes(runner: CaseRunner) -> None:
    writes = sh('printf "# begin\\na = 1\\n# end\\n" >> "$1"', "@CONFIG@")
    case = Case(id="twice", why="two copies", config=b"@BLOCK@\nx = 1\n@BEGIN@\n@BLOCK@", needs_block=True)
    case_run = told(runner, writes, case)
    assert case_run.before[CONFIG].content == b"# begin\na = 1\n# end\nx = 1\n# begin\n# begin\na = 1\n# end"


def test_a_folder_may_be_closed_to_who_writes_there(walled: CaseRunner) -> None:
    case = Case(id="closed", why="nobody may make a file there", config=CASE.config, folder_mode=0o555)
    case_run = told(
        walled, sh('touch "$1/new" || echo refused; echo "# more" >> "$1/config.toml"', "@CODEX_HOME@"), case
    )
    assert "refused" in case_run.first.stdout
    assert "@CODEX_HOME@/new" not in case_run.first.files
    assert case_run.first.files[CONFIG].content == b'# mine\nmodel = "x"\n# more\n', "an open file may still be written"
    assert told(walled, sh(': > "$1/new"', "@CODEX_HOME@")).first.code == 0, "the next case has its own"


@pytest.mark.parametrize("link", ["symlink", "dangling", "hardlink", "symlinked-home", "missing-home", "directory"])
def test_every_kind_of_link_is_created_and_seen(runner: CaseRunner, link: str) -> None:
    case = Case(id=link, why="links", config=b"a = 1\n", link=link)  # type: ignore[arg-type]
    before = told(runner, sh("true"), case).before
    seen = {name: state.kind for name, state in before.items() if state.kind != "dir"}
    assert "unreadable" not in seen.values()
    config, behind = "@CODEX_HOME@/config.toml", "@HOME@/dotfiles/codex.toml"
    expected = {
        "symlink": {config: "symlink", behind: "file"},
        "dangling": {config: "symlink"},
        "hardlink": {config: "file", behind: "file"},
        "symlinked-home": {config: "file", "@HOME@/.codex": "symlink", "@HOME@/dotfiles/codex/config.toml": "file"},
        "missing-home": {"@CODEX_HOME@": "missing"},
        "directory": {},
    }
    assert seen == expected[link]
    if link == "hardlink":
        assert before[config].links == 2
        assert before[config].inode == before[behind].inode
    if link == "directory":
        assert before[config].kind == "dir"
