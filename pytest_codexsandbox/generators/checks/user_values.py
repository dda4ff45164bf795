"""P3: each of the user's keys keeps its value and its type."""

from collections.abc import Iterator
from typing import Any

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.codex_toml import (
    ParsedConfig,
    Path,
    comparable,
    everywhere,
    kind,
    leaves,
    read,
    written,
)
from pytest_codexsandbox.generators.checks.findings import (
    CheckFault,
    Control,
    all_hold,
    as_findings,
    difference,
    listed,
    of_first_run,
    skipped,
)
from pytest_codexsandbox.generators.checks.ownership import Ownership, own
from pytest_codexsandbox.generators.checks.toml_lexer import bytes_of, document, without
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding

CLAIM = "every key of the user keeps its value and type"


def values_kept(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    ownership, text = own(case_run, declaration), case_view.text_before(case_run)
    why = case_view.not_asked(case_run) or _nothing_to_keep(text, ownership)
    if why:
        return skipped(CLAIM, why)
    faults = of_first_run(lost(text, after.content, ownership, after.name) for after in case_view.results(case_run))
    unsure = [fault for fault in faults if fault.reason == "whose-is-it"]
    if unsure and len(unsure) == len(faults):
        return skipped(CLAIM, unsure[0].saw)
    keys = users(text, ownership)
    return as_findings(
        CLAIM,
        [fault for fault in faults if fault not in unsure],
        control=_control(text, ownership),
        saw=f"{len(keys)} keys of the user are unchanged: {listed([written(path) for path in keys])}",
    )


def users(content: bytes, ownership: Ownership) -> dict[Path, Any]:
    """Returns the user's keys with their values, which the generator may not change."""
    block = _in_the_block(content, ownership)
    return {
        path: value
        for path, value in leaves(read(content).data).items()
        if not ownership.owns(path)
        and not (ownership.anywhere and ownership.owns_here(path))
        and not any(path[: len(one)] == one for one in block)
    }


def _in_the_block(content: bytes, ownership: Ownership) -> list[Path]:
    """Returns the generator's keys between its markers. They are its own in whatever table its block has ended up."""
    found = document(content)
    spans = ownership.inside(found)
    return [
        one.path
        for one in found.statements
        if one.kind == "key" and any(start <= one.start < end for start, end in spans) and ownership.owns_here(one.path)
    ]


def _nothing_to_keep(text: bytes, ownership: Ownership) -> str:
    reading = read(text)
    if not reading.loads:
        return f"the user's file is not TOML ({reading.fault}): no values can be read from it"
    return "" if users(text, ownership) else "the user's file has no keys"


def lost(before: bytes, after: bytes, ownership: Ownership, name: str = "afterwards") -> Iterator[CheckFault]:
    """Yields a fault for each of the user's values that is missing or changed."""
    reading = read(after)
    if not reading.loads:
        saw = f"{name}: no value can be read any more: {reading.fault} ({reading.place})"
        yield CheckFault(reason=reading.reason, saw=saw, diff=difference(before, after))
        return
    now = leaves(reading.data)
    for path, value in users(before, ownership).items():
        if path in now and _same(value, now[path]):
            continue
        if path not in now and (not value and isinstance(value, dict)) and _is_table(reading.data, path):
            continue
        yield _fault(path, value, reading, ownership, f"{name}: ", difference(before, after))


def _is_table(data: Any, path: Path) -> bool:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return isinstance(data, dict)


def _same(before: Any, after: Any) -> bool:
    """Compares two values. An array of tables may have further tables afterwards; other values must be equal."""
    if _is_tables(before) and _is_tables(after):
        rest = iter([comparable(one) for one in after])
        return all(comparable(one) in rest for one in before)
    return comparable(before) == comparable(after)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _fault(path: Path, value: Any, reading: ParsedConfig, ownership: Ownership, name: str, diff: str) -> CheckFault:
    now = leaves(reading.data)
    key = written(path)
    if path in now and not ownership.how:
        saw = f"{name}{key} was changed; without `owns` in the declaration its owner is unknown"
        return CheckFault(reason="whose-is-it", saw=saw)
    if path in now:
        here = now[path]
        reason = "value-changed" if kind(here) == kind(value) else "type-changed"
        return CheckFault(reason=reason, saw=f"{name}{key} was {_shown(value)}, now it is {_shown(here)}", diff=diff)
    alike = (at for at, one in everywhere(reading.data) if at[-1] == path[-1] and _same(value, one))
    # The generator's own keys do not show where the user's key went, unless a table has captured that key's whole path.
    moved = next((at for at in alike if at != path and (at[-len(path) :] == path or not ownership.owns(at))), None)
    if moved is None:
        return CheckFault(reason="key-lost", saw=f"{name}{key} = {_shown(value)} is gone", diff=diff)
    return CheckFault(reason="captured", saw=f"{name}{key} is gone, and is found as {written(moved)}", diff=diff)


def _shown(value: Any) -> str:
    return f"{kind(value)} {value!r}"[:120]


def _control(text: bytes, ownership: Ownership) -> Control:
    return all_hold((_taken_away(text, ownership), _retyped(text, ownership)))


def _taken_away(text: bytes, ownership: Ownership) -> Control:
    """Removes the last of the user's keys from this file."""
    keys = users(text, ownership)
    found = document(text)
    above = {path[:count] for path in keys for count in range(1, len(path) + 1)}
    mine = [one for one in found.statements if one.kind == "key" and one.path in above]
    if not mine:
        return Control("an emptied file is noticed", _emptied(text, ownership))
    cut = without(text, mine[-1].start, mine[-1].end)
    return Control(f"{written(mine[-1].path)} is removed, and that is noticed", _only(text, cut, ownership))


def _emptied(text: bytes, ownership: Ownership) -> bool:
    """Checks that an emptied file is noticed, for a file that has only empty tables."""
    return any(lost(text, b"", ownership)) and not any(lost(text, text, ownership))


def _retyped(text: bytes, ownership: Ownership) -> Control:
    """Changes the value of one of the user's keys to another type."""
    keys = users(text, ownership)
    found = document(text)
    mine = next((one for one in found.statements if one.kind == "key" and one.path in keys), None)
    if mine is None:
        return Control("an emptied file is noticed", _emptied(text, ownership))
    other = " 6.25\n" if not isinstance(keys[mine.path], float) else ' "6.25"\n'
    begin, end = mine.value
    changed = bytes_of(found.text[:begin] + other + found.text[end:])
    return Control(
        f"{written(mine.path)} becomes{other.rstrip()}, and that is noticed", _only(text, changed, ownership)
    )


def _only(text: bytes, changed: bytes, ownership: Ownership) -> bool:
    """Checks that the change is found, and that nothing is found without one."""
    loads = read(changed).loads
    return loads and any(lost(text, changed, ownership)) and not any(lost(text, text, ownership))
