"""The harness starts no tool that obeys settings of a folder where a subject could have written."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.generators.third_party import npm, pypi
from pytest_codexsandbox.generators.third_party.package import package_of
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.system import pip, process
from tests.unit.generators.third_party.builders import TOOL

ROOT = Path(__file__).resolve().parents[2] / "pytest_codexsandbox"
# Programs that read settings, hooks or code of the folder in which they are started, or above it.
TOOLS = {
    *("git", "hg", "svn", "gh", "npm", "npx", "yarn", "pnpm", "pip", "pip3", "uv", "poetry", "make", "cmake"),
    *("meson", "ninja", "cargo", "direnv", "mise", "tox", "nox", "pre-commit"),
}
NOT_STARTED = "a name in data; no program is started by it"
KNOWN = {
    ("generators/third_party/npm.py", "npm"): "in a folder of its own, with --ignore-scripts (tested below)",
    ("generators/third_party/package.py", "npm"): NOT_STARTED,
    ("generators/third_party/install.py", "npm"): "looks for it on PATH; starts nothing",
    ("environments/local.py", "make"): NOT_STARTED,
    ("guest/agent_server.py", "make"): NOT_STARTED,
    ("model/redact.py", "gh"): NOT_STARTED,
    ("releases/install.py", "npm"): NOT_STARTED,
    ("guest/world_flaws.py", "git"): "a bad fake Codex, in the repository that a promise laid with a program of ours",
    ("guest/facts.py", "git"): "looks for it on PATH; starts nothing",
    ("releases/artefact.py", "npm"): NOT_STARTED,
    ("releases/npm.py", "npm"): "`npm view` in the user's own folder, before any subject runs",
    ("releases/download_estimate.py", "npm"): NOT_STARTED,
    ("reports/headlines.py", "npm"): NOT_STARTED,
    ("selftest/fake_codexes.py", "git"): NOT_STARTED,
    ("commands/doctor.py", "npm"): NOT_STARTED,
    ("system/pip.py", "pip"): "the module of this Python, or the first on PATH: -P, wheels alone (tested below)",
    ("system/pip.py", "pip3"): "the first on PATH, in a folder of ours or of the user",
}


OURS = {  # promises whose control runs what a repository names: a program that the promise put there
    "protected.hostile-repository-runs-nothing": "its program makes one file in that world, which no subject has seen",
}


def words_of(path: Path) -> Iterator[str]:
    """Yields the words of the code: no docstrings, and a line of a command as its first word."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value.rpartition("/")[2] if node.value.startswith("/") else node.value


def test_every_place_that_names_such_a_tool_is_known_with_the_reason_why_it_is_safe() -> None:
    found = {
        (str(path.relative_to(ROOT)), word)
        for path in sorted(ROOT.rglob("*.py"))
        for word in words_of(path)
        if word in TOOLS
    }
    assert found - KNOWN.keys() == set(), "say here why it is safe, or do not start it"
    assert KNOWN.keys() - found == set(), "stale: no such word is there any more"


def test_a_module_is_started_without_the_current_folder_on_its_path() -> None:
    """`python -m NAME` runs NAME.py of the current folder before the installed module."""
    bare = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Tuple | ast.List):
                words = [one.value if isinstance(one, ast.Constant) else ast.unparse(one) for one in node.elts]
                own = any("pytest_codexsandbox" in word or "__name__" in word for word in map(str, words))
                options = [word for word in words if isinstance(word, str) and len(word) == 2 and word[0] == "-"]
                if len(options) > 2:  # a list of short options, and no command
                    continue
                if "-m" in words and not own and not {"-I", "-P"} & set(words) and "pytest" not in words:
                    bare.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert bare == []


def commands_of(promise: Promise) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    env = promise.call.env if promise.call else {}
    if promise.call and promise.call.argv:
        yield promise.call.argv, env
    for act in promise.acts.values():
        if act.verb in ("run", "become"):
            yield tuple(act.params["argv"]), {**env, **act.params.get("env", {})}


@pytest.mark.parametrize(
    "promise", [one for one, _ in promises(data_folder("scenarios"))], ids=lambda promise: promise.id
)
def test_git_in_a_promise_starts_no_program_of_a_repository(promise: Promise) -> None:
    """Its control runs without a sandbox."""
    for argv, env in commands_of(promise):
        named = [word for word in argv for part in word.split() if part.rpartition("/")[2] in TOOLS]
        assert named in ([], [argv[0]]), f"{argv}: a shell that starts a tool cannot be checked here"
        if named:
            assert argv[0] == "git", f"{argv[0]} obeys its folder: say here how it is kept from that"
            settings = {argv[place + 1] for place, word in enumerate(argv) if word == "-c"}
            safe = {"core.hooksPath=/dev/null", "core.fsmonitor=false", "safe.bareRepository=explicit"}
            assert safe <= settings or promise.id in OURS
            assert env.get("GIT_CONFIG_NOSYSTEM") == "1" and env.get("GIT_CONFIG_GLOBAL") == "/dev/null"
            assert env.get("GIT_CEILING_DIRECTORIES") == "@WORLD@"


def test_an_installer_runs_no_code_of_a_package(tmp_path: Path) -> None:
    package = package_of(TOOL)
    assert package is not None
    assert "--ignore-scripts" in npm._command("npm", "ci", tmp_path, tmp_path).argv
    asked = pypi._command(package, tmp_path, None, tmp_path / "log")
    assert ":all:" in asked.argv[asked.argv.index("--only-binary") :]
    assert pip.program()[1:] in ((), ("-P", "-m", "pip"))


def test_compiling_a_package_imports_none_of_its_modules(tmp_path: Path) -> None:
    for name in ("compileall", "pathlib", "struct"):
        (tmp_path / f"{name}.py").write_text("import os; os.mkdir(os.environ['RAN'])\n")
    ran = tmp_path / "ran"
    command = pypi._compiling(tmp_path)
    command.env["RAN"] = str(ran)
    done = process.run(command)
    assert (done.ended, done.exit) == ("exit", 0), done
    assert not ran.exists() and list((tmp_path / "__pycache__").iterdir())
