"""Files of known deviations: strict about names, owners, ranges and dates."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.expectation_files import load
from pytest_codexsandbox.model.deviation import Deviation
from pytest_codexsandbox.registry import data_folder

ENTRY = {
    "id": '"nested-git"', "promise": '"protected.nested-git"', "direction": '"leak"', "reason": '"by design"',
    "issue": '"https://example.org/1"', "owner": '"somebody"', "until": "2030-01-01",
}  # fmt: skip
KNOWN = ("protected.nested-git", "protected.git")


def text(**changed: str | None) -> str:
    entry = {name: value for name, value in (ENTRY | changed).items() if value is not None}
    return "[[deviation]]\n" + "".join(f"{name} = {value}\n" for name, value in entry.items())


def loaded(folder: Path, written: str, **known: Any) -> tuple[Deviation, ...]:
    file = folder / "known.toml"
    file.write_text(written)
    return load((file,), **known)


def refused(folder: Path, written: str, **known: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        loaded(folder, written, **known)
    return caught.value


def test_a_whole_entry_is_read(tmp_path: Path) -> None:
    where = '{ codex = ">=0.115,<0.155", policy = ["read-only", "workspace-*"], door = "sandbox" }'
    (found,) = loaded(
        tmp_path,
        text(where=where, case='"rename"', fingerprint='"userns-denied"', intermittent='"3/96"'),
        promises=KNOWN,
        fingerprints=("userns-denied",),
    )
    assert found.until == datetime.date(2030, 1, 1)
    assert found.where["policy"] == ("read-only", "workspace-*")
    assert (found.case, found.fingerprint, found.intermittent) == ("rename", "userns-denied", "3/96")


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    assert loaded(tmp_path, "# nothing is known yet\n") == ()


def test_a_promise_may_be_a_glob_that_meets_something(tmp_path: Path) -> None:
    assert len(loaded(tmp_path, text(promise='"protected.*"'), promises=KNOWN)) == 1


@pytest.mark.parametrize(
    ("changed", "line", "words"),
    [
        ({"owner": '""'}, 7, "owner is empty"),
        ({"issue": '" "'}, 6, "issue is empty"),
        ({"reason": '""'}, 5, "reason is empty"),
        ({"owner": None}, 1, "missing required field `owner`"),
        ({"until": None}, 1, "missing required field `until`"),
        ({"until": '"soon"'}, 8, "invalid RFC3339"),
        ({"until": "20300101"}, 8, "expected `date`, got `int`"),
        ({"direction": '"sideways"'}, 4, "invalid enum value 'sideways'"),
        ({"surprise": "1"}, 9, "unknown field `surprise`"),
        ({"promise": '"protected.nested-gti"'}, 3, "no 'protected.nested-gti'"),
        ({"promise": '"nothing.*"'}, 3, "no 'nothing.*'"),
        ({"fingerprint": '"userns-deneid"'}, 9, "no 'userns-deneid'"),
        ({"fingerprint": '"capability-lost"'}, 9, "lost capability"),
        ({"where": '{ distrro = "debian-12" }'}, 9, "no 'distrro'"),
        ({"where": '{ policy = "read-onyl" }'}, 9, "no 'read-onyl'"),
        ({"where": '{ door = "unconfined" }'}, 9, "no 'unconfined'"),
        ({"where": '{ door = "front" }'}, 9, "no 'front'"),
        ({"where": "{ policy = [] }"}, 9, "policy is an empty list"),
        ({"where": '{ codex = "<<0.1" }'}, 9, "not a version range"),
        ({"where": '{ codex = ["<0.1", "0.163.0"] }'}, 9, "a range stands alone"),
        ({"where": "{ codex = 3 }"}, 9, "got `int`"),
        ({"intermittent": '"often"'}, 9, "'often' is not a rate"),
        ({"intermittent": '"96/96"'}, 9, "'96/96' is not a rate"),
    ],
)
def test_a_wrong_row_is_reported_with_its_line(
    tmp_path: Path, changed: dict[str, str | None], line: int, words: str
) -> None:
    error = refused(tmp_path, text(**changed), promises=KNOWN, fingerprints=("userns-denied", "capability-lost"))
    assert words in error.what
    assert error.where.startswith(f"{tmp_path / 'known.toml'}:{line}:")


def test_the_line_is_the_one_of_the_entry_that_is_wrong(tmp_path: Path) -> None:
    good = text()
    error = refused(tmp_path, good + text(id='"another"', owner='""'))
    assert error.where.startswith(f"{tmp_path / 'known.toml'}:{len(good.splitlines()) + 7}:")
    assert "another" in error.what


def test_two_entries_of_one_id_are_refused_over_all_files(tmp_path: Path) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text(text())
    second.write_text(text())
    with pytest.raises(InputError, match="'nested-git'") as caught:
        load((first, second))
    assert str(first) in caught.value.where
    assert str(second) in caught.value.where


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        load((tmp_path / "none.toml",))


# ---- values that can fit nothing
HERE = {"distro": "debian-12", "environment": "debian-12~host~local", "codex": "mine", "generator": "tool"}


@pytest.mark.parametrize(
    ("where", "nearest"),
    [
        ('{ profile = "docker-defualt" }', "docker-default"),
        ('{ distro = ["debian-12", "debian-bookwrom"] }', "debian-bookworm"),
        ('{ distro = "debain-12" }', "debian-12"),
        ('{ bwrap = "0.8.1" }', "0.8.0"),
        ('{ user = "u100" }', "u1000"),
        ('{ codex = "0.1630.0x" }', "0.163.0"),
        ('{ codex = "mien" }', "mine"),
        ('{ generator = "toool" }', "tool"),
        ('{ kernel = "hst" }', "host"),
        ('{ engine = "doker" }', "docker"),
        ('{ arch = "x86-64" }', "x86_64"),
        ('{ environment = "debian-12~host~locl" }', "debian-12~host~local"),
        ('{ environment = "debian-bookworm~bwrap-distro~docker-default~rot" }', ""),
    ],
)
def test_a_value_that_can_fit_nothing_is_an_error_with_the_nearest_name(
    tmp_path: Path, where: str, nearest: str
) -> None:
    written = text(where=where)
    assert loaded(tmp_path, written), "without the cells of a run, no value is judged"
    (tmp_path / "known.toml").write_text(written)
    with pytest.raises(InputError) as caught:
        load((tmp_path / "known.toml",), cells=[HERE])
    assert ": where: " in caught.value.what
    assert "(where)" in caught.value.where
    assert not nearest or f"{nearest!r}?" in caught.value.why


@pytest.mark.parametrize(
    "where",
    [
        '{ profile = "seccomp-*", user = "u1000*", bwrap = "0.8.0-*" }',
        '{ distro = "ubuntu-24.04", environment = "*~local" }',
        '{ distro = "debian-13", environment = "fedora-44~host~local" }',  # of other machines
        '{ environment = "debian-*~bwrap-distro~docker-default~u1000" }',
        '{ environment = ["*~local", "debian-1*~host~local"] }',
        '{ codex = ">=0.115,<0.155", generator = "hermes-board-none" }',
        '{ codex = ["0.163.0", "candidate", "mine", "99.0.0"] }',
        '{ codex = "0.16*", generator = "multica-*", arch = "aarch64" }',
    ],
)
def test_a_value_of_another_run_or_machine_is_none(tmp_path: Path, where: str) -> None:
    (tmp_path / "known.toml").write_text(text(where=where))
    assert load((tmp_path / "known.toml",), cells=[HERE])


@pytest.mark.parametrize("beside", ["", "elsewhere"])
def test_values_of_a_users_own_are_known_from_beside_either_file(tmp_path: Path, beside: str) -> None:
    folder = tmp_path / beside
    (folder / "profiles").mkdir(parents=True)
    (folder / "profiles" / "mine.toml").write_text("")
    (tmp_path / "known.toml").write_text(text(where='{ profile = "mine" }'))
    assert load((tmp_path / "known.toml",), cells=[HERE], beside=tmp_path / beside if beside else None)


@pytest.mark.parametrize("cell", [HERE, {"distro": "debian-bookworm"}])
def test_shipped_deviations_name_only_what_there_is(cell: dict[str, str]) -> None:
    assert load((data_folder("matrix") / "expectations" / "known.toml",), cells=[cell])
