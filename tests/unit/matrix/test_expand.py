"""From a matrix file to cells."""

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.expand import cells, expand
from pytest_codexsandbox.matrix.load import Exclude, MatrixFile
from pytest_codexsandbox.model.cell import SubjectSpec
from tests.unit.matrix.builders import environment

HERE = {"local": environment()}


def matrix(*exclude: Exclude) -> MatrixFile:
    return MatrixFile(
        preset="mine",
        description="",
        environments=("local",),
        doors=("sandbox",),
        policies=("read-only",),
        releases=("installed",),
        exclude=exclude,
    )


def subjects(*labels: str) -> tuple[SubjectSpec, ...]:
    return tuple(SubjectSpec(label=label, release=label) for label in labels)


def test_every_environment_meets_every_codex_in_the_order_given() -> None:
    found = cells(matrix(), environments=HERE, subjects=subjects("0.163.0", "0.40.0"))
    assert [cell.id for cell in found] == ["debian-12~host~local~codex-0.163.0", "debian-12~host~local~codex-0.40.0"]


def test_two_binaries_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="'candidate'"):
        cells(matrix(), environments=HERE, subjects=subjects("candidate", "candidate"))


def test_a_label_that_cannot_stand_in_a_cell_id_is_refused_with_one_that_can() -> None:
    with pytest.raises(InputError) as caught:
        cells(matrix(), environments=HERE, subjects=subjects("My Build"))
    assert "my-build" in caught.value.next_step


def test_an_unknown_environment_is_refused() -> None:
    with pytest.raises(InputError, match="no environment 'local'"):
        cells(matrix(), environments={}, subjects=subjects("0.163.0"))


def test_an_excluded_cell_is_kept_with_its_reason() -> None:
    away = Exclude(where={"codex": "<0.100", "distro": "debian-*"}, why="too old")
    found = expand(matrix(away), environments=HERE, subjects=subjects("0.163.0", "0.40.0"))
    assert [cell.subject.label for cell in found.cells] == ["0.163.0"]
    assert [(one.what, one.why) for one in found.not_planned] == [("debian-12~host~local~codex-0.40.0", "too old")]


def test_a_candidate_is_placed_by_the_version_that_its_user_gave() -> None:
    old = SubjectSpec(label="candidate", path="/codex", as_version="0.50.0")
    unplaced = SubjectSpec(label="other", path="/codex")
    found = expand(
        matrix(Exclude(where={"codex": "<0.100"}, why="too old")), environments=HERE, subjects=(old, unplaced)
    )
    assert [cell.subject.label for cell in found.cells] == ["other"]


def test_excluding_everything_is_an_error() -> None:
    with pytest.raises(InputError, match="no cell"):
        cells(matrix(Exclude(where={"distro": "*"}, why="none")), environments=HERE, subjects=subjects("0.163.0"))
