"""Edited journals: the lines of a real run, and edits of them that bend a result."""

import copy
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from pytest_codexsandbox import __version__
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.harness import replay
from pytest_codexsandbox.journal import exit_code
from pytest_codexsandbox.journal.running_sum import resealed
from pytest_codexsandbox.matrix import expectations, shipped_promises
from pytest_codexsandbox.matrix.shipped_promises import declared
from pytest_codexsandbox.model.journal_lines import SCHEMA, EnvironmentLine, OtherFailures, PlanLine
from pytest_codexsandbox.model.ledger import ReadJournal, count, settle
from pytest_codexsandbox.model.plan_content import asks_digest, content_digest, plan_digest
from pytest_codexsandbox.model.plan_key import Key, keys_digest
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.reports.headlines import contradiction

Line = dict[str, Any]
FOLDER: Final = Path(__file__).parents[2] / "golden" / "journals"
NAMES: Final = ("promises", "generators")
TODAY: Final = f"codexsandbox {__version__}"
OLD: Final = "codexsandbox 0.1.0"  # the last version that wrote schema 1
GREEN_FROM: Final = ("violates", "broken", "stale", "blocked", "unconfined", "expected", "n/a", "conforms")


def lines(name: str) -> list[Line]:
    return copy.deepcopy(_lines(name))


@cache
def _lines(name: str) -> list[Line]:
    with gzip.open(FOLDER / f"{name}.ndjson.gz", "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    one(found, "run").update(schema=SCHEMA, product=TODAY)
    today = replay.digests(shipped_promises.pairs())
    for row in one(found, "plan")["promises"]:
        own = declared().get(row["id"])
        row |= {"asked": today.get(row["id"], ""), "asks": asks_digest(own) if own is not None else "0" * 16}
    return sealed(found)


def one(found: list[Line], kind: str) -> Line:
    return next(line for line in found if line["line"] == kind)


def results(found: list[Line], verdict: str = "", promise: str = "", cell: str = "") -> list[Line]:
    return [
        line
        for line in found
        if line["line"] == "result"
        and verdict in ("", line["verdict"])
        and line["promise"].startswith(promise)
        and line["cell"].endswith(cell)
    ]


def key_of(line: Line) -> Key:
    return msgspec.convert(line["record"]["key"], Key)


def sealed(found: list[Line]) -> list[Line]:
    """Makes the digests of the plan fit its content."""
    plan = one(found, "plan")
    asks = {row["id"]: row["asks"] for row in plan["promises"]}
    plan["digest"] = plan_digest(msgspec.convert(plan["keys"], tuple[Key, ...]), asks)
    plan["content"] = content_digest(msgspec.convert(plan, PlanLine))
    return found


def of_an_earlier_version(found: list[Line]) -> list[Line]:
    """Takes out what the judge had, and all that came together with it."""
    one(found, "run").update(schema=1, product=OLD)
    plan = one(found, "plan")
    plan.pop("content"), plan.pop("expectations"), one(found, "end").pop("others")
    for promise in plan["promises"]:
        promise |= {"policies": [], "cases": [], "requires": [], "asks": "", "asked": ""}
    for cell in plan["cells"]:
        cell.pop("release", "")
    for line in results(found):
        line["record"].pop("basis")
    return found


def ended(found: list[Line]) -> list[Line]:
    """Makes counts, exit code and reasons of the end fit the results."""
    plan, end = msgspec.convert(one(found, "plan"), PlanLine), one(found, "end")
    records = tuple(msgspec.convert(line["record"], Record) for line in results(found))
    states = settle(plan.keys, records, plan.not_applicable)
    applied = expectations.Applied(records=states)
    environments = [msgspec.convert(line, EnvironmentLine) for line in found if line["line"] == "environment"]
    others = msgspec.convert(end["others"], OtherFailures)
    done = exit_code.of_run(plan, applied, others, leaks=(), environments=environments, strict=False)
    end |= {"counts": count(states.values()), "exit": done.code, "reasons": list(done.reasons)}
    return found


def say(line: Line, verdict: str, direction: str = "", **changed: Any) -> None:
    """Changes the verdict of a result wherever it stands."""
    line |= {"verdict": verdict, "direction": direction, "diagnosis": ""}
    line["record"] |= {
        "verdict": verdict,
        "direction": direction,
        "diagnosis": None,
        "reason": "as promised",
        **changed,
    }


def read(found: list[Line], path: Path) -> ReadJournal:
    write(found, path)
    return replay.read(path)


def write(found: list[Line], path: Path) -> None:
    """Writes the lines, without parts. In schema 2, the digest of the keys, the line counts and the sums fit."""
    if not found or found[0].get("schema") != SCHEMA:
        path.write_text("".join(json.dumps(line) + "\n" for line in found), encoding="utf-8")
        return
    counted = Counter[str](str(line.get("line")) for line in found if line.get("line") != "end")
    more: dict[str, Line] = {"end": {"lines": counted}}
    with suppress(msgspec.ValidationError, KeyError, StopIteration):  # an edit may have left no plan
        more["plan"] = {"keys_digest": keys_digest(msgspec.convert(one(found, "plan")["keys"], tuple[Key, ...]))}
    whole = ({"plain": True, **line, **more.get(str(line.get("line")), {})} for line in found)
    path.write_bytes(resealed(json.dumps(line).encode() for line in whole))


def made_greener(before: ReadJournal, found: list[Line], path: Path) -> str:
    """Returns what an edit made greener without an error; "" if nothing."""
    try:
        after = read(found, path)
    except CodexSandboxError:
        return ""
    old, new = before.states(), after.states()
    if contradiction(after, new):
        return ""
    rank, unsure = GREEN_FROM.index, frozenset(after.not_rejudged)
    for key, record in old.items():
        if key not in new:
            if rank(record.verdict.value) < rank("unconfined"):
                return f"{key} is gone, and was {record.verdict.value}"
            continue
        is_green = rank(new[key].verdict.value) >= rank("unconfined") and key not in unsure
        if is_green and rank(new[key].verdict.value) > rank(record.verdict.value):
            return f"{key} was {record.verdict.value}, and is {new[key].verdict.value}"
    codes = [journal.end.exit if journal.end else 11 for journal in (before, after)]
    return f"the exit code was {codes[0]}, and is {codes[1]}" if codes[0] != codes[1] and codes[1] in (0, 12) else ""


Edit = Callable[[list[Line]], object]
Place = tuple[Any, Any]  # a list or an object, and the index or the name of a member of it
_FREE: Final = frozenset(  # objects whose names are data: their members are all of one kind
    {"rows", "before", "after", "axes", "facts", "env", "values", "not_applicable", "counts", "texts", "lists", "given"}
)


def places(node: Any, name: str = "", found: dict[str, list[Place]] | None = None) -> dict[str, list[Place]]:
    """Returns every member of the lines, by the name of its kind."""
    found = {} if found is None else found
    members = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for at, member in members:
        own = f"{name}[]" if isinstance(node, list) else f"{name}.*" if name in _FREE else str(at)
        found.setdefault(own, []).append((node, at))
        places(member, own, found)
    return found


def edit(found: list[Line], chance: Random) -> str:
    """Changes, removes, copies or exchanges one member of the lines, or one line. Returns what it did."""
    kinds = places(found)
    kind = chance.choice(sorted(kinds))
    (node, at), (other, there) = chance.choice(kinds[kind]), chance.choice(kinds[kind])
    how, old = chance.choice(("change", "change", "remove", "copy", "exchange", "repeat")), node[at]
    if how == "change":
        node[at] = _changed(old, other[there], chance)
    elif how == "remove":
        del node[at]
    elif how == "exchange":
        node[at], other[there] = copy.deepcopy(other[there]), copy.deepcopy(old)
    elif how == "repeat" and isinstance(node, list):
        node.insert(chance.randint(0, len(node)), copy.deepcopy(old))
    else:
        node[at] = copy.deepcopy(other[there])
    return f"{how} {kind} {str(old)[:60]!r}"


def _changed(old: Any, other: Any, chance: Random) -> Any:
    match old:
        case bool():
            return not old
        case int() | float():
            return chance.choice((0, 1, old + 1, old - 1, 10, 11))
        case str():
            return chance.choice((other if isinstance(other, str) else "", "", "on", "off", "passed", *GREEN_FROM))
        case None:
            return copy.deepcopy(other)
    return type(old)()


def content_of(read: ReadJournal) -> object:
    """Returns all that a journal holds, without its schema and without the places of its lines."""
    run = msgspec.structs.replace(read.run, schema=2)
    data = msgspec.json.encode(msgspec.structs.replace(read, run=run, lines=()))
    data = re.sub(rb"\bline [0-9]+ of the journal\b", b"line N of the journal", data)
    return msgspec.json.decode(re.sub(rb'"line":[0-9]+', b'"line":0', data))
