"""The cause of a policy that is not in force is the key out of its place, or a key that is really in the files."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_codexsandbox import diagnosis
from pytest_codexsandbox.diagnosis.match import fingerprints
from pytest_codexsandbox.generators.deciding_key import (
    ANOTHER_LAYER,
    CAPTURED,
    VOIDED,
    with_cause,
    with_cause_of_acts,
    with_cause_of_loading,
)
from pytest_codexsandbox.generators.effective_policy import LOADS
from pytest_codexsandbox.model.generator import CONFIG, CaseRun, Files, Finding
from tests.unit.generators.builders import BLOCK, case_run, run, state

TABLE = b"[tui]\nnotifications = true\n"
AT_THE_END = TABLE + BLOCK
VOID = b'default_permissions = ":read-only"\n'
PROJECT = "@WORKSPACE@/.codex/config.toml"


def finding(
    reason: str = "another-mode", direction: str = "denied", saw: str = "read-only", claim: str = "c"
) -> Finding:
    return Finding(
        claim=claim,
        saw=saw,
        held=False,
        control="k",
        control_held=True,
        direction=direction,  # type: ignore[arg-type]
        reason=reason,
    )


def words(found: Iterable[Finding]) -> list[str]:
    return [one.reason for one in found]


def captured() -> CaseRun:
    return case_run(TABLE, AT_THE_END)


@pytest.mark.parametrize("reason", ["another-mode", "another-network", "root-missing"])
def test_a_captured_key_is_the_cause_of_what_codex_says(reason: str) -> None:
    assert words(with_cause([finding(reason)], captured())) == [CAPTURED]


def test_a_captured_key_is_the_cause_of_an_act_that_is_denied() -> None:
    assert words(with_cause_of_acts([finding("EROFS")], captured())) == [CAPTURED]


def test_a_sandbox_that_did_not_start_keeps_its_own_word() -> None:
    assert words(with_cause_of_acts([finding("writable-root-missing")], captured())) == ["writable-root-missing"]


def test_a_leak_keeps_its_own_word() -> None:
    assert words(with_cause([finding(direction="leak")], captured())) == ["another-mode"]
    assert words(with_cause_of_acts([finding("no-sandbox", "leak")], captured())) == ["no-sandbox"]


def test_findings_that_hold_or_were_not_asked_stay_unchanged() -> None:
    held = Finding(claim="c", saw="s", held=True, control="k", control_held=True)
    skipped = Finding(claim="c", saw="", held=False, control="", control_held=False, skipped="why")
    assert with_cause([held, skipped], captured()) == (held, skipped)


def test_a_file_without_default_permissions_is_never_said_to_be_voided_by_it() -> None:
    plain = case_run(TABLE, BLOCK + TABLE)
    assert words(with_cause([finding()], plain)) == ["another-mode"]
    assert words(with_cause_of_acts([finding("EROFS")], plain)) == ["EROFS"]


def test_default_permissions_is_blamed_at_its_place_in_the_file() -> None:
    void = case_run(VOID + TABLE, VOID + BLOCK + TABLE)
    assert words(with_cause([finding()], void)) == [VOIDED]
    assert words(with_cause_of_acts([finding("EROFS")], void)) == [VOIDED]


def test_a_trusted_project_is_blamed_where_it_decides() -> None:
    trusted = b'[projects."/stage/workspace"]\ntrust_level = "trusted"\n'
    after: Files = {CONFIG: state(BLOCK + trusted), PROJECT: state(b'sandbox_mode = "read-only"\n')}
    told = case_run(trusted, BLOCK + trusted, runs=(run(None, files=after),))
    assert words(with_cause([finding()], told)) == [ANOTHER_LAYER]


def test_a_key_that_a_string_has_swallowed_is_the_cause() -> None:
    swallowed = b"notes = '''\n" + BLOCK + b"'''\n"
    assert words(with_cause([finding()], case_run(b"notes = ''''''\n", swallowed))) == ["inside-a-string"]


def test_a_key_of_the_approval_is_no_cause_of_a_mode() -> None:
    own = b'approval_policy = "never"\n'
    told = case_run(TABLE, TABLE + own, alone=own)
    assert words(with_cause([finding(), finding("another-approval")], told)) == ["another-mode", CAPTURED]


@pytest.mark.parametrize(("line", "word"), [(4, CAPTURED), (2, "does-not-load")])
def test_a_file_that_does_not_load_is_called_captured_if_codex_names_that_line(line: int, word: str) -> None:
    error = (
        f"failed to load configuration: @CODEX_HOME@/config.toml:{line}:16: invalid type: string, expected a boolean"
    )
    found = with_cause_of_loading([finding("does-not-load", saw=error, claim=LOADS)], captured())
    assert words(found) == [word]


@pytest.mark.parametrize("word", ["another-mode", "another-network", "root-missing", "less-than-asked"])
def test_a_cause_that_fits_any_file_blames_no_key_that_may_be_absent(word: str) -> None:
    (known,) = (one for one in fingerprints() if one.id == f"generator-{word}")
    assert "default_permissions" not in known.cause + known.remedy
    assert Path(diagnosis.__file__ or "").parent.joinpath("fingerprints", f"generator-{VOIDED}.toml").is_file()
