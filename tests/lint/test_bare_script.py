"""ci/bare, ci/bares: a bare run is green only where its output proves that both commands did their work."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lint.tracked import ROOT

MATRIX = "=== the matrix: true\n296 planned = 257 conforms + 14 unconfined\n==== 271 passed, 17 skipped in 5.79s ====\n"
BEGUN = "=== 12 s; the tests: true\n"
SKIPS = "SKIPPED [2] tests/a.py:1: needs npm: apt install npm\nSKIPPED [3] tests/b.py:2: needs npm: apt install npm\n"
GREEN = f"{MATRIX}{BEGUN}{SKIPS}==== 120 passed, 5 skipped in 75.48s (0:01:15) ====\n"
DOCKER = """#!/bin/sh
echo "$@" >>"$HEARD"
case $1 in
  images) echo codexsandbox/base-debian-trixie:1 ;;
  cp) cat >/dev/null ;;
  start) cat "$SAID"; exit "$CODE" ;;
esac
"""
README = "```sh\nmake matrix  # the matrix\nmake tests  # the tests\n```\n"


def bare(folder: Path, said: str, *words: str, code: int = 0, lacks: str = "nothing") -> tuple[int, str, str]:
    """Runs ci/bare on Debian 13."""
    return script(folder, said, "bare", "debian-trixie", "user", "100", *words, code=code, lacks=lacks)


def script(
    folder: Path, said: str, name: str, *words: str, code: int = 0, lacks: str = "nothing"
) -> tuple[int, str, str]:
    """Runs a script in a checkout of its own, with a container engine that says what it is given."""
    lacking = f'#!/bin/sh\ncase "$*" in "images build {lacks}"*) exit 1 ;; esac\n'
    programs = {"bin/docker": DOCKER, ".venv/bin/codexsandbox": lacking}
    for path, text in programs.items():
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(text)
        (folder / path).chmod(0o755)
    shutil.copytree(ROOT / "ci", folder / "ci")
    (folder / "README.md").write_text(README)
    (folder / "said").write_text(said)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for rest in (["init", "-q"], ["add", "README.md", "ci"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *rest], check=True, timeout=60)
    (folder / "tmp").mkdir()
    env = {
        **os.environ,
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "HEARD": str(folder / "heard"),
        "SAID": str(folder / "said"),
        "CODE": str(code),
        "TMPDIR": str(folder / "tmp"),
    }
    done = subprocess.run(
        [str(folder / "ci" / name), *words],
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert list((folder / "tmp").iterdir()) == [], "its folder is left behind"
    heard = (folder / "heard").read_text() if (folder / "heard").exists() else ""
    return done.returncode, done.stdout + done.stderr, heard


def test_a_run_that_proves_itself_is_green_and_counts_its_skips_by_reason(tmp_path: Path) -> None:
    code, said, heard = bare(tmp_path, GREEN)
    assert code == 0, said
    assert "\n     5  needs npm: apt install npm\n" in said
    assert said.endswith("ci/bare: debian-trixie as user:  120 passed, 5 skipped in 75.48s (0:01:15) \n")
    assert "README_MATRIX=make matrix -e README_TESTS=make tests " in heard
    assert heard.splitlines()[-1].startswith("rm -f codexsandbox-bare.")


def test_words_follow_the_second_command_alone(tmp_path: Path) -> None:
    _, _, heard = bare(tmp_path, GREEN, "tests/live", "-m", "live and not docker")
    assert "README_MATRIX=make matrix -e" in heard
    assert r"README_TESTS=make tests tests/live -m live\ and\ not\ docker " in heard


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        (MATRIX, 0, "the tests did not end"),
        (f"{MATRIX}{BEGUN}", 0, "the tests did not end"),
        (GREEN.replace("planned = ", ""), 0, "the matrix did not end"),
        (GREEN.replace("120 passed", "1 failed, 120 passed"), 0, "tests failed"),
        (GREEN.replace("5 skipped", "5 skipped, 2 errors"), 0, "tests failed"),
        (GREEN.replace("120 passed", "99 passed"), 0, "99 tests passed, at least 100 were expected"),
        (GREEN, 137, "exit code 137"),
    ],
)
def test_a_run_that_proves_nothing_is_red(tmp_path: Path, said: str, code: int, words: str) -> None:
    ended, shown, heard = bare(tmp_path, said, code=code)
    assert ended == 1 and words in shown, shown
    assert heard.splitlines()[-1].startswith("rm -f codexsandbox-bare.")


def test_an_unavailable_distribution_differs_from_a_red_run(tmp_path: Path) -> None:
    code, shown, _ = bare(tmp_path, GREEN, lacks="debian-trixie")
    assert code == 75 and "debian-trixie" in shown


# ---- ci/bares: on each distribution
ENOUGH = GREEN.replace("120 passed", "12000 passed")


def test_every_distribution_is_tried_as_both_users(tmp_path: Path) -> None:
    code, shown, heard = script(tmp_path, ENOUGH, "bares")
    assert code == 0, shown
    for distro in ("debian-bookworm", "debian-trixie", "ubuntu-24.04"):
        for user in ("root", "user"):
            assert f"ci/bare: {distro} as {user}:  12000 passed" in shown
    assert heard.count("rm -f codexsandbox-bare.") == 6
    assert heard.count("README_TESTS=make tests ") == 6 and heard.count("README_TESTS=make tests tests/contract ") == 5
    assert heard.count("README_TESTS=make tests tests/contract tests/lint tests/unit --ignore=tests/lint/") == 1
    left_out = re.findall(r" --ignore=(\S+)", heard)
    assert left_out and [name for name in left_out if not (ROOT / name).is_file()] == [], "what is left out is there"


def test_one_red_run_makes_all_of_it_red(tmp_path: Path) -> None:
    code, shown, _ = script(tmp_path, ENOUGH.replace("12000", "9100"), "bares")
    assert code == 1
    assert "debian-trixie as user: 9100 tests passed, at least 10000 were expected" in shown
    assert shown.count("9100 passed, 5 skipped in 75.48s (0:01:15) \n") == 5, "the others were tried nevertheless"


@pytest.mark.parametrize(("lacks", "code"), [("ubuntu-24.04", 0), ("debian-bookworm", 1)])
def test_an_unavailable_ubuntu_is_named_and_a_debian_is_red(tmp_path: Path, lacks: str, code: int) -> None:
    ended, shown, _ = script(tmp_path, ENOUGH, "bares", lacks=lacks)
    assert ended == code, shown
    assert f"{lacks} " in shown
    assert len(re.findall(rf"NOT TRIED.*: {lacks} as ", shown)) == (0 if code else 2)
