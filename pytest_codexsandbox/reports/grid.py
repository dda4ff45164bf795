"""Grid: the matrix as data for every report: rows are promises, columns are (cell, door, policy), a field is a verdict.

Cells with equal fields form one group. Pure, and linear in the number of planned keys.
"""

from collections.abc import Iterable, Sequence

import msgspec

from pytest_codexsandbox.model.journal_lines import CellRow
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.model.verdict import WORST_FIRST, Verdict, worst
from pytest_codexsandbox.reports.generator_tally import tally
from pytest_codexsandbox.reports.headlines import SYNTHETIC


class Column(msgspec.Struct, frozen=True):
    """A column within a cell: door and policy."""

    door: str
    policy: str


class GridRow(msgspec.Struct, frozen=True, kw_only=True):
    promise: str
    case: str
    title: str
    fields: dict[str, dict[Column, Record]]  # by cell; of cases that stand alone, the worst
    cases: dict[tuple[str, Column], tuple[Record, ...]] = {}  # (cell, side) → its results, if several

    @property
    def topic(self) -> str:
        return self.promise.partition(".")[0]

    @property
    def name(self) -> str:
        """Returns the name within its topic."""
        return self.promise.partition(".")[2] + (f" [{self.case}]" if self.case else "")

    def verdict(self, cell: str, side: Column) -> Verdict | None:
        found = self.fields.get(cell, {}).get(side)
        return found.verdict if found else None

    def records(self, cell: str, side: Column) -> tuple[Record, ...]:
        found = self.fields.get(cell, {}).get(side)
        return self.cases.get((cell, side)) or ((found,) if found else ())

    def held(self, columns: Iterable[tuple[str, Column]]) -> str:
        """Returns `188 of 204` for one column with several cases; for several such columns the largest number of
        cases."""
        several = [self.cases[column] for column in columns if column in self.cases]
        if len(several) != 1:
            return f"{max(map(len, several)):,} cases" if several else ""
        counted = tally(several[0])
        return counted.held if counted.asked else f"{counted.total:,} cases"


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Cells with the same verdicts in the whole matrix."""

    cells: tuple[CellRow, ...]

    @property
    def first(self) -> str:
        return self.cells[0].id


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[GridRow, ...]  # by topic, in the order of the plan
    sides: tuple[Column, ...]
    groups: tuple[Group, ...]
    suites: SuiteIndex

    def topics(self) -> dict[str, list[GridRow]]:
        found: dict[str, list[GridRow]] = {}
        for row in self.rows:
            found.setdefault(row.topic, []).append(row)
        return found


def grid(journal: ReadJournal, states: dict[Key, Record] | None = None) -> Grid:
    states = journal.states() if states is None else states
    suites = journal.plan.suite_index()
    rows, sides = _rows(journal, states, suites), _sides(states)
    return Grid(rows=rows, sides=sides, groups=_groups(journal.plan.cells, rows, sides), suites=suites)


def _rows(journal: ReadJournal, states: dict[Key, Record], suites: SuiteIndex) -> tuple[GridRow, ...]:
    titles = {promise.id: promise.title for promise in journal.plan.promises}
    fields: dict[tuple[str, str], dict[str, dict[Column, Record]]] = {}
    cases: dict[str, dict[tuple[str, Column], list[Record]]] = {}
    for key, record in states.items():
        side = Column(key.door, key.policy)
        if suites.stands_alone(key):  # two hundred cases of a promise are one row
            cases.setdefault(key.promise, {}).setdefault((key.cell, side), []).append(record)
            continue
        fields.setdefault((key.promise, key.case), {}).setdefault(key.cell, {})[side] = record
    for promise, found in cases.items():
        for (cell, side), members in found.items():
            fields.setdefault((promise, ""), {}).setdefault(cell, {})[side] = _worst_record(members)
    several = {
        promise: {place: tuple(members) for place, members in found.items() if len(members) > 1}
        for promise, found in cases.items()
    }
    order = {promise.id: place for place, promise in enumerate(journal.plan.promises)}
    topics = {topic: place for place, topic in enumerate(dict.fromkeys(_topic(name) for name in order))}
    names = sorted(
        fields, key=lambda name: (topics.get(_topic(name[0]), len(topics)), order.get(name[0], len(order)), *name)
    )
    return tuple(
        GridRow(
            promise=promise,
            case=case,
            title=titles.get(promise, ""),
            fields=fields[promise, case],
            cases={} if case else several.get(promise, {}),
        )
        for promise, case in names
    )


def _worst_record(records: Sequence[Record]) -> Record:
    return min(records, key=lambda record: WORST_FIRST.index(record.verdict))


def _topic(promise: str) -> str:
    return promise.partition(".")[0]


def _sides(states: dict[Key, Record]) -> tuple[Column, ...]:
    """Returns doors as they occur, and for each door the policies from the strictest to the widest."""
    found = dict.fromkeys((key.door, key.policy) for key in states)
    doors = {door: place for place, door in enumerate(dict.fromkeys(door for door, _ in found))}
    policies = {policy: place for place, policy in enumerate(POLICIES)}
    order = sorted(found, key=lambda pair: (doors[pair[0]], policies.get(pair[1], len(policies)), pair[1]))
    return tuple(Column(door, policy) for door, policy in order)


def _groups(cells: Iterable[CellRow], rows: tuple[GridRow, ...], sides: tuple[Column, ...]) -> tuple[Group, ...]:
    alike: dict[tuple[bool, tuple[tuple[Verdict, ...], ...]], list[CellRow]] = {}  # synthetic cells are apart
    for cell in cells:
        column = tuple(tuple(record.verdict for record in row.records(cell.id, side)) for row in rows for side in sides)
        if any(column):
            alike.setdefault((cell.synthetic, column), []).append(cell)
    return tuple(Group(cells=tuple(members)) for members in alike.values())


def side_names(sides: Iterable[Column], suites: SuiteIndex) -> dict[Column, str]:
    """Returns the name of each column: the policy, and its door if policies are measured through several. Policies of
    some suites name a column by themselves."""
    sides = tuple(sides)
    with_door = {side for side in sides if suites.of_policy(side.policy).names_door}
    one_door = len({side.door for side in with_door}) <= 1
    return {
        side: side.policy if one_door or side not in with_door else f"{side.policy} by {side.door}" for side in sides
    }


def names_of(cells: Iterable[CellRow]) -> dict[str, str]:
    """Returns cell id → the shortest name that distinguishes the cells of this run."""
    cells = tuple(cells)
    several = {
        name: len({_value(cell, name) for cell in cells}) > 1 for name in ("environment", "subject", "generator")
    }
    same = common(cells)
    names = {}
    for cell in cells:
        where = "~".join(part for axis, part in _parts(cell).items() if axis not in same) or cell.environment
        generator = cell.axes.get("generator", "")
        parts = [where] if several["environment"] else []
        alone = not several["environment"] and not several["generator"]
        parts += [cell.subject] if several["subject"] or alone else []
        parts += [generator or "no generator"] if several["generator"] or (generator and len(cells) == 1) else []
        names[cell.id] = " / ".join(parts)
    shown = names if len(set(names.values())) == len(names) else {cell.id: cell.id for cell in cells}
    return {cell.id: _labelled(cell, shown[cell.id]) for cell in cells}


def environments_of(cells: Iterable[CellRow]) -> dict[str, str]:
    """Returns environment id → its short name, without the other parts of a cell's name."""
    cells = tuple(cells)
    same = common(cells)
    found = {
        cell.environment: "~".join(part for axis, part in _parts(cell).items() if axis not in same) for cell in cells
    }
    several = len(found) > 1
    return {
        cell.environment: _labelled(cell, (several and found[cell.environment]) or cell.environment) for cell in cells
    }


def _value(cell: CellRow, name: str) -> str:
    return cell.axes.get("generator", "") if name == "generator" else str(getattr(cell, name))


def _labelled(cell: CellRow, name: str) -> str:
    """Adds `synthetic`: a manufactured refusal is never shown as if a kernel had refused."""
    return f"{name} ({SYNTHETIC})" if cell.synthetic and SYNTHETIC not in name else name


def common(cells: Iterable[CellRow]) -> dict[str, str]:
    """Returns what short names leave out: axis → the value of every cell, if all cells are containers."""
    cells = tuple(cells)
    if len(cells) < 2 or not all(map(_parts, cells)):
        return {}
    return {
        axis: cells[0].axes[axis]
        for axis in _parts(cells[0])
        if all(other.axes[axis] == cells[0].axes[axis] for other in cells)
    }


def _parts(cell: CellRow) -> dict[str, str]:
    """Returns the parts of a container's id, by axis; nothing for other environments. The id is compared, never
    parsed."""
    axes = {axis: cell.axes.get(axis, "") for axis in ("distro", "bwrap", "profile", "user")}
    parts = axes | {"bwrap": f"bwrap-{axes['bwrap']}"}
    return parts if "~".join(parts.values()) == cell.environment else {}


def worst_of(records: Iterable[Record]) -> Verdict:
    return worst([record.verdict for record in records])
