"""The three hooks for others: cells, records, fingerprints. What a hook does wrong is told as the hook's own fault."""

import sys
from pathlib import Path

import pytest

from pytest_codexsandbox.model.verdict import Verdict
from tests.fakes.machine import installed_codex
from tests.plugin.conftest import Done, Matrix

pytestmark = pytest.mark.live
ONLY = "--codex-only=process.exit-code-kept"
# The real one, whose sandbox does not start, in words that nobody knows.
DUMB = """#!{python} -IS
import os, sys
if "--" in sys.argv:
    sys.exit("my own odd words")
os.execv({codex!r}, [{codex!r}, *sys.argv[1:]])
"""
SAME = "import msgspec\n\n\ndef pytest_codexsandbox_cells(config, cells):\n"
TWO = (
    SAME
    + "    other = msgspec.structs.replace(cells[0].subject, label='b')\n"
    + "    cells.append(msgspec.structs.replace(cells[0], subject=other))\n"
)
FINGERPRINT = (
    'id = "odd-words"\nverdict = "sandbox"\ntexts = ["my own odd words"]\ncause = "It is the odd one."\n'
    'remedy = "Take another."\n\n[samples]\nmatch = ["my own odd words"]\nnot = ["other words"]\n'
)


def _run(matrix: Matrix, *words: str, conftest: str, **files: str) -> Done:
    return matrix.run(ONLY, *words, files={"conftest.py": conftest, **files})


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_a_cell_that_is_added_is_measured(matrix: Matrix, workers: tuple[str, ...]) -> None:
    plugins = ("xdist.plugin",) if workers else ()
    run = matrix.run(ONLY, *workers, files={"conftest.py": TWO}, plugins=plugins)
    assert run.code == 0, run.out
    states = {key: record.verdict for key, record in run.journal.states().items()}
    kept = {key.cell for key, verdict in states.items() if verdict is Verdict.CONFORMS}
    assert len(kept) == 2, run.out
    assert any(cell.endswith("~codex-b") for cell in kept)


def test_a_cell_that_is_left_out_is_reported(matrix: Matrix) -> None:
    text = TWO + "    del cells[0]\n"
    run = _run(matrix, conftest=text)
    assert run.code == 0, run.out
    assert {key.cell.rpartition("~")[2] for key in run.journal.states()} == {"codex-b"}
    (gone,) = [one for one in run.journal.plan.not_planned if one.kind == "excluded"]
    assert "codex-0." in gone.what
    assert "pytest_codexsandbox_cells" in gone.why


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("    cells.clear()\n", "no cell is left"),
        ("    cells.append(cells[0])\n", "is listed twice"),
        ("    cells.append('no')\n", "str is not a Cell"),
        (
            "    spec = msgspec.structs.replace(cells[0].environment, synthetic=True)\n"
            "    cells[0] = msgspec.structs.replace(cells[0], environment=spec)\n",
            "means something else than before",
        ),
        (
            "    two = msgspec.structs.replace(cells[0].environment, id='other')\n"
            "    one = msgspec.structs.replace(cells[0].subject, path='/bin/true', source='path')\n"
            "    cells.append(msgspec.structs.replace(cells[0], environment=two, subject=one))\n",
            "codex-0.163.0 means something else than before",
        ),
        ("    raise ValueError('by a hook')\n", "ValueError: by a hook ("),
    ],
)
@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_an_impossible_value_is_a_usage_error(matrix: Matrix, lines: str, told: str, workers: tuple[str, ...]) -> None:
    plugins = ("xdist.plugin",) if workers else ()
    run = matrix.run(ONLY, *workers, files={"conftest.py": SAME + lines}, plugins=plugins)
    assert run.code == 4, run.out
    assert told in run.out
    assert "pytest_codexsandbox_cells" in run.out
    assert run.reports == []


WRITES = (
    "from pathlib import Path\n\n\ndef pytest_codexsandbox_record(config, record):\n"
    "    with Path('seen').open('a') as file:\n        print(record.key, record.verdict.value, file=file)\n"
)


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_each_record_is_shown_once(matrix: Matrix, workers: tuple[str, ...]) -> None:
    plugins = ("xdist.plugin",) if workers else ()
    run = matrix.run(ONLY, *workers, files={"conftest.py": WRITES}, plugins=plugins)
    assert run.code == 0, run.out
    seen = (run.folder / "seen").read_text().splitlines()
    states = run.journal.states().items()
    assert sorted(seen) == sorted(f"{key} {record.verdict.value}" for key, record in states)
    assert len(seen) >= 3


def test_other_messages_at_the_end_of_a_run_are_shown_as_well(matrix: Matrix) -> None:
    known = (
        '[[deviation]]\nid = "never"\nwhere = {}\npromise = "process.exit-code-kept"\ndirection = "denied"\n'
        'fingerprint = "write-outside-roots"\nissue = "https://github.com/openai/codex/issues/1"\nowner = "me"\n'
        'until = 2099-01-01\nreason = "none"\n'
    )
    run = _run(matrix, "--codex-expectations=known.toml", conftest=WRITES, **{"known.toml": known})
    assert run.code == 12, run.out
    seen = [line for line in (run.folder / "seen").read_text().splitlines() if "exit-code-kept" in line]
    assert [line.rpartition(" ")[2] for line in seen] == ["conforms", "stale"]


def test_a_plugin_that_fails_in_a_hook_ends_no_run_and_makes_it_no_success(matrix: Matrix) -> None:
    text = "def pytest_codexsandbox_record(config, record):\n    raise KeyError('mine')\n"
    run = _run(matrix, conftest=text)
    assert run.code == 11, run.out
    shown = " ".join(run.out.split())
    assert "KeyError: 'mine'" in shown
    assert "conftest.py:2" in shown
    assert {record.verdict for record in run.journal.states().values()} == {Verdict.CONFORMS}
    end = run.journal.end
    assert end is not None
    assert end.exit == 11


def test_a_folder_of_fingerprints_explains_what_no_shipped_one_knows(matrix: Matrix) -> None:
    text = "def pytest_codexsandbox_fingerprints(config):\n    return ['known']\n"
    dumb = matrix.root / "dumb"
    dumb.write_text(DUMB.format(python=sys.executable, codex=installed_codex(matrix.cache).binary))
    dumb.chmod(0o755)
    words = (f"--codex-bin=dumb={dumb}@0.163.0", ONLY)
    told = []
    for files in ({}, {"conftest.py": text, "known/odd-words.toml": FINGERPRINT}):
        run = matrix.run(*words, files=files)
        records = run.journal.states().values()
        told.append({record.diagnosis.fingerprint for record in records if record.diagnosis})
        assert run.code == 1, run.out
    assert "odd-words" not in told[0]
    assert told[1] == {"odd-words"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [("'nowhere'", "the folder of fingerprints does not exist"), ("7", "TypeError"), ("1 / 0", "ZeroDivisionError")],
)
def test_a_wrong_folder_is_a_usage_error(matrix: Matrix, answer: str, told: str) -> None:
    run = _run(matrix, conftest=f"def pytest_codexsandbox_fingerprints(config):\n    return {answer}\n")
    assert run.code == 4, run.out
    assert told in run.out
    assert run.reports == []


def test_a_misspelt_hook_is_refused_by_pytest(matrix: Matrix) -> None:
    """The plugin names its hooks to pytest also where it is not asked for anything."""
    done = matrix.run(files={"conftest.py": "def pytest_codexsandbox_record(config, wrong):\n    pass\n"}, matrix=False)
    assert "wrong" in done.out, done.out
    assert done.code not in (0, 5), sys.version
    assert not list(Path(done.folder).glob(".codexsandbox"))
