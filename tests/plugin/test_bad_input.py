"""Every wrong word gets one clear error that says what exists; nothing of it ends in a traceback or a green run."""

import os
import stat
import textwrap
from pathlib import Path

import pytest

from pytest_codexsandbox.diagnosis.judge import NO_START
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.selftest import named, write
from tests.plugin.conftest import Matrix

SHORT = "--codex-only=process.exit-code-kept"


def _script(folder: Path, text: str) -> str:
    path = folder / "codex"
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--codex-matrix=locl"], ["locl", "local"]),
        (["--codex-matrix=nowhere.toml"], ["nowhere.toml"]),
        (["--codex-report=pdf"], ["pdf", "html"]),
        (["--codex-timeout-scale=0"], ["0", "factor"]),
        (["--codex-only=nothing.*"], ["nothing.*"]),
        (["--codex-skip=start.*"], ["start"]),
        (["--codex-release=0.136.0,,0.163.0"], ["empty"]),
        (["--codex-bin=x=/bin/true", "--codex-bin=x=/bin/false"], ["x"]),
        (["--codex-expectations=gone.toml"], ["gone.toml"]),
        (["--codex-pairs=4"], ["'4'", "--codex-pairs"]),
        (["--codex-keep-runs=0"], ["'0'", "--codex-keep-runs", "1 or more"]),
        (["--codex-keep-runs=all"], ["'all'", "--codex-keep-runs"]),
        (["--codex-budget=soon"], ["'soon'", "10m"]),
        (["--codex-docker-hosts=build2"], ["'build2'", "ssh://"]),
        (["-p", "no:codexsandbox-recording"], ["codexsandbox-recording"]),
        (
            ["--codex-only=sqlite.*", "--codex-skip=sqlite.*"],
            ["nothing is left to run", "--codex-skip excluded sqlite."],
        ),
        (["--codex-generator-in=mars"], ["--codex-generator-in", "no generator"]),
        (["--codex-generator-unconfined"], ["--codex-generator-unconfined", "no generator"]),
        (["--codex-bin="], ["--codex-bin: empty value"]),
        (["--codex-release", ""], ["--codex-release: empty value"]),
        (["--codex-generator= "], ["--codex-generator: empty value"]),
        (["-o", "codex_strict=perhaps"], ["'perhaps'", "codex_strict"]),
        (["--codex-pairs=2"], ["--codex-pairs has no effect here", "no [containers]", "--codex-matrix=pull-request"]),
        (["--codex-docker-hosts=unix:///x"], ["--codex-docker-hosts has no effect here", "no [containers]"]),
        (
            ["--codex-generator=good", "--codex-generator-unconfined", "--codex-generator-in=mars"],
            ["--codex-generator-unconfined has no effect beside --codex-generator-in"],
        ),
    ],
)
def test_a_wrong_word_is_a_usage_error(matrix: Matrix, words: list[str], said: list[str]) -> None:
    run = matrix.run(*words)
    assert run.code == 4, run.out
    assert "Traceback" not in run.out
    for text in said:
        assert text in run.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('environments = ["local"\n', ["my.toml:1"]),
        ('environments = ["mars"]\nreleases = ["installed"]\n', ["my.toml", "mars", "local"]),
        ('environments = ["local"]\nreleases = ["installed"]\npolices = []\n', ["my.toml", "polices"]),
        ('environments = ["local"]\nreleases = 5\n', ["my.toml", "releases"]),
    ],
)
def test_a_broken_matrix_file_is_an_error_with_its_place(matrix: Matrix, text: str, said: list[str]) -> None:
    run = matrix.run("--codex-matrix=my.toml", files={"my.toml": text}, matrix=False)
    assert run.code == 4, run.out
    assert "Traceback" not in run.out
    for word in said:
        assert word in run.out


@pytest.mark.live
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not a program\n", "it is neither an ELF program nor a script"),
        ("\x7fELF\x02\x01\x01" + "\0" * 9 + "\x02\0\x2b\0" + "\0" * 44, "this machine is"),
        ("#!/bin/sh\nkill -9 $$\n", "`codex --version` died by signal 9"),
        ("#!/bin/sh\nhead -c 3000 /dev/urandom\n", "`codex --version` printed "),
        ("#!/bin/sh\nexit 0\n", "`codex --version` printed ''"),
    ],
    ids=["text", "another machine's", "dies", "garbage", "silent"],
)
def test_a_binary_that_is_no_codex_is_one_error_with_the_reason(
    matrix: Matrix, tmp_path: Path, text: str, said: str
) -> None:
    run = matrix.run(SHORT, f"--codex-bin={_script(tmp_path, text)}@0.170.0")
    assert run.code == 4, run.out
    assert "Traceback" not in run.out
    assert said in run.out
    assert "never came" not in run.out


@pytest.mark.live
def test_a_binary_that_hangs_ends_by_its_limit(matrix: Matrix, tmp_path: Path) -> None:
    run = matrix.run(
        SHORT,
        "--codex-timeout-scale=0.1",
        f"--codex-bin={_script(tmp_path, '#!/bin/sh' + chr(10) + 'exec sleep 600' + chr(10))}",
    )
    assert run.code == 4, run.out
    assert "Traceback" not in run.out
    assert "`codex --version`" in run.out


MEASURED_OTHERWISE = """
from pytest_codexsandbox.releases import known_releases
known_releases.disagreement = lambda version, found: "sandbox is 'sandbox', was 'sandbox-linux'"
"""


@pytest.mark.live
def test_a_release_that_is_not_what_was_measured_of_it_is_red(matrix: Matrix) -> None:
    run = matrix.run(SHORT, files={"otherwise.py": MEASURED_OTHERWISE}, plugins=("otherwise",))
    assert run.code == 11, run.out
    states = run.journal.states().values()
    assert {record.verdict for record in states} == {Verdict.BROKEN}
    assert "sandbox is 'sandbox', was 'sandbox-linux'" in run.out


@pytest.mark.live
def test_a_codex_whose_sandbox_hangs_is_waited_for_once_and_not_for_every_call(matrix: Matrix, tmp_path: Path) -> None:
    (fake,) = named(["hang"])
    run = matrix.run(
        "--codex-only=process.exit-code-kept,process.interrupt-ends-the-call,process.stdin-arrives",
        "--codex-timeout-scale=0.1",
        f"--codex-bin={write(tmp_path, fake)}@0.163.0",
    )
    assert run.code in (10, 11), run.out
    calls = [call for call in run.journal.calls if not call.control]
    assert len(calls) == len({call.observation.policy for call in calls}), [call.observation.argv for call in calls]
    states = run.journal.states()
    assert {record.verdict for key, record in states.items() if key.promise.startswith("process.")} == {Verdict.BROKEN}


def test_a_report_folder_that_cannot_be_written_is_said_before_anything_runs(matrix: Matrix) -> None:
    run = matrix.run("--codex-report-dir=taken", files={"taken": "a file"})
    assert run.code == 4, run.out
    assert "taken" in run.out
    assert "--codex-report-dir" in run.out


def test_another_schemas_journal_is_refused(matrix: Matrix) -> None:
    folder = matrix.prepare(
        {"old.ndjson": '{"line": "run", "schema": 99, "id": "x", "started": ""}\n', "bad.ndjson": "\x00"}
    )
    for name in ("old.ndjson", "bad.ndjson", "gone.ndjson"):
        done = matrix.codexsandbox("report", name, folder=folder)
        assert done.returncode == 4, done.stderr
        assert name in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_a_home_that_cannot_be_written_is_one_error_that_says_what_to_set(matrix: Matrix) -> None:
    home = matrix.prepare({"home": "a file"}) / "home"
    run = matrix.run(SHORT, env={"HOME": str(home), "CODEXSANDBOX_CACHE": "", "XDG_CACHE_HOME": ""})
    assert run.code == 4, run.out
    assert "Traceback" not in run.out
    assert "CODEXSANDBOX_CACHE" in run.out


CLOSED = """
import os, pathlib

# As an ordinary user finds a home that is another user's; to root no folder is closed.
real, closed = os.stat, "/proc/closed"

def stat(path, *words, **named):
    if str(path).startswith(closed):
        raise PermissionError(13, "Permission denied", str(path))
    return real(path, *words, **named)

os.stat = stat
"""


def test_a_home_that_cannot_even_be_looked_into_is_the_same_error(matrix: Matrix) -> None:
    env = {"HOME": "/proc/closed", "CODEXSANDBOX_CACHE": "", "XDG_CACHE_HOME": ""}
    run = matrix.run(SHORT, env=env, files={"closing.py": CLOSED}, plugins=("closing",))
    assert run.code == 4, run.out
    assert "Traceback" not in run.out
    assert "CODEXSANDBOX_CACHE" in run.out


NO_USER_NAMESPACES = """
    import ctypes, platform, struct

    # The system calls by which a user namespace is made answer EPERM, as under a container's usual filter.
    CLONE, UNSHARE, CLONE3 = {"x86_64": (56, 272, 435), "aarch64": (220, 97, 435)}[platform.machine()]
    LOAD, EQUAL, ANY, RETURN = 0x20, 0x15, 0x45, 0x06
    PROGRAM = [
        (LOAD, 0, 0, 0),  # the number
        (EQUAL, 5, 0, CLONE3),
        (EQUAL, 1, 0, CLONE),
        (EQUAL, 0, 2, UNSHARE),
        (LOAD, 0, 0, 16),  # its flags
        (ANY, 2, 0, 0x10000000),  # CLONE_NEWUSER
        (RETURN, 0, 0, 0x7FFF0000),
        (RETURN, 0, 0, 0x00050000 | 38),  # clone3: ENOSYS, so that clone is taken
        (RETURN, 0, 0, 0x00050000 | 1),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in PROGRAM))

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    libc = ctypes.CDLL(None, use_errno=True)
    words = Filter(len(PROGRAM), ctypes.addressof(code))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(words), 0, 0) == 0, ctypes.get_errno()
"""


@pytest.mark.live
def test_no_user_namespaces_at_all_costs_one_block_and_the_rest_is_measured(matrix: Matrix) -> None:
    files = {"nobody_unshares.py": textwrap.dedent(NO_USER_NAMESPACES)}
    run = matrix.run("--codex-only=process.*,sqlite.*", files=files, plugins=("nobody_unshares",))
    assert run.code == 1, run.out
    states = run.journal.states()
    confined = [record for key, record in states.items() if POLICIES[key.policy].sandboxed]
    start = [record for record in confined if record.key.promise == "start.sandbox-is-on"]
    assert {(record.verdict, record.direction) for record in start} == {(Verdict.VIOLATES, "denied")}
    assert all(record.diagnosis and record.diagnosis.fingerprint.startswith("userns-") for record in start)
    rest = {record.verdict for record in confined if record.key.promise.partition(".")[0] in ("process", "sqlite")}
    assert rest <= {Verdict.BLOCKED, Verdict.NOT_APPLICABLE}
    free = {record.verdict for key, record in states.items() if key.policy == "danger-full-access"}
    assert Verdict.UNCONFINED in free
    assert free <= {Verdict.UNCONFINED, Verdict.NOT_APPLICABLE}
    assert run.out.count("   because ") == 1
    assert NO_START in run.out


@pytest.mark.live
def test_the_users_own_codex_folder_is_neither_read_nor_written(matrix: Matrix) -> None:
    """HOME has a `.codex` with a policy of its own; it is made unreadable in content and watched in time."""
    own = matrix.home / ".codex"
    trap = own / "config.toml"
    trap.write_text("this is = not [ toml\n")  # whoever reads it fails
    os.utime(trap, ns=(10**18, 10**18))
    before = {path.name: path.stat().st_mtime_ns for path in own.iterdir()} | {"": own.stat().st_mtime_ns}
    run = matrix.run("--codex-only=filesystem.*,process.exit-code-kept")
    assert run.code == 0, run.out
    after = {path.name: path.stat().st_mtime_ns for path in own.iterdir()} | {"": own.stat().st_mtime_ns}
    assert after == before
    assert sorted(path.name for path in matrix.home.iterdir()) == [".codex"]
    for line in run.journal.calls:
        assert str(own) not in " ".join((*line.observation.argv, *line.observation.env.values()))
