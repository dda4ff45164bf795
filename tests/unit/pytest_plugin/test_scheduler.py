"""Which items stay together, and which of them a worker gets next."""

import msgspec
import pytest

from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.pytest_plugin.collection import key_id
from pytest_codexsandbox.pytest_plugin.work_queue import CHUNK, WorkQueue
from pytest_codexsandbox.pytest_plugin.work_units import NOBODYS, WorkUnit, WorkUnitIndex
from tests.unit.matrix.builders import cell

HERE = "debian-12~host~local"


def generated(name: str) -> Cell:
    plain = cell("0.163.0", id=HERE)
    return msgspec.structs.replace(plain, subject=msgspec.structs.replace(plain.subject, generator=name))


CELLS = (
    cell("0.163.0", id=HERE), cell("0.163.0-mine", id=HERE), cell("0.163.0", id=f"my-{HERE}"),
    generated("good"), generated("zcf"),
)  # fmt: skip
GOOD, ZCF = CELLS[3].id, CELLS[4].id


def case_key(cell_id: str, case: str) -> Key:
    return Key(cell=cell_id, door="generator", policy="as-asked", promise="generator.does-not-grow", case=case)


KEYS = tuple(case_key(cell_id, case) for cell_id in (GOOD, ZCF) for case in ("", "01-none", "01-empty"))
OWNERS = WorkUnitIndex(CELLS, KEYS, SuiteIndex())


@pytest.mark.parametrize(
    ("nodeid", "environment"),
    [
        ("x.py::test_a[debian-12~host~local~codex-0.163.0-sandbox-read-only]", HERE),
        ("x.py::test_a[debian-12~host~local~codex-0.163.0-mine-sandbox-read-only]", HERE),
        ("x.py::test_a[my-debian-12~host~local~codex-0.163.0-sandbox-read-only]", f"my-{HERE}"),
        ("x.py::test_a[one-debian-12~host~local~codex-0.163.0-sandbox-read-only]", HERE),
        ("x.py::test_a[one]", ""),
        ("x.py::test_a", ""),
    ],
)
def test_an_item_belongs_where_its_cell_runs(nodeid: str, environment: str) -> None:
    assert OWNERS.share(nodeid) == WorkUnit(environment, environment)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (key_id(case_key(GOOD, "01-none")), "case 01-none"),
        (key_id(case_key(GOOD, "")), "case "),
        (f"{GOOD}-app-server-read-only", ""),
        (f"one-{GOOD}-app-server-read-only", ""),
        (key_id(case_key(GOOD, "in-no-plan")), ""),
    ],
)
def test_case_runs_of_a_generator_are_shared_case_by_case(words: str, part: str) -> None:
    assert OWNERS.share(f"x.py::test_a[{words}]") == WorkUnit(HERE, f"{HERE} good", part)


def names(*shares: WorkUnit) -> list[str]:
    return [repr(share) for share in shares]


def deck(*shares: WorkUnit) -> WorkQueue:
    by_name = {repr(share): share for share in shares}
    return WorkQueue(names(*shares), by_name.__getitem__)


FIRST = [WorkUnit("here", "here good", part) for part in ("", "case a", "case b")]
SECOND = [WorkUnit("here", "here zcf", part) for part in ("case a", "case b")]
ELSEWHERE = [WorkUnit("there", "there good", part) for part in ("", "case a", "case b", "case c")]


def test_a_worker_stays_with_a_family_then_with_an_environment_and_then_helps() -> None:
    there = deck(*FIRST, *SECOND, *ELSEWHERE)
    hers = there.next(NOBODYS)
    assert hers == (ELSEWHERE[0], [5])  # the largest
    last, mine = NOBODYS, []
    while (dealt := there.next(last)) is not None:
        last = dealt[0]
        mine.append(last)
    assert mine == [*FIRST, *SECOND, *ELSEWHERE[1:]]
    assert not there


def test_a_worker_that_is_done_helps_where_most_is_left() -> None:
    there = deck(*FIRST, *ELSEWHERE)
    hers, his = there.next(NOBODYS), there.next(NOBODYS)
    assert (hers, his) == ((ELSEWHERE[0], [3]), (FIRST[0], [0]))
    assert there.next(WorkUnit("a third", "one")) == (ELSEWHERE[1], [4])


def test_units_of_a_dead_worker_are_next() -> None:
    there = deck(*FIRST)
    there.next(NOBODYS)
    there.give_back(FIRST[0], [7, 8])
    assert there.next(FIRST[0]) == (FIRST[0], [7, 8])
    assert there.next(FIRST[0]) == (FIRST[1], [1])


def test_items_without_a_group_come_last_and_in_small_lots() -> None:
    there = deck(NOBODYS, FIRST[0])
    assert [there.next(NOBODYS), there.next(FIRST[0])] == [(FIRST[0], [1]), (NOBODYS, [0])]
    many = WorkQueue(["plain"] * (CHUNK + 1), lambda name: NOBODYS)
    assert many.next(NOBODYS) == (NOBODYS, list(range(CHUNK)))
    assert many.next(NOBODYS) == (NOBODYS, [CHUNK])
    assert many.next(NOBODYS) is None
