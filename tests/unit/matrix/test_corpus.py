"""A case is a folder: what is wrong with it is said with its place."""

from pathlib import Path

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.corpus import case, cases
from pytest_codexsandbox.model.generator import Intent

Contents = dict[str, str | bytes | None]
GIVEN: Contents = {
    "README.md": "# Mine\n\nIt broke\nsomewhere.\n\nMore.\n",
    "case.toml": 'group = "bytes"\n',
    "config.toml": b"a = 1\r\n",
}


def folder(tmp_path: Path, files: Contents | None = None, *, name: str = "01-mine") -> Path:
    made = tmp_path / name
    made.mkdir()
    for file, content in (GIVEN | (files or {})).items():
        if content is not None:
            (made / file).write_bytes(content.encode() if isinstance(content, str) else content)
    return made


def test_a_case_is_read_byte_for_byte(tmp_path: Path) -> None:
    found = case(folder(tmp_path))
    assert (found.id, found.why, found.config, found.mode, found.intent) == (
        "01-mine",
        "It broke somewhere.",
        b"a = 1\r\n",
        0o644,
        None,
    )


def test_everything_that_can_be_said_is_read(tmp_path: Path) -> None:
    text = """
group = "files"
input = "invalid"
needs_block = true
mode = 0o600
folder_mode = 0o555
link = "symlink"
files = { "@WORKSPACE@/.codex/config.toml" = "project.toml", "@ROOT0@/x/" = "" }
voids = "v"
notes = "n"

[wish]
roots = ["@ROOT0@", "a\\"b"]
network = "unsaid"
platform = "darwin"
version = ""
"""
    found = case(folder(tmp_path, {"case.toml": text, "project.toml": b"\xff"}))
    assert found.files == {"@WORKSPACE@/.codex/config.toml": b"\xff", "@ROOT0@/x/": b""}
    assert found.intent == Intent(roots=("@ROOT0@", 'a"b'), network=None, platform="darwin", version="")
    assert (found.input, found.needs_block, found.mode, found.folder_mode) == ("invalid", True, 0o600, 0o555)
    assert (found.link, found.voids, found.notes) == ("symlink", "v", "n")


def test_no_file_is_said_and_not_guessed(tmp_path: Path) -> None:
    missing: Contents = {"config.toml": None, "case.toml": 'group = "bytes"\nmissing = true\n'}
    assert case(folder(tmp_path, missing)).config is None


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"config.toml": None}, "no config.toml"),
        ({"case.toml": 'group = "bytes"\nmissing = true\n'}, "there is a config.toml"),
        ({"case.toml": 'group = "nosuch"\n'}, "nosuch"),
        ({"case.toml": 'group = "bytes"\nmood = 1\n'}, "mood"),
        ({"case.toml": 'group = "bytes"\nlink = "bent"\n'}, "bent"),
        ({"case.toml": 'group = "bytes"\n[wish]\nroot = []\n'}, "root"),
        ({"case.toml": "group =\n"}, "case.toml:1"),
        ({"case.toml": None}, "cannot read"),
        ({"README.md": None}, "README.md"),
        ({"README.md": "# Only a title\n"}, "does not say why"),
        ({"extra.toml": b""}, "extra.toml"),
        ({"case.toml": 'group = "bytes"\nfiles = {"@HOME@/x" = "nosuch"}\n'}, "nosuch"),
        ({"case.toml": 'group = "bytes"\nfiles = {"@HOME@/x" = "../etc"}\n'}, "etc"),
    ],
)
def test_a_wrong_case_is_reported_with_its_place(tmp_path: Path, files: Contents, said: str) -> None:
    made = folder(tmp_path, files)
    with pytest.raises(InputError) as problem:
        case(made)
    assert said in str(problem.value)
    assert str(made) in str(problem.value)


def test_a_folder_without_cases_and_a_name_that_is_none_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nosuch"):
        with pytest.raises(InputError):
            cases(path)
    folder(tmp_path, name="Not A Name")
    with pytest.raises(InputError, match="'Not A Name'"):
        cases(tmp_path)


def test_cases_come_by_name(tmp_path: Path) -> None:
    for name in ("b", "a"):
        folder(tmp_path, name=name)
    assert [one.id for one in cases(tmp_path)] == ["a", "b"]
