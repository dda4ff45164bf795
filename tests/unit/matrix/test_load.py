"""Matrix files: what is shipped loads, what is wrong is said with file, line, column and key."""

from pathlib import Path

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.load import load, presets

GOOD = 'environments = ["local"]\nreleases = ["installed"]\n'


def refused(folder: Path, text: str) -> InputError:
    file = folder / "mine.toml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load(str(file))
    return caught.value


def test_the_default_is_this_machine_and_the_installed_codex() -> None:
    found = load("local")
    assert (found.environments, found.releases, found.doors) == (("local",), ("installed",), ("sandbox",))
    assert "danger-full-access" in found.policies


def test_the_preset_of_releases_names_at_most_eight() -> None:
    found = load("releases")
    assert 2 <= len(found.releases) <= 8


def test_a_file_of_ones_own_is_given_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD + 'policies = ["read-only"]\ndescription = "mine"\n')
    found = load(str(file))
    assert (found.preset, found.policies, found.description) == (str(file), ("read-only",), "mine")


def test_an_unknown_preset_is_answered_with_the_nearest_and_all_that_exist() -> None:
    with pytest.raises(InputError) as caught:
        load("lokal")
    assert "'lokal'" in caught.value.what
    assert "'local'?" in caught.value.why
    assert all(name in caught.value.why for name in presets())


def test_a_missing_file_is_not_taken_for_a_preset(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no matrix file"):
        load(str(tmp_path / "none.toml"))


def test_broken_toml_names_file_line_column_and_key(tmp_path: Path) -> None:
    error = refused(tmp_path, 'environments = ["local"]\nreleases = ["installed"\ndoors = 3\n')
    assert error.where.startswith(f"{tmp_path / 'mine.toml'}:3:")
    assert "key" in error.where
    assert error.why


def test_a_text_that_never_ends_is_placed_in_the_last_line(tmp_path: Path) -> None:
    error = refused(tmp_path, 'environments = ["local"]\ndescription = """never')
    assert ":2:" in error.where


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot read"):
        load(str(file))


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (GOOD + "surprise = 1\n", ":3:1 (surprise)", "unknown field `surprise`"),
        ('environments = ["local"]\nreleases = "installed"\n', ":2:1 (releases)", "expected `array`, got `str`"),
        ('environments = ["local"]\nreleases = ["installed", 3]\n', ":2:1 (releases)", "got `int`"),
        ('environments = ["local"]\n', ":1:1", "missing required field `releases`"),
        ('environments = ["locl"]\nreleases = ["installed"]\n', ":1:1 (environments)", "no 'locl'"),
        (GOOD + 'policies = ["read-onyl"]\n', ":3:1 (policies)", "no 'read-onyl'"),
        (GOOD + 'doors = ["unconfined"]\n', ":3:1 (doors)", "no 'unconfined'"),
        (GOOD + "policies = []\n", ":3:1 (policies)", "empty"),
        (GOOD + 'skip = ["sqlite.*", "sqlite.*"]\n', ":3:1 (skip)", "twice"),
        (GOOD + 'own_calls = ["sqlite.*", "sqlite.*"]\n', ":3:1 (own_calls)", "twice"),
        ('environments = ["local"]\nreleases = ["0.163.0", "0.163.0"]\n', ":2:1 (releases)", "twice"),
        ('environments = ["local"]\nreleases = ["the newest"]\n', ":2:1 (releases)", "not a Codex release"),
        (GOOD + '[[exclude]]\nwhere = { codexx = "0.1" }\nwhy = "x"\n', ":4:1 (where)", "no axis 'codexx'"),
        (GOOD + '[[exclude]]\nwhere = { codex = "<<1" }\nwhy = "x"\n', ":4:1 (where)", "not a version range"),
        (GOOD + '[[exclude]]\nwhere = { codex = "<1" }\nwhy = ""\n', ":5:1 (why)", "why is empty"),
        (GOOD + "[[exclude]]\nwhere = {}\nwhy = 'x'\n", ":4:1 (where)", "every cell"),
        (
            GOOD + '[[exclude]]\nwhere = { codex = "<1" }\nwhy = "x"\n[[exclude]]\nwhere = 1\nwhy = "x"\n',
            ":7:1 (where)",
            "got `int`",
        ),
    ],
)
def test_a_wrong_file_is_reported_with_its_place(tmp_path: Path, text: str, place: str, words: str) -> None:
    error = refused(tmp_path, text)
    assert words in error.what
    assert place in error.where


def test_an_empty_axis_is_refused_with_its_values(tmp_path: Path) -> None:
    assert refused(tmp_path, 'releases = ["installed"]\n').why == "known: docker, local"
    assert refused(tmp_path, 'environments = ["local"]\nreleases = []\n').why.startswith("known: installed")
