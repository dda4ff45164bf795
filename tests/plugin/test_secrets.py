"""No secret that a call, a file, a test or a generator holds is found in anything that a run leaves or shows."""

import base64
import re
import shutil
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.registry import names
from pytest_codexsandbox.selftest.fake_codex_script import write
from pytest_codexsandbox.selftest.fake_codexes import ALLOW_ALL
from tests.plugin.conftest import Done, Matrix

pytestmark = pytest.mark.live
# Put together at run time, so that no scanner takes this file for a leak. Each secret stands in one place only.
LOOKS = "gh" + "p_" + "0123456789abcdef" * 2
PLACES = (
    "argv",
    "env",
    "stdin",
    "given",
    "name",
    "printed",
    "link",
    "assertion",
    "header",
    "flag",
    "generator",
    "file",
)
TOKENS = {place: f"{LOOKS}{number:02d}" for number, place in enumerate(PLACES)}
NAMED = "~Quagga7.named.by.its.variable"
AMBIENT = "/Zebra8.of/the.users.own.shell"  # no path of this machine
FLAG = "Okapi9.behind.a.flag"
SECRETS = (*TOKENS.values(), NAMED, AMBIENT, FLAG)
MINE = """
    import os
    from pytest_codexsandbox.model.act import Given
    TOKENS, NAMED, AMBIENT = {tokens!r}, {named!r}, os.environ["QUAGGA_SERVICE_TOKEN"]

    def test_holds_secrets(codex_sandbox):
        print("the user's own test prints", TOKENS["printed"], AMBIENT)
        seen = codex_sandbox.run(
            "sh", "-c",
            "env; cat; cat given; echo $PLAIN $MY_API_KEY $0 >&2; echo $PLAIN > " + TOKENS["file"] + "; false",
            TOKENS["argv"],
            env={{"PLAIN": TOKENS["env"], "MY_API_KEY": NAMED, "OTHER": AMBIENT}},
            stdin=(TOKENS["stdin"] + " " + AMBIENT).encode(),
            given=[
                Given(kind="file", path="@WORKSPACE@/given", content=TOKENS["given"] + " " + NAMED),
                Given(kind="symlink", path="@WORKSPACE@/link", content=TOKENS["link"]),
                Given(kind="file", path="@WORKSPACE@/" + TOKENS["name"]),
            ],
            looks=["@WORKSPACE@/given", "@WORKSPACE@/link", "@WORKSPACE@/" + TOKENS["file"]],
        )
        assert NAMED in seen.stderr and AMBIENT in seen.stdout, "a test reads what its command printed"
        assert seen.code == 0, "as in Authorization: Bearer " + TOKENS["header"]

    def test_fails_with_one(codex_sandbox):
        seen = codex_sandbox.run("sh", "-c", "touch @OUTSIDE@/x", "--password", "{flag}")
        assert (seen.code, TOKENS["assertion"]) == (0, AMBIENT)
"""
GENERATOR = """
    import os, sys
    token, target = sys.argv[1:]
    print("writes", token, file=sys.stderr)
    print(token)
    with open(target, "w") as file:
        file.write(f'sandbox_mode = "workspace-write"\\n# {{token}}\\n')
    os._exit(3)
"""
# What the agents and the inits of generators wrote to their logs, before the run removes them.
KEEPS_LOGS = """
    import os, pathlib, pytest

    def keep():
        for top in (pathlib.Path(os.environ["CODEXSANDBOX_CACHE"]), pathlib.Path(os.environ["HOME"])):
            for log in top.rglob("*.log"):
                target = pathlib.Path("logs") / str(log).strip("/").replace("/", "-")
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(log.read_bytes())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown():
        keep()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish():
        keep()
"""
FILES = {
    "test_mine.py": textwrap.dedent(MINE).format(tokens=TOKENS, named=NAMED, flag=FLAG),
    "writes.py": textwrap.dedent(GENERATOR).format(),
    "logs.py": textwrap.dedent(KEEPS_LOGS),
}
SHOWN = ("--junitxml=junit.xml", "--alluredir=allure", "-vv", "-rA", "--showlocals", "--setup-show")
RUNS = {
    "own tests": ("test_mine.py",),
    "own tests, two workers": ("test_mine.py", "-n2"),
    "a generator": (
        f"--codex-generator=cmd:{sys.executable} @CWD@/writes.py {TOKENS['generator']} @CONFIG@",
        "--codex-only=generator.exit-and-refusal-agree,generator.parses,generator.comments-stay",
        "-k=01-empty or 26-default",
    ),
    "no sandbox": ("--codex-only=process.environment-passed,process.stdin-arrives,filesystem.outside-change-refused",),
}


@pytest.fixture(scope="module", params=RUNS)
def run(
    request: pytest.FixtureRequest, codex_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Done, Matrix]]:
    root = tmp_path_factory.mktemp("secrets")
    home = codex_cache / f"home-{list(RUNS).index(request.param)}"
    (home / ".cache").mkdir(parents=True)
    matrix = Matrix(root=root, home=home, cache=home / ".cache" / "own")
    words = [word.replace("@CWD@", str(root / "run1")) for word in RUNS[request.param]]
    if request.param == "no sandbox":
        words.append(f"--codex-bin={write(tmp_path_factory.mktemp('fake'), ALLOW_ALL)}")
    formats = ",".join(names("reporters"))
    done = matrix.run(
        *words, f"--codex-report={formats}", *SHOWN, files=FILES,
        env={"QUAGGA_SERVICE_TOKEN": AMBIENT, "PYTHONPATH": str(root / "run1")},
        plugins=("allure_pytest.plugin", "xdist", "logs"),
    )  # fmt: skip
    yield done, matrix
    shutil.rmtree(home, ignore_errors=True)


def written(done: Done, matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Everything that the run left or showed, and everything that is encoded in it, by its name."""
    folder = done.reports[0].parent
    sources = {done.folder / name for name in FILES}
    kept = [*done.folder.rglob("*"), *matrix.cache.rglob("*")]
    for path in kept:
        if path.is_file() and path not in sources and path.suffix != ".pyc":
            yield f"{path.relative_to(matrix.root) if path.is_relative_to(matrix.root) else path}", read(path)
    yield "the names of the files", "\n".join(map(str, kept))
    yield "the screen", done.out
    for words in (("diagnose", folder), ("report", folder, "-v"), ("report", folder, "--format", "json")):
        told = subprocess.run(
            [sys.executable, "-m", "pytest_codexsandbox", *map(str, words)], capture_output=True, text=True, check=False
        )
        assert told.returncode in (0, 1), told.stderr
        yield f"codexsandbox {words[0]}", told.stdout


def read(path: Path) -> str:
    """Returns a file's text, and that of each word in it that is base64 or a plan of the probe."""
    text = path.read_bytes().decode("latin-1")
    found = [text]
    for word in set(re.findall(r"[A-Za-z0-9+/]{16,}={0,2}", text)):
        try:
            data = base64.b64decode(word, validate=True)
        except ValueError:
            continue
        found.append(data.decode("latin-1"))
        try:
            found.append(zlib.decompress(data).decode("latin-1"))
        except zlib.error:
            continue
    return "\n".join(found)


def test_no_secret_is_found_in_what_a_run_leaves_and_shows(run: tuple[Done, Matrix]) -> None:
    done, matrix = run
    assert done.code in (0, 1, 10), done.out
    found = dict(written(done, matrix))
    leaked = {(name, secret) for name, text in found.items() for secret in SECRETS if secret in text}
    assert leaked == set(), sorted(leaked)


def test_the_secrets_were_there_and_their_places_are_marked(run: tuple[Done, Matrix]) -> None:
    """Else nothing was looked for where something could be found."""
    done, _ = run
    logs = {log.name.rpartition("-")[2] if "run-init" not in log.name else "run-init.log" for log in logs_of(done)}
    assert "agent.log" in logs, logs
    words = " ".join(done.journal.run.invocation)
    if "test_mine" in words:
        calls = [call.observation for call in done.journal.calls]
        assert any("PLAIN=[redacted]" in one.stdout and "[redacted]" in one.stderr for one in calls)
        repros = list(done.reports[0].parent.rglob("repro/*.sh"))
        assert repros and "[redacted]" in "".join(map(read, repros))
        assert "the user's own test prints [redacted] [redacted]" in done.out
    if "--codex-generator" in words:
        assert "run-init.log" in logs and "[redacted]" in words
        runs = [one for story in done.journal.stories for one in story.runs]
        assert any("writes [redacted]" in one.stderr for one in runs)


def logs_of(done: Done) -> list[Path]:
    return sorted((done.folder / "logs").iterdir())
