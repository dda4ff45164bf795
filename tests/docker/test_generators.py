"""Generators in a container: its programs, its walls, our folders and rules."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.environments.local import LocalBackend
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.generators.case_run import CaseRunner, open_case_runner
from pytest_codexsandbox.generators.confinement import UNCONFINED
from pytest_codexsandbox.model.generator import CONFIG, Case, Declaration, GeneratorRun, Intent
from pytest_codexsandbox.model.generator_spec import Generator, Spec
from tests.docker.builders import container
from tests.fakes.machine import run_folder

CASE = Case(id="own", why="an ordinary file", config=b'# mine\nmodel = "x"\n', mode=0o640)


@pytest.fixture(scope="module", params=["root", "u1000"])
def runner(request: pytest.FixtureRequest) -> Iterator[CaseRunner]:
    with (
        run_folder() as folder,
        ContainerBackend().open(container(user=request.param), folder / "e") as environment,
        open_case_runner(folder / "w", UNCONFINED, environment=environment) as opened,
    ):
        yield opened


def sh(script: str, *words: str, **declared: object) -> Generator:
    spec = Spec(scheme="cmd", text=script, words=("sh", "-c", script, "sh", *words))
    return Generator(name="sh", spec=spec, declaration=Declaration(**{"timeout": 60.0, **declared}))  # type: ignore[arg-type]


def first(runner: CaseRunner, generator: Generator, case: Case = CASE) -> GeneratorRun:
    return runner.run_case(generator, case, Intent(roots=("@ROOT0@",)), version="0.163.0").first


def test_three_runs_are_on_the_same_files(runner: CaseRunner) -> None:
    case_run = runner.run_case(
        sh('echo "# $CXG_WRITABLE_ROOTS" >> "$1"', "@CONFIG@"), CASE, Intent(roots=("@ROOT0@",)), version=""
    )
    line = f'# ["{case_run.world["ROOT0"]}"]\n'.encode()
    assert [run.files[CONFIG].content for run in case_run.runs] == [(CASE.config or b"") + line * n for n in (1, 2, 3)]
    assert (case_run.before[CONFIG].content, case_run.before[CONFIG].mode) == (CASE.config, 0o640)
    assert case_run.confined.startswith("the environment debian-bookworm")


def test_it_runs_in_the_container_and_not_here(runner: CaseRunner) -> None:
    given = first(runner, sh("cat /etc/hostname; test -e /opt/tools && echo inside"))
    assert given.stdout == "machine\ninside\n"


def test_the_result_and_the_stub_work_as_they_do_here(runner: CaseRunner) -> None:
    given = first(runner, sh("""printf '{"argv": ["-c", "c=d"]}' > "$CXG_RESULT"; codex app-server -c c=d"""))
    assert (given.argv, given.told) == (("-c", "c=d"), True)
    assert given.launches[0].argv == ("app-server", "-c", "c=d")


def test_one_is_tried_in_a_container_whose_codex_is_another_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The container's own cells are of another release: the one that is asked is brought along."""
    matrix = tmp_path / "m.toml"
    matrix.write_text(
        'releases = ["0.169.0"]\n[containers]\ndistros = ["debian-bookworm"]\nbwraps = ["none"]\n'
        'profiles = ["seccomp-unconfined-systempaths"]\nusers = ["root"]\n'
    )
    script = (
        'codex --version > /dev/null && cat /etc/hostname && { grep -qs workspace-write "$1" || '
        'echo "sandbox_mode = \'workspace-write\'" > "$1"; }'
    )
    words = ("--case", "01-empty", "--wish", "plain", "--codex-matrix", str(matrix))
    inside = "debian-bookworm~bwrap-none~seccomp-unconfined-systempaths~root"
    where = ("--codex-generator-in", inside)
    code = main(["generator", "try", *words, *where, "--", "sh", "-c", script, "sh", "@CONFIG@"])
    shown = capsys.readouterr().out
    assert code == 0, shown
    assert re.search(r"confined by [a-z ]*environment", shown)
    assert "says: workspace-write, network off" in shown


def test_one_that_hangs_or_stays_is_ended(runner: CaseRunner) -> None:
    assert first(runner, sh("sleep 1000", timeout=1.0)).ended == "timeout"
    assert len(first(runner, sh("setsid sleep 1000 &")).survivors) == 1


@pytest.mark.parametrize("link", ["symlink", "hardlink", "symlinked-home", "missing-home"])
def test_links_are_created_and_seen(runner: CaseRunner, link: str) -> None:
    case = Case(id=link, why="links", config=b"a = 1\n", link=link)  # type: ignore[arg-type]
    before = runner.run_case(sh("true"), case, Intent(), version="").before
    kinds = {name: state.kind for name, state in before.items() if state.kind != "dir"}
    assert (
        kinds
        == {
            "symlink": {CONFIG: "symlink", "@HOME@/dotfiles/codex.toml": "file"},
            "hardlink": {CONFIG: "file", "@HOME@/dotfiles/codex.toml": "file"},
            "symlinked-home": {
                CONFIG: "file",
                "@HOME@/.codex": "symlink",
                "@HOME@/dotfiles/codex/config.toml": "file",
            },
            "missing-home": {"@CODEX_HOME@": "missing"},
        }[link]
    )


def test_a_program_that_is_not_in_there_is_not_started(runner: CaseRunner) -> None:
    gone = Generator(name="gone", spec=Spec(scheme="cmd", text="x", words=("nowhere-at-all",)))
    given = first(runner, gone)
    assert (given.ended, "nowhere-at-all" in given.error) == ("not-started", True)


def test_a_function_of_this_machine_is_no_program_in_there(runner: CaseRunner) -> None:
    given = first(runner, Generator(name="py", spec=Spec(scheme="py", text="json:dumps")))
    assert given.ended == "not-started"
    assert "in an environment" in given.error


def test_this_machine_as_an_environment_does_not_confine() -> None:
    with (
        run_folder() as folder,
        LocalBackend().open(this_machine(), folder / "e") as environment,
        pytest.raises(InputError, match="does not confine"),
    ):
        CaseRunner(folder / "w", UNCONFINED, environment=environment)
