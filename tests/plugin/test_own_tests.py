"""A user's own tests beside the shipped promises: chosen like them, and told in the user's own words."""

import base64
import os
import sys
from pathlib import Path

import pytest

from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.system import process
from tests.fakes.machine import installed_codex
from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
FILES = {
    "test_mine.py": (
        "def test_one(codex_sandbox):\n    assert codex_sandbox.run('true').code == 0\n\n\n"
        "def test_two(codex_sandbox):\n    code = codex_sandbox.run('touch', '@OUTSIDE@/x').code\n"
        "    assert code == 0, 'my words'\n"
    )
}


def _mine(matrix: Matrix, *words: str) -> tuple[dict[str, str], str]:
    run = matrix.run(*words, files=FILES)
    states = run.journal.states().items()
    mine = {key.promise: record.verdict.value for key, record in states if key.promise.startswith("user.")}
    return mine, run.out


def test_own_tests_are_selected_by_their_promise_ids(matrix: Matrix) -> None:
    one, two = "user.test-mine-py-test-one", "user.test-mine-py-test-two"
    assert _mine(matrix, "test_mine.py", f"--codex-only={one}")[0] == {one: "conforms"}
    assert _mine(matrix, "test_mine.py", f"--codex-skip={one}")[0] == {two: "violates"}


def test_globs_about_own_tests_leave_out_the_shipped_promises_of_a_folder(matrix: Matrix) -> None:
    folder = str(data_folder("scenarios") / "network")
    one, shipped = "user.test-mine-py-test-one", "network.loopback-http-refused"

    def asked(*globs: str) -> set[str]:
        run = matrix.run("test_mine.py", folder, f"--codex-only={','.join(globs)}", "--collect-only", "-q", files=FILES)
        assert "INTERNALERROR" not in run.out
        found = {one: "::test_one[", shipped: "test_codex_network.py", "start": "test_codex_start.py"}
        return {name for name, text in found.items() if text in run.out}

    assert asked("user.*") == asked("user.*", "workspace-write") == {one, "start"}
    assert asked("user.*", shipped) == asked("*") == {one, shipped, "start"}
    assert asked(shipped) == {shipped, "start"}


def test_the_plan_names_the_promises_of_a_folder_that_globs_about_own_tests_leave_out(matrix: Matrix) -> None:
    folder = str(data_folder("scenarios") / "network")
    shipped = "network.loopback-http-refused"
    run = matrix.run("test_mine.py::test_one", folder, "--codex-only=user.*", files=FILES)
    assert run.code == 0, run.out
    assert [row.why for row in run.journal.plan.not_planned if row.what == shipped] == ["not among --codex-only"]
    planned = {key.promise for key in run.journal.plan.keys}
    assert shipped not in planned and [name for name in planned if name.endswith("test-one")]


def test_a_standing_promise_that_has_no_place_in_the_plan_is_left_aside(matrix: Matrix) -> None:
    """Generators have a standing promise of their own; these globs leave out the only place where it is asked."""
    words = ("test_mine.py", "--codex-generator=good", "--codex-only=sqlite.*,user.*", "--collect-only", "-q")
    run = matrix.run(*words, files=FILES)
    assert run.code == 0, run.out
    assert "INTERNALERROR" not in run.out
    assert run.out.count("test_mine.py::test_one") == 1
    assert "test_codex_start.py" in run.out
    assert "generator-as-asked" not in run.out


def test_words_that_are_not_ascii_come_back_as_they_were_given(matrix: Matrix) -> None:
    test = (
        "from pytest_codexsandbox.model.act import Given\n\n\n"
        "def test_words(codex_sandbox):\n"
        "    given = [Given(kind='file', path='@WORKSPACE@/grüße', content='ü €')]\n"
        "    seen = codex_sandbox.run('sh', '-c', 'cat grüße; printf \"é\\\\377\" >&2', given=given,\n"
        "                             looks=['@WORKSPACE@/grüße'])\n"
        "    assert (seen.stdout, seen.stderr) == ('ü €', 'é\\\\xff')\n"
        "    assert codex_sandbox.look(seen, '@WORKSPACE@/grüße').text == 'ü €'\n"
    )
    run = matrix.run("test_words.py", "--codex-only=user.*", files={"test_words.py": test})
    assert run.code == 0, run.out


def test_a_failure_is_shown_with_the_users_own_line_and_a_repro(matrix: Matrix) -> None:
    _, out = _mine(matrix, "test_mine.py")
    assert "assert code == 0, 'my words'" in out
    assert "saw       AssertionError: my words" in out
    assert "repro" in out


@pytest.mark.parametrize("words", [("test_mine.py", "--codex-only=user.nowhere"), ("--codex-only=user.*",)])
def test_a_glob_that_matches_none_of_them_is_a_usage_error(matrix: Matrix, words: tuple[str, ...]) -> None:
    run = matrix.run(*words, files=FILES)
    assert run.code == 4, run.out
    assert "matches no" in run.out
    assert run.reports == []


def test_a_command_that_takes_too_long_is_not_called_refused(matrix: Matrix) -> None:
    """What the policy's probe was refused says nothing about the user's command."""
    slow = "def test_slow(codex_sandbox):\n    codex_sandbox.run('sleep', '60', timeout=8)\n"
    run = matrix.run("test_slow.py", files={"test_slow.py": slow})
    (record,) = [one for key, one in run.journal.states().items() if key.promise.startswith("user.")]
    assert record.verdict.value == "broken", run.out
    assert record.diagnosis is not None
    assert record.diagnosis.fingerprint == "fails-outside-too"
    assert "EROFS" not in record.reason
    assert "sleep 60" in (run.reports[0].parent / record.repro).read_text()


def test_a_repro_repeats_the_arguments_of_a_users_command(matrix: Matrix) -> None:
    reads = (
        "def test_reads(codex_sandbox):\n    seen = codex_sandbox.run('sh', '-c', 'cat; exit 3', stdin=b'from me')\n"
        "    assert seen.code == 0\n"
    )
    run = matrix.run("test_reads.py", files={"test_reads.py": reads})
    (record,) = [one for key, one in run.journal.states().items() if key.promise.startswith("user.")]
    script = run.reports[0].parent / record.repro
    env = {"PATH": os.environ["PATH"], "HOME": str(run.reports[0].parent)}
    shown = process.run(Command(argv=("sh", str(script)), cwd="/", env=env, timeout=180))
    assert (shown.exit, shown.stdout.count(b"from me")) == (3, 1), shown
    assert len(script.name) <= len("filesystem-k3iqr2mt.sh")  # the line to paste fits into 80 columns


TOKEN = "sk-" + "Ab1" * 14


def test_a_credential_in_a_users_test_is_in_nothing_that_is_written(matrix: Matrix) -> None:
    """Its case, its stdin, its words, its environment; two cases stay two."""
    text = (
        f"import pytest\nT = {TOKEN!r}\n\n\n@pytest.mark.parametrize('x', [T, T + '1', 'plain'])\n"
        "def test_two(codex_sandbox, x):\n"
        "    seen = codex_sandbox.run('sh', '-c', 'cat; exit 3', 'sh', x, stdin=T.encode(), env={'A': T},\n"
        "        control=False)\n"
        "    assert seen.code == 0, x\n"
    )
    run = matrix.run("--codex-report=html,markdown,json", "test_two.py", files={"test_two.py": text})
    assert run.code == 1, run.out
    keys = [key for key in run.journal.states() if key.promise.startswith("user.")]
    assert len({key.case for key in keys}) == 3
    assert [key.case for key in keys if not key.case.startswith("redacted-")] == ["plain"]
    hidden = [TOKEN, base64.b64encode(TOKEN.encode()).decode()[:40]]
    written = [path for path in run.reports[0].parent.rglob("*") if path.is_file()]
    assert len([path for path in written if path.suffix == ".sh"]) >= 3
    assert [path for path in written if any(word in path.read_text(errors="replace") for word in hidden)] == []


def test_the_state_of_the_sandbox_is_known_for_each_call(matrix: Matrix) -> None:
    run = matrix.run("test_mine.py", files=FILES)
    rows = [row for record in run.journal.records for row in record.evidence if row.act == "user/run"]
    assert rows
    assert not any("EROFS" in row.saw for row in rows)
    assert any("`true`" in row.claim and row.held for row in rows)
    calls = {call.id: call.observation for call in run.journal.calls}
    assert all(len(calls[row.call].readings) == 1 for row in rows)


DROPS_IT = """#!{python} -IS
import base64, os, sys, zlib
words = sys.argv[1:]
command = words[words.index("--") + 1 :] if "--" in words else []
if len(command) == 6 and b'"become"' in zlib.decompress(base64.b64decode(command[-1])):
    os.execvp(command[0], command)
os.execv({codex!r}, [{codex!r}, *words])
"""


def test_a_codex_without_a_sandbox_in_the_users_call_alone_is_a_leak(matrix: Matrix, tmp_path: Path) -> None:
    wrapper = tmp_path / "wrapper"
    codex = installed_codex(matrix.cache).binary
    wrapper.write_text(DROPS_IT.format(python=sys.executable, codex=codex))
    wrapper.chmod(0o755)
    run = matrix.run("test_mine.py", f"--codex-bin={wrapper}@0.163.0", files=FILES)
    states = {key.promise: record for key, record in run.journal.states().items()}
    mine = states["user.test-mine-py-test-one"]
    assert (mine.verdict.value, mine.direction) == ("violates", "leak"), run.out
    assert states["start.sandbox-is-on"].verdict.value == "conforms", run.out


def test_a_command_finds_what_it_would_find_without_the_probe_before_it(matrix: Matrix) -> None:
    text = (
        "import re\n\n"
        "def test_plain(codex_sandbox):\n"
        "    script = 'cat; env; grep Sig /proc/self/status; echo $0 $#; exit 7'\n"
        "    seen = codex_sandbox.run('sh', '-c', script, 'me', '@NAME@', stdin=b'go\\nsaid\\n', env={'LANG': 'C'})\n"
        "    said = seen.stdout\n"
        "    assert seen.code == 7 and said.startswith('go\\nsaid\\n') and said.endswith('me 1\\n'), said\n"
        "    assert 'LC_CTYPE' not in said and 'LANG=C\\n' in said\n"
        # glibc's posix_spawn leaves signals 32 and 33 ignored, its own. Python 3.13 starts xdist's workers so.
        "    ignored, blocked = (int(re.search(name + ':\\t(.*)', said)[1], 16) for name in ('SigIgn', 'SigBlk'))\n"
        "    assert (ignored & ~0x180000000, blocked) == (0, 0), said\n\n"
        "def test_missing(codex_sandbox):\n"
        "    seen = codex_sandbox.run('/no/such/command')\n"
        "    assert (seen.code, seen.stderr) == (127, '/no/such/command: No such file or directory\\n')\n"
    )
    run = matrix.run("test_plain.py", files={"test_plain.py": text})
    assert run.code == 0, run.out


DECLARES = """
from pytest_codexsandbox.api import promise
from pytest_codexsandbox.model.act import Act

@promise({id!r}, kind="boundary", severity="high", source="me", policies=("workspace-write",),
         acts={{"write": Act(verb="write", path="@WORKSPACE@/@NAME@")}})
def test_declared(trial):
    trial.allowed("write")
"""


@pytest.mark.parametrize("words", [(), ("-n2",)])
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        DECLARES.format(id="mine.is-kept"),
        DECLARES.format(id="filesystem.workspace-writable"),  # a shipped promise must not be judged by it
        "def test_declared(trial):\n    pass\n",
    ],
    ids=["own", "shipped-id", "undeclared"],
)
def test_a_test_that_requests_the_fixture_of_shipped_promises_gets_the_name_of_the_right_one(
    matrix: Matrix, text: str, flag: bool, words: tuple[str, ...]
) -> None:
    plugins = ("xdist.plugin",) if words else ()
    run = matrix.run("test_mine.py", *words, files={"test_mine.py": text}, matrix=flag, plugins=plugins)
    assert run.code == 4, run.out
    assert "where  test_mine.py::test_declared" in run.out
    assert "`trial`" in run.out and "`codex_sandbox`" in run.out
    assert "INTERNALERROR" not in run.out
    assert run.reports == []


MARKED = """
import pytest

@pytest.fixture
def codex_sandbox(codex_sandbox):
    return codex_sandbox.run

def test_built_on_ours(codex_sandbox):
    assert codex_sandbox("true").code == 0

@pytest.mark.codex
def test_marked():
    pass

@pytest.mark.codex
def test_too_late(request):
    request.getfixturevalue("codex_sandbox")

def test_neither():
    pass
"""


def test_marked_tests_run_and_a_late_request_is_reported(matrix: Matrix) -> None:
    run = matrix.run("test_mine.py", files={"test_mine.py": MARKED})
    assert "1 failed, 4 passed, 1 deselected" in run.out, run.out
    assert "`codex_sandbox` was requested" in run.out
    states = {key.promise: record.verdict.value for key, record in run.journal.states().items()}
    assert states["user.test-mine-py-test-built-on-ours"] == "conforms", run.out
    assert len(states) == 3
    assert run.code == 1, run.out


def test_a_command_of_a_fixture_that_fails_belongs_to_its_result(matrix: Matrix) -> None:
    fixture = (
        "import pytest\n\n\n@pytest.fixture\ndef made(codex_sandbox):\n    codex_sandbox.run('true')\n"
        "    raise RuntimeError('of the fixture')\n\n\ndef test_made(made):\n    pass\n"
    )
    run = matrix.run("test_made.py", "--codex-only=user.*", files={"test_made.py": fixture})
    (record,) = [one for key, one in run.journal.states().items() if key.promise.startswith("user.")]
    assert (record.verdict.value, len(record.calls)) == ("broken", 4)
    assert (run.code, run.journal.contradicted) == (10, ()), run.out


def test_a_command_after_the_test_is_refused(matrix: Matrix) -> None:
    late = (
        "import pytest\n\n\n@pytest.fixture\ndef cleaned(codex_sandbox):\n    yield\n"
        "    codex_sandbox.run('true')\n\n\n"
        "def test_late(cleaned, codex_sandbox):\n    assert codex_sandbox.run('true').code == 0\n"
    )
    run = matrix.run("test_late.py", "--codex-only=user.*", files={"test_late.py": late})
    (record,) = [one for key, one in run.journal.states().items() if key.promise.startswith("user.")]
    assert (record.verdict.value, len(record.calls)) == ("broken", 4)
    assert (run.code, run.journal.contradicted) == (10, ()), run.out
