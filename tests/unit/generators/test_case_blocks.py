"""A case that needs the generator's block gets it, spoilt as it says, or says that it cannot be asked."""

import pytest

from pytest_codexsandbox.generators.case_blocks import filled
from pytest_codexsandbox.generators.managed_block import CaseNotApplicable
from pytest_codexsandbox.model.generator import Case
from tests.unit.generators.corpus_builders import KEYS, MARKERS, TABLES

BODY = b'sandbox_mode = "workspace-write"\nsandbox_workspace_write.network_access = false'


def case(config: bytes) -> Case:
    return Case(id="c", why="w", config=config, needs_block=True)


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (b"@BLOCK@\na = 1\n", KEYS + b"a = 1\n"),
        (b"@BEGIN@|@END@", b"# BEGIN x|# END x"),
        (b"@BEGIN@\n@BODY@\n", b"# BEGIN x\n" + BODY + b"\n"),
        (b"@BEGIN@\n@BODY:keys@\n@END@\n", KEYS),
        (b"@BLOCK:crlf@", KEYS.strip().replace(b"\n", b"\r\n")),
        (b"@BLOCK:spaces@", b"# BEGIN x  \n" + BODY + b"\n# END x  "),
        (b"@BLOCK:uncommented@", b"BEGIN x\n" + BODY + b"\nEND x"),
        (b"@BLOCK:indented@", b"  " + KEYS.strip().replace(b"\n", b"\n  ")),
        (b"@BLOCK:edited@", KEYS.strip().replace(b"workspace-write", b"read-only").replace(b"false", b"true")),
        (b"@HOME@ @OTHER@", b"@HOME@ @OTHER@"),
    ],
)
def test_the_block_is_put_where_it_is_wanted(config: bytes, text: bytes) -> None:
    found = filled(case(config), KEYS, MARKERS)
    assert found.config == text
    assert not found.needs_block


@pytest.mark.parametrize(
    ("config", "alone", "why"),
    [
        (b"@BLOCK@", None, "writes nothing"),
        (b"@BLOCK@", b"\n", "writes nothing"),
        (b"@BEGIN@", b"a = 1\n", "no marks"),
        (b"@BLOCK:keys@", TABLES, "opens tables"),
        (b"@BLOCK:tables@", KEYS, "opens no tables"),
        (b"@BLOCK:edited@", TABLES, "cannot be edited"),
        (b"@BLOCK:spaces@", b"a = 1\n", "cannot be spaces"),
    ],
)
def test_an_inapplicable_case_has_its_reason(config: bytes, alone: bytes | None, why: str) -> None:
    with pytest.raises(CaseNotApplicable, match=why):
        filled(case(config), alone, MARKERS)


def test_a_case_without_a_block_stays_as_it_is() -> None:
    plain = Case(id="c", why="w", config=b"@BLOCK@")
    assert filled(plain, KEYS, MARKERS) is plain
