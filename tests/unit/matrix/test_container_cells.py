"""The container axes of a matrix file → cells."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import lockfile
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.matrix.combinations import LeftOut
from pytest_codexsandbox.matrix.container_cells import CellChooser, environments, spread, unavailable_values
from pytest_codexsandbox.matrix.exclusions import impossible
from pytest_codexsandbox.matrix.expand import expand
from pytest_codexsandbox.matrix.load import MatrixFile, load
from pytest_codexsandbox.matrix.plan import make
from pytest_codexsandbox.matrix.select import Selection
from pytest_codexsandbox.matrix.where_clause import fits
from pytest_codexsandbox.model.cell import EnvironmentSpec, SubjectSpec
from tests.unit.matrix.builders import environment, promise, traits
from tests.unit.matrix.container_builders import RELEASES, SMALL, choice, matrix, subjects, written

HERE = {"local": environment(arch="x86_64")}


def ids(made: CellChooser, strength: int = 0) -> list[str]:
    return [cell.id for cell in made.chosen(strength).cells]


def test_every_combination_is_a_cell_in_the_order_of_the_file(tmp_path: Path) -> None:
    made = choice(tmp_path, 'distros = ["debian-trixie", "debian-bookworm"]\nusers = ["u1000", "root"]')
    found = ids(made)
    assert len(found) == 2 * 2 * len(RELEASES)
    assert found[0] == "debian-trixie~bwrap-distro~docker-default~u1000~codex-0.114.0"
    assert found[3] == "debian-trixie~bwrap-distro~docker-default~root~codex-0.114.0"


def test_one_environment_is_one_object_for_all_its_cells(tmp_path: Path) -> None:
    cells = choice(tmp_path, 'distros = ["debian-trixie"]').chosen(0).cells
    assert len({id(cell.environment) for cell in cells}) == 1


def test_an_impossible_combination_is_reported_and_is_no_cell(tmp_path: Path) -> None:
    found = choice(tmp_path, SMALL).chosen(0)
    told = {(one.kind, one.why) for one in found.not_planned}
    assert all(
        any(kind == "impossible" and name in why for kind, why in told) for name in ("root", "busybox", ">=0.116")
    )
    assert not any("-setuid~" in cell.id and "~root~" in cell.id for cell in found.cells)
    assert not any("bwrap-0.8.0" in cell.id and "codex-0.114.0" in cell.id for cell in found.cells)
    planned = 3 * 4 * 2 * 2 * 3
    assert len(found.cells) + sum(_count(one.what) for one in found.not_planned) == planned


def _count(what: str) -> int:
    return int(what.split(" cells")[0]) if " cells, the first " in what else 1


def test_a_build_that_has_no_place_among_the_releases_is_measured_with_any_bubblewrap(tmp_path: Path) -> None:
    own = SubjectSpec(label="candidate", path="/codex")
    found = CellChooser(matrix(tmp_path, 'distros = ["debian-trixie"]\nbwraps = ["0.8.0"]'), (own,), arch="x86_64")
    assert len(found.chosen(0).cells) == 1


@pytest.mark.parametrize(
    ("where", "gone"),
    [
        ('distro = "debian-*", user = "root"', lambda id: id.startswith("debian-") and "~root~" in id),
        ('codex = "<0.150", profile = "docker-*"', lambda id: "docker-default" in id and "codex-0.163" not in id),
        ('environment = "debian-trixie~*~u1000"', lambda id: fnmatchcase(id, "debian-trixie~*~u1000~*")),
        ('engine = "docker", bwrap = ["none", "0.8.0"]', lambda id: "~bwrap-none~" in id or "~bwrap-0.8.0~" in id),
    ],
)
@pytest.mark.parametrize("strength", [0, 2])
def test_a_combination_that_a_file_excludes_is_no_cell(
    tmp_path: Path, where: str, gone: Callable[[str], bool], strength: int
) -> None:
    every = set(ids(choice(tmp_path, SMALL)))
    rest = f'[[exclude]]\nwhere = {{ {where} }}\nwhy = "not wanted"\n'
    without = choice(tmp_path, SMALL, rest=rest)
    assert {id for id in every if gone(id)} != set()
    assert set(ids(without)) == {id for id in every if not gone(id)}
    assert not [id for id in ids(without, strength) if gone(id)]


def test_cells_are_picked_and_every_pair_is_held(tmp_path: Path) -> None:
    found = choice(tmp_path, SMALL).chosen(2)
    assert found.picked is not None
    coverage = found.picked.coverage
    assert len(found.cells) < coverage.combinations / 3
    assert coverage.covered(cell.axes for cell in found.cells) == coverage.coverable
    whys = {one.why for one in coverage.uncoverable}
    assert sorted(name for why in whys for name in ("root", "busybox", ">=0.116") if name in why) == sorted(
        ("root", "busybox", ">=0.116")
    )
    assert len(whys) == 3


def test_too_many_combinations_are_not_planned_but_picked_from(tmp_path: Path) -> None:
    everything = "\n".join(
        f"{key} = {list(SHIPPED.values(axis))!r}"
        for key, axis in (("distros", "distros"), ("bwraps", "bwrap"), ("profiles", "profiles"), ("users", "users"))
    )
    made = choice(tmp_path, everything, codex=tuple(f"0.{minor}.0" for minor in range(120, 150)))
    with pytest.raises(InputError, match=r"\d{3} cells") as caught:
        made.chosen(0)
    assert "--codex-pairs 2" in caught.value.next_step


# ---- together with this machine
def test_containers_stand_beside_this_machine(tmp_path: Path) -> None:
    asked = matrix(tmp_path, 'distros = ["debian-trixie"]', rest='environments = ["local"]')
    found = expand(asked, environments=HERE, subjects=subjects("0.163.0"))
    assert [cell.environment.backend for cell in found.cells] == ["local", "docker"]
    assert found.cells[1].environment.arch == "x86_64"


def test_pairs_are_picked_among_containers_and_this_machine_is_measured_whole(tmp_path: Path) -> None:
    asked = matrix(tmp_path, SMALL, rest='environments = ["local"]')
    found = expand(asked, environments=HERE, subjects=subjects(), pairs=2)
    assert sum(cell.environment.backend == "local" for cell in found.cells) == len(RELEASES)
    assert found.coverage is not None
    assert found.coverage.covered(cell.axes for cell in found.cells) == found.coverage.coverable


def test_an_option_says_other_than_the_file(tmp_path: Path) -> None:
    asked = matrix(tmp_path, SMALL + "pairs = 2")
    counts = [
        len(expand(asked, environments=HERE, subjects=subjects(), pairs=pairs).cells) for pairs in (None, 2, 3, 0)
    ]
    assert counts[0] == counts[1] < counts[2] < counts[3]


def test_cells_of_a_made_up_refusal_are_marked(tmp_path: Path) -> None:
    found = choice(tmp_path, 'distros = ["debian-trixie"]\nprofiles = ["synthetic-mount", "docker-default"]')
    assert [cell.environment.synthetic for cell in found.chosen(0).cells] == [True] * 3 + [False] * 3


@pytest.mark.parametrize(
    ("glob", "kept"),
    [("debian-*~*", "debian-"), ("*~bwrap-none~*", "~bwrap-none~"), ("*~u1000~codex-0.136.0", "~u1000~codex-0.136.0")],
)
def test_globs_over_the_names_of_cells_choose_them(tmp_path: Path, glob: str, kept: str) -> None:
    cells = choice(tmp_path, SMALL).chosen(0).cells
    asked = (promise("start.is-on"), promise())
    found = make("mine", cells, asked, doors=traits("sandbox"), selection=Selection(only=(glob,)), platform="linux")
    assert [cell.id for cell in found.cells] == [cell.id for cell in cells if kept in cell.id]
    assert 0 < len(found.cells) < len(cells)


def test_a_deviation_names_the_axes_of_a_container(tmp_path: Path) -> None:
    cell = choice(tmp_path, 'distros = ["debian-trixie"]\nbwraps = ["0.8.0"]\nusers = ["u1000"]').chosen(0).cells[0]
    for where in (
        {"distro": "debian-*"},
        {"bwrap": "0.8.*"},
        {"profile": ("a", "docker-default")},
        {"user": "u1000"},
        {"environment": "debian-*~bwrap-0.8.0~*"},
        {"engine": "docker", "codex": ">=0.100"},
    ):
        assert fits(where, cell.axes, version="0.136.0"), where
    assert not fits({"distro": "fedora-*"}, cell.axes, version="0.136.0")


# ---- what cannot be had here
def of_fedora(spec: EnvironmentSpec) -> str:
    return "no registry answers" if spec.distro == "fedora-43" else ""


FEDORA = SMALL.replace('"busybox"', '"fedora-43"')


@pytest.mark.parametrize("strength", [0, 2, 3])
def test_an_unavailable_value_is_named_and_the_rest_covers_every_pair(tmp_path: Path, strength: int) -> None:
    asked = matrix(tmp_path, FEDORA)
    left = unavailable_values(environments(asked, arch="x86_64"), of_fedora)
    assert left == (LeftOut(values={"distro": "fedora-43"}, why="no registry answers"),)
    found = expand(asked, environments=HERE, subjects=subjects(), pairs=strength, left=left)
    assert [(one.what, one.why) for one in found.not_planned if one.kind == "unavailable"] == [
        ("fedora-43", "no registry answers")
    ]
    assert not any("fedora" in cell.id for cell in found.cells)
    if found.coverage is not None:
        assert "no registry answers" in {one.why for one in found.coverage.uncoverable}
        assert found.coverage.covered(cell.axes for cell in found.cells) == found.coverage.coverable


def test_a_run_without_available_cells_is_refused_with_the_reason(tmp_path: Path) -> None:
    asked = matrix(tmp_path, 'distros = ["fedora-43"]')
    left = unavailable_values(environments(asked, arch=""), of_fedora)
    with pytest.raises(InputError, match="fedora-43") as caught:
        expand(asked, environments=HERE, subjects=subjects(), left=left)
    assert "fedora-43: " in caught.value.why


# ---- locks
def lock(file: Path, made: CellChooser, strength: int = 2) -> None:
    lockfile.write(lockfile.path_of(file), strength, made.to_lock(strength))


def again(file: Path, *codex: str) -> tuple[MatrixFile, CellChooser]:
    asked = load(str(file))
    return asked, CellChooser(asked, subjects(*codex), arch="x86_64")


def test_a_lock_keeps_the_cells_and_a_new_value_adds_some(tmp_path: Path) -> None:
    file = written(tmp_path, SMALL)
    before = ids(again(file)[1], 2)
    lock(file, again(file)[1])
    assert ids(again(file)[1], 2) == before
    wider = ids(again(file, *RELEASES, "0.169.0")[1], 2)
    assert set(before) < set(wider)
    assert all("codex-0.169.0" in id for id in set(wider) - set(before))
    lock(file, again(file)[1])
    assert ids(again(file)[1], 2) == before


def test_a_lock_is_for_every_machine(tmp_path: Path) -> None:
    """What one machine cannot have is not dropped from it, and does not take other pairs along there."""
    file = written(tmp_path, FEDORA)
    lock(file, again(file)[1])
    asked, made = again(file)
    kept = [id for id in ids(made, 2) if "fedora" not in id]
    left = unavailable_values(environments(asked, arch="x86_64"), of_fedora)
    here = CellChooser(asked, subjects(), arch="x86_64", left=left).chosen(2)
    assert set(kept) <= {cell.id for cell in here.cells}
    assert here.picked is not None
    assert here.picked.coverage.covered(cell.axes for cell in here.cells) == here.picked.coverage.coverable


def test_a_lock_of_pairs_is_the_beginning_of_one_of_triples_and_not_the_other_way_round(tmp_path: Path) -> None:
    file = written(tmp_path, SMALL)
    lock(file, again(file)[1])
    pairs = set(ids(again(file)[1], 2))
    assert pairs < set(ids(again(file)[1], 3))
    lock(file, again(file)[1], strength=3)
    assert set(ids(again(file)[1], 2)) == pairs


def test_the_installed_codex_is_locked_by_that_name(tmp_path: Path) -> None:
    file = written(tmp_path, 'distros = ["debian-trixie", "debian-sid"]\nusers = ["root", "u1000"]')

    def made(version: str) -> CellChooser:
        own = SubjectSpec(label=version, release=version, source="installed")
        return CellChooser(load(str(file)), (own,), arch="x86_64")

    lockfile.write(lockfile.path_of(file), 2, made("0.163.0").to_lock(2))
    text = lockfile.path_of(file).read_text()
    assert '"installed"' in text
    assert "0.163.0" not in text
    assert {row[:-1] for row in made("0.169.0").locked(2)} == {row[:-1] for row in made("0.163.0").locked(2)}
    assert {row[-1] for row in made("0.169.0").locked(2)} == {"0.169.0"}


# ---- engines
def test_environments_are_spread_in_turn_and_keep_their_ids(tmp_path: Path) -> None:
    cells = choice(tmp_path, SMALL).chosen(0).cells
    hosts = ("unix:///a", "ssh://b", "tcp://c:2376")
    found = spread(cells, hosts)
    assert [cell.id for cell in found] == [cell.id for cell in cells]
    by_environment = {cell.environment.id: cell.environment.engine_host for cell in found}
    assert list(by_environment.values())[:4] == [*hosts, hosts[0]]
    assert all(by_environment[cell.environment.id] == cell.environment.engine_host for cell in found)
    assert spread(cells, ()) == cells


def test_this_machine_is_on_no_engine() -> None:
    cells = expand(
        MatrixFile(
            preset="mine", description="", environments=("local",), doors=(), policies=(), releases=("installed",)
        ),
        environments=HERE,
        subjects=subjects("0.163.0"),
        hosts=("unix:///a",),
    ).cells
    assert [cell.environment.engine_host for cell in cells] == [""]


def test_every_rule_that_is_shipped_speaks_of_values_that_are_shipped() -> None:
    names = {"distro": "distros", "bwrap": "bwrap", "profile": "profiles", "user": "users"}
    for rule in impossible():
        for axis, globs in rule.where.items():
            known = SHIPPED.values(names[axis])
            for glob in (globs,) if isinstance(globs, str) else globs:
                assert any(fnmatchcase(value, glob) for value in known), (axis, glob)
