"""The user's own ini and plugins change neither what is collected nor what it means."""

import textwrap

import pytest

from pytest_codexsandbox.journal.store import read
from tests.fakes.machine import installed_codex
from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
SHORT = "--codex-only=process.exit-code-kept,sqlite.workspace-works"
INIS = {
    "stops at the first": "[pytest]\naddopts = -x\n",
    "warnings are errors": "[pytest]\nfilterwarnings = error\n",
    "other names": "[pytest]\npython_files = spec_*.py\npython_functions = check_*\ntestpaths = nowhere\n",
    "strict": "[pytest]\naddopts = --strict-markers --strict-config\n",
    "selects its own": "[pytest]\nmarkers = unit: the user's\naddopts = -m unit -k mine --deselect codex-scenarios\n",
    "quiet": "[pytest]\naddopts = -q --tb=no\n",
    "asks for a fixture of its own": "[pytest]\nusefixtures = database\n",
}


def _keys(matrix: Matrix, *words: str, ini: str = "", plugins: tuple[str, ...] = ()) -> dict[object, object]:
    run = matrix.run(SHORT, *words, files={"pytest.ini": ini} if ini else {}, plugins=plugins)
    assert run.code == 0, run.out
    return {key: record.verdict for key, record in run.journal.states().items()}


@pytest.fixture
def plain(matrix: Matrix) -> dict[object, object]:
    return _keys(matrix)


@pytest.mark.parametrize("name", INIS)
def test_an_ini_changes_nothing(matrix: Matrix, plain: dict[object, object], name: str) -> None:
    assert _keys(matrix, ini=INIS[name]) == plain


CONFTEST = """
import pytest

@pytest.fixture(autouse=True, params=["one", "two"])
def database(request):
    raise RuntimeError("no database here")

@pytest.fixture
def trial():
    return "of something else"
"""


def test_fixtures_of_the_users_conftest_are_for_the_users_tests(matrix: Matrix, plain: dict[object, object]) -> None:
    """Those of all tests would fail these, or multiply them; one may be called as ours is."""
    run = matrix.run(SHORT, files={"conftest.py": CONFTEST})
    assert run.code == 0, run.out
    assert {key: record.verdict for key, record in run.journal.states().items()} == plain
    assert f"{len(plain)} passed" in run.out


def test_workers_that_are_named_and_not_asked_for_change_nothing(matrix: Matrix, plain: dict[object, object]) -> None:
    """xdist starts none for `--tx` without `--dist`: pytest itself collects."""
    assert _keys(matrix, ini="[pytest]\naddopts = --tx 2*popen\n", plugins=("xdist.plugin",)) == plain


REPEATS = """
import pytest

def pytest_generate_tests(metafunc):
    metafunc.fixturenames.append("turn")
    metafunc.parametrize("turn", [1, 2], indirect=True)

@pytest.fixture
def turn(request):
    return request.param

def pytest_runtest_call(item):
    if "exit_code" in item.nodeid and item.callspec.params["turn"] == 2:
        item.obj = lambda **words: pytest.fail("the second time")
"""


def test_a_result_that_a_plugin_repeats_is_one_result_and_the_worst_attempt_counts(
    matrix: Matrix, plain: dict[object, object]
) -> None:
    run = matrix.run(SHORT, files={"repeats.py": REPEATS}, plugins=("repeats",))
    assert f"{2 * len(plain)} selected" in run.out, run.out
    found = run.journal.states()
    assert found.keys() == plain.keys()
    differ = {key.promise for key, record in found.items() if record.verdict != plain[key]}
    assert differ == {"process.exit-code-kept"}, run.out
    assert run.code == 10, run.out


def test_typed_selections_override_the_ini(matrix: Matrix, plain: dict[object, object]) -> None:
    found = _keys(matrix, "-k", "exit-code", ini="[pytest]\naddopts = -m unit -k mine\nmarkers = unit: the user's\n")
    assert found and found.keys() < plain.keys()


def test_the_ini_twins_mean_what_the_options_mean(matrix: Matrix, plain: dict[object, object]) -> None:
    only = SHORT.partition("=")[2]
    ini = f"[pytest]\ncodex_matrix = local\ncodex_only = {only}\ncodex_report = json\ncodex_timeout_scale = 2\n"
    run = matrix.run(files={"pytest.ini": ini}, matrix=False)
    assert run.code == 0, run.out
    assert {key: record.verdict for key, record in run.journal.states().items()} == plain
    assert (run.reports[0].parent / "report.json").exists()


def test_files_that_an_ini_names_lie_beside_it(matrix: Matrix, plain: dict[object, object]) -> None:
    """Wherever pytest is called; what is typed counts from there."""
    ini = (
        f"[pytest]\ncodex_matrix = my.toml\ncodex_only = {SHORT.partition('=')[2]}\ncodex_report_dir = out\n"
        "codex_expectations = known.toml\ncodex_bin = mine=codex@0.163.0\n"
    )
    files = {"ini/my.toml": 'environments = ["local"]\nreleases = ["installed"]\n', "ini/known.toml": ""}
    wrapper = f'#!/bin/sh\nexec {installed_codex(matrix.cache).binary} "$@"\n'
    run = matrix.run("-c", "ini/pytest.ini", files=files | {"ini/pytest.ini": ini, "ini/codex": wrapper}, matrix=False)
    assert run.code == 4 and "not executable" in run.out, run.out  # the file beside the ini, and no other
    (found,) = (run.folder / "ini" / "out").glob("*/journal.ndjson")
    assert len(read(found).plan.keys) == len(plain)
    typed = matrix.run(
        "-c", "ini/pytest.ini", "--codex-matrix=my.toml", files=files | {"ini/pytest.ini": ini}, matrix=False
    )
    assert typed.code == 4 and "file my.toml" in typed.out, typed.out


@pytest.mark.parametrize(
    ("word", "measured"), [("true", True), ("1", True), ("", True), ("false", False), ("0", False)]
)
def test_yes_and_no_in_an_ini_switch_the_matrix_on_and_off(matrix: Matrix, word: str, measured: bool) -> None:
    ini = f"[pytest]\ncodex_matrix = {word}\ncodex_only = process.exit-code-kept\n"
    run = matrix.run(files={"pytest.ini": ini}, matrix=False)
    assert run.code == (0 if measured else pytest.ExitCode.NO_TESTS_COLLECTED), run.out
    assert len(run.reports) == measured


@pytest.mark.skipif(int(pytest.__version__.partition(".")[0]) < 9, reason="native TOML came with pytest 9")
@pytest.mark.parametrize(
    "only", ['["process.exit-code-kept", "sqlite.workspace-works"]', '"process.exit-code-kept,sqlite.workspace-works"']
)
@pytest.mark.parametrize("report", ['["json", "markdown"]', '"json,markdown"'])
def test_native_toml_takes_lists_and_words(matrix: Matrix, plain: dict[object, object], only: str, report: str) -> None:
    text = f"[tool.pytest]\ncodex_matrix = true\ncodex_only = {only}\ncodex_report = {report}\ncodex_strict = false\n"
    run = matrix.run(files={"pyproject.toml": text}, matrix=False)
    assert run.code == 0, run.out
    assert {key: record.verdict for key, record in run.journal.states().items()} == plain
    assert (run.reports[0].parent / "report.md").exists()


def test_a_plugin_that_skips_everything_never_makes_it_greener(matrix: Matrix) -> None:
    conftest = """
        import pytest

        def pytest_runtest_setup(item):
            pytest.skip("not today")
    """
    run = matrix.run(SHORT, files={"skipper.py": textwrap.dedent(conftest)}, plugins=("skipper",))
    assert run.code != 0, run.out
    assert run.journal.counts()["conforms"] == 0


def test_the_users_tests_are_not_collected_without_a_path(matrix: Matrix) -> None:
    files = {"test_mine.py": "raise RuntimeError('imported')\n"}
    run = matrix.run(SHORT, files=files)
    assert run.code == 0, run.out
    assert "imported" not in run.out
