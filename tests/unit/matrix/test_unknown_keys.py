"""A misspelt key of any of our TOML files is answered with the nearest one of the table that it stands in."""

import re
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import expectation_files, generator_files, load
from pytest_codexsandbox.matrix.axis_files import Catalogue

GOOD = 'releases = ["0.163.0"]\nenvironments = ["local"]\n'


@pytest.mark.parametrize(
    ("text", "nearest", "place"),
    [
        (f"{GOOD}polices = []\n", "policies", ":3:1"),
        (f"{GOOD}[containers]\ndistro = ['debian-trixie']\n", "distros", ":4:1"),
        (f"{GOOD}[[exclude]]\nwhere = {{}}\nwhyy = 'x'\n", "why", ":5:1"),
    ],
)
def test_unknown_keys_of_a_matrix_file(tmp_path: Path, text: str, nearest: str, place: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load.load(str(file))
    assert re.match(rf"[a-z ]+ {nearest!r}\? known: ", caught.value.why)
    assert place in caught.value.where


def test_unknown_keys_of_a_profile(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.toml").write_text("secomp = 'unconfined'\n")
    with pytest.raises(InputError) as caught:
        Catalogue(beside=tmp_path).profile("mine")
    assert "'seccomp'?" in caught.value.why


@pytest.mark.parametrize(("text", "nearest"), [("runn = 'x'\n", "run"), ("[[semantics]]\nwhenn = {}\n", "when")])
def test_unknown_keys_of_a_declaration(tmp_path: Path, text: str, nearest: str) -> None:
    file = tmp_path / "tool.toml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        generator_files.load(file)
    assert f"{nearest!r}?" in caught.value.why


def test_unknown_keys_of_an_expectation(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text("[[deviation]]\nid = 'x'\nowners = 'me'\n")
    with pytest.raises(InputError) as caught:
        expectation_files.load((file,))
    assert "'owner'?" in caught.value.why
