"""That a Codex is still the program of which the journal tells."""

from pathlib import Path

import pytest

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.harness.codex_programs import BinaryGuard
from pytest_codexsandbox.model.observation import Link, Observation
from tests.unit.diagnosis.builders import observation, reading

INTERPRETER = Link(pid=1, exe="/usr/bin/dash", name="codex", inode=1)  # a script has its own name, not its own file


def seen(exe: str, inode: int) -> tuple[Observation, ...]:
    return (observation(readings=(reading(chain=(INTERPRETER, Link(pid=2, exe=exe, name="codex", inode=inode))),)),)


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    (tmp_path / "codex").write_text("#!/bin/sh\nexec /opt/now/codex")
    return tmp_path / "codex"


@pytest.fixture
def unchanged(tmp_path: Path, binary: Path) -> BinaryGuard:
    made = BinaryGuard(tmp_path / "cache")
    made.remember(str(binary))
    return made


def test_an_untouched_program_is_the_same(unchanged: BinaryGuard, binary: Path) -> None:
    binary.touch()
    unchanged.need(str(binary))
    unchanged.need("/of/a/subject/that/is/no/file")


@pytest.mark.parametrize(("change", "told"), [("written", "now"), ("gone", "gone")])
def test_one_that_was_replaced_says_nothing_any_more(
    unchanged: BinaryGuard, binary: Path, change: str, told: str
) -> None:
    binary.unlink()
    if change == "written":
        binary.write_text("#!/bin/sh\nexec /opt/old/codex")
    with pytest.raises(HarnessError, match="was replaced") as caught:
        unchanged.need(str(binary))
    assert caught.value.why.endswith(told)


def test_a_script_starts_one_program_from_the_first_call_to_the_last(unchanged: BinaryGuard, binary: Path) -> None:
    for _ in range(2):
        unchanged.need_started("here", str(binary), seen("/opt/now/codex", 7))
    unchanged.need_started("there", str(binary), seen("/brought/codex", 9))
    with pytest.raises(HarnessError, match="starts another program") as caught:
        unchanged.need_started("here", str(binary), seen("/opt/old/codex", 8))
    now, _, earlier = caught.value.why.partition(", ")
    assert now == "/opt/old/codex" and earlier.endswith(" /opt/now/codex")
    with pytest.raises(HarnessError) as caught:
        unchanged.need_started("here", str(binary), seen("/opt/now/codex", 8))
    assert caught.value.why.endswith(" /opt/now/codex") and "/opt/old" not in caught.value.why
