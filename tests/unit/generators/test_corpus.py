"""The corpus: every entry says why, is what it says it is, and lets every check be made that can be made."""

import re

import pytest

from pytest_codexsandbox.generators.checks.codex_toml import leaves, read
from pytest_codexsandbox.generators.checks.ownership import own
from pytest_codexsandbox.matrix.corpus import GROUPS, shipped_cases
from pytest_codexsandbox.model.generator import Case, Marker
from tests.unit.generators.builders import ANY, case_run
from tests.unit.generators.corpus_builders import KEYS, MARKERS, OF_CODEX, OF_THE_BLOCK, asked

FIRST = range(1, 78)  # a case that is gone leaves a gap


def test_every_entry_is_there_and_numbered() -> None:
    found = {int(case.id.partition("-")[0]) for case in shipped_cases()}
    assert found >= set(FIRST)
    assert found == set(range(1, len(found) + 1)), f"a new case takes a known number, or the next: {len(found)}"
    assert {case.group for case in shipped_cases()} == set(GROUPS)


def test_every_case_suits_a_generator() -> None:
    assert set(asked()) == {case.id for case in shipped_cases()}


@pytest.mark.parametrize("name", sorted(asked()))
def test_a_valid_file_is_toml_and_an_invalid_one_is_not(name: str) -> None:
    case = asked()[name]
    if case.config is not None:
        assert read(case.config).loads == (case.input == "valid" or name in OF_CODEX)


def test_known_facts_of_single_cases_still_hold() -> None:
    names = {case.id for case in shipped_cases()}
    assert {*OF_CODEX, *OF_THE_BLOCK} <= names


def test_an_ordinary_file_has_no_key_of_a_policy() -> None:
    ordinary = [case for case in shipped_cases() if case.ordinary]
    assert len(ordinary) >= 5
    for case in ordinary:
        assert (case.input, case.link, case.needs_block, case.voids, case.intent) == ("valid", "", False, "", None)
        words = {path[0] for path in leaves(read(case.config or b"").data)}
        assert not words & {"sandbox_mode", "sandbox_workspace_write", "approval_policy", "profile", "permissions"}


@pytest.mark.parametrize("case", shipped_cases(), ids=lambda case: case.id)
def test_a_case_that_needs_a_block_says_so(case: Case) -> None:
    assert case.needs_block == bool(re.search(rb"@(BLOCK|BEGIN|END|BODY)(:[a-z]+)?@", case.config or b""))
    assert len(case.why) > 20


def test_the_bytes_are_those_that_the_names_speak_of() -> None:
    """Version control, an editor or an unpacker may have changed them."""
    texts = {name: case.config or b"" for name, case in asked().items()}
    assert b"\n" not in texts["32-crlf"].replace(b"\r\n", b"")
    assert texts["33-mixed-ends"].count(b"\r\n") == 3
    assert texts["33-mixed-ends"].count(b"\n") > 3
    assert texts["34-bom"].startswith(b"\xef\xbb\xbf# ")
    assert texts["40-lone-cr"].count(b"\r") == 1
    assert b"\r\n" not in texts["40-lone-cr"]
    assert not texts["05-no-final-newline"].endswith(b"\n")
    assert len(texts["41-long-line"]) > 65536
    assert b"\xfc" in texts["37-invalid-utf-8"]
    assert texts["38-utf-16"].startswith(b"\xff\xfe")
    assert texts["39-nul"].count(b"\0") == 3
    assert "CAFE\u0301".encode() in texts["36-nfd"]


def test_a_generator_of_the_project_owns_its_keys_in_every_case() -> None:
    """What is inferred of a block that is filled in is the same as what is inferred alone."""
    marker = Marker(begin="# BEGIN x", end="# END x")
    for case in asked().values():
        found = own(case_run(case.config, KEYS, alone=KEYS, case=case), ANY)
        assert found.markers == MARKERS == (marker,)
        assert found.how == "inferred"
