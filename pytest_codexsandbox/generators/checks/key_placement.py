"""P4: each of the generator's keys is at its own path: no table has captured it, no string has swallowed it."""

from collections.abc import Iterator
from typing import Any

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.codex_toml import Path, everywhere, kind, leaves, read, written
from pytest_codexsandbox.generators.checks.findings import (
    CheckFault,
    Control,
    as_findings,
    difference,
    listed,
    of_first_run,
    skipped,
)
from pytest_codexsandbox.generators.checks.ownership import Ownership, own, written_alone
from pytest_codexsandbox.generators.checks.toml_lexer import Statement, bytes_of, document
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding

CLAIM = "each key of the generator is at its own path"


def own_place(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    ownership, asked = own(case_run, declaration), asked_keys(case_run)
    why = case_view.not_asked(case_run) or _cannot(asked, case_run, ownership)
    if why:
        return skipped(CLAIM, why)
    before = case_view.text_before(case_run)
    if not read(before).loads and any(not read(after.content).loads for after in case_view.results(case_run)):
        return skipped(CLAIM, "the user's file was not TOML, and still is not: see generator.parses")
    faults = of_first_run(
        (*misplaced(asked, before, after.content, after.name), *_undeclared(before, after, ownership))
        for after in case_view.results(case_run)
    )
    return as_findings(
        CLAIM, faults, control=_control(asked, ownership), saw=f"all there: {listed([written(one) for one in asked])}"
    )


def asked_keys(case_run: CaseRun) -> dict[Path, Any]:
    """Returns the keys that the generator writes where nothing is in its way: these are the keys to check."""
    return leaves(read(written_alone(case_run) or b"").data)


def _cannot(asked: dict[Path, Any], case_run: CaseRun, ownership: Ownership) -> str:
    alone = written_alone(case_run)
    if alone is None:
        return "no run without a file has shown what this generator writes"
    if not read(alone).loads:
        return "its output without a user's file is not TOML: see generator.parses"
    if (
        not asked
        and case_view.before(case_run).kind == "missing"
        and case_view.results(case_run)[-1].state.kind == "missing"
    ):
        return "it writes no file"
    return "" if asked else "it writes no keys if there is no file"


def misplaced(asked: dict[Path, Any], before: bytes, after: bytes, name: str = "afterwards") -> Iterator[CheckFault]:
    reading = read(after)
    if not reading.loads:
        saw = f"{name}: no key can be read: {reading.fault} ({reading.place})"
        yield CheckFault(reason=reading.reason, saw=saw, diff=difference(before, after))
        return
    for path, value in asked.items():
        here = _at(reading.data, path)
        if here is None:
            reason, where = _found_elsewhere(path, reading.data, before, after)
            yield CheckFault(reason=reason, saw=f"{name}: {written(path)} is {where}", diff=difference(before, after))
        elif kind(here) != kind(value):
            saw = f"{name}: {written(path)} is of the type {kind(here)}, expected {kind(value)}"
            yield CheckFault(reason="type-changed", saw=saw, diff=difference(before, after))


def _at(data: Any, path: Path) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def misplaced_keys(case_run: CaseRun) -> dict[Path, str]:
    """Returns the keys that are not at their own place after the last run, each with a word for what happened to it."""
    before, after = case_view.text_before(case_run), case_view.results(case_run)[-1].content
    reading = read(after)
    if not reading.loads:
        return {}
    missing = (path for path in asked_keys(case_run) if _at(reading.data, path) is None)
    return {path: _found_elsewhere(path, reading.data, before, after)[0] for path in missing}


def _found_elsewhere(path: Path, data: dict[str, Any], before: bytes, after: bytes) -> tuple[str, str]:
    known = {at for at, _ in everywhere(read(before).data)}
    for at, _ in everywhere(data):
        if at not in known and at != path and at[-len(path) :] == path:
            return "captured", f"captured by a table: it is {written(at)}"
    if _count_in_strings(after, path[-1]) > _count_in_strings(before, path[-1]):
        return "inside-a-string", "swallowed by a string of many lines"
    tail = next((at for at, _ in everywhere(data) if at not in known and at != path and at[-1] == path[-1]), None)
    return ("captured", f"found at {written(tail)}") if tail else ("not-there", "not there")


def _count_in_strings(content: bytes, word: str) -> int:
    found = document(content)
    return sum(found.text.count(word, one.start, one.end) for one in found.strings)


def _undeclared(before: bytes, after: case_view.StateAfterRun, ownership: Ownership) -> Iterator[CheckFault]:
    """Yields a fault for each written key that the declaration does not name. A captured key is found here too."""
    if ownership.how != "declared":
        return
    # Statements instead of parsed data: they show what the user wrote even if the file does not parse.
    known = document(before)
    for path in leaves(read(after.content).data):
        if ownership.owns(path) or any(_is_of(one, path) for one in known.statements):
            continue
        if not read(before).loads and path[-1] in known.text:
            continue  # a repaired file: where the user's statements began is unknown
        captured = next((path[cut:] for cut in range(1, len(path)) if ownership.owns(path[cut:])), None)
        word = "captured" if captured else "not-declared"
        what = f"{written(captured)} captured by a table" if captured else "not among the keys that it declares"
        saw = f"{after.name}: it wrote {written(path)}: {what}"
        yield CheckFault(reason=word, saw=saw, diff=difference(before, after.content))


def _is_of(statement: Statement, path: Path) -> bool:
    """Checks whether a statement set this path: headers set an array of tables, one key sets a whole inline table."""
    inside = statement.kind == "key" and path[: len(statement.path)] == statement.path
    return inside or statement.path[: len(path)] == path


def _control(asked: dict[Path, Any], ownership: Ownership) -> Control:
    """Puts the requested keys below a table, and into a string. Neither may pass."""
    text = "".join(f"{written(path)} = {_literal(value)}\n" for path, value in asked.items() if _literal(value))
    if not text:
        held = any(misplaced(asked, b"", b"")) and bool(asked)
        return Control("a file without its keys is noticed", held)
    good, captured = bytes_of(text), bytes_of("[codexsandbox-other]\n" + text)
    swallowed = bytes_of(f"codexsandbox = '''\n{text}'''\n")
    mine = {path: value for path, value in asked.items() if _literal(value)}
    held = (
        not any(misplaced(mine, b"", good))
        and all(fault.reason == "captured" for fault in misplaced(mine, b"", captured))
        and any(misplaced(mine, b"", captured))
        and "inside-a-string" in {fault.reason for fault in misplaced(mine, b"", swallowed)}
    )
    return Control("the same keys below a table, and inside a string, are not mistaken for them", held)


def _literal(value: Any) -> str:
    """Returns a literal of the same type; the value is not compared. "" for types without an example."""
    examples = {"bool": "true", "int": "1", "float": "1.5", "string": '"x"', "array": "[]", "table": "{}"}
    return examples.get(kind(value), "")
