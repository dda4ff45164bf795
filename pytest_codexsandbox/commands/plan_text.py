"""Plan text: what would run, how long it takes, what must be downloaded or built for it, and what is left out."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.harness.durations import GUESSED, GUESSED_STORY, GUESSED_STRAIN, Work, in_words, work_of
from pytest_codexsandbox.matrix.combinations import UNAVAILABLE
from pytest_codexsandbox.model.artifact_status import ArtifactStatus
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.coverage import AXES
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.releases.download_estimate import Forecast

WIDTH: Final = 80
_KINDS: Final = {
    "engine": "the engine", "registry": "the registry", "image": "the image", "archive": "the archive of",
    "sources": "the sources of bubblewrap",
}  # fmt: skip
_FEW: Final = 12  # environments that each have a line of their own


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    plan: Plan
    downloads: dict[str, Forecast]  # by subject label
    seconds: dict[str, float]  # expected, by cell
    tools: dict[str, Forecast] = {}  # generators that a registry has, by name
    learned: int = 0  # from how many runs
    unlocked: int = 0  # cells that were picked and are in no lock file
    stock: tuple[ArtifactStatus, ...] = ()  # what environments are made of
    asked: tuple[PlanQuery, ...] = ()  # before anything was planned
    stand_ins: int = 0  # cells that cover what those would that are not available here


def as_text(shown: Shown, *, verbose: bool = False) -> str:
    plan = shown.plan
    parts = (
        _head(shown, verbose),
        _each(plan) if verbose else _topics(plan),
        _downloads(shown),
        _tools(shown.tools),
        _stock(shown.stock),
        _asked(shown.asked),
        _left_out(plan, verbose),
    )
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def _head(shown: Shown, verbose: bool) -> Iterator[str]:
    plan, work = shown.plan, work_of(shown.plan)
    head = (
        f"{plan.preset}: {many(len(plan.cells), 'cell')}, {many(len(plan.promises), 'promise')}, "
        f"{many(len(plan.keys), 'check')} in {many(sum(one.calls for one in work.values()), 'Codex call')}"
    )
    yield from wrapped(head + "".join(_of_generators(work.values())), "")
    yield from wrapped(_time(shown), "")
    yield from _picked(shown)
    by_environment: dict[str, list[Cell]] = {}
    for cell in plan.cells:
        by_environment.setdefault(cell.environment.id, []).append(cell)
    if verbose or len(by_environment) <= _FEW:
        for environment, cells in by_environment.items():
            made = "   (synthetic: the harness makes its refusals)" if cells[0].environment.synthetic else ""
            yield f"  {environment}    codex {' '.join(cell.subject.label for cell in cells)}{made}"
    else:
        yield from _axes(plan, len(by_environment))


def _of_generators(works: Iterable[Work]) -> Iterator[str]:
    works = tuple(works)
    if stories := sum(one.stories for one in works):
        yield f", {many(stories, 'case')} of generators"
    if strains := sum(one.strains for one in works):
        yield f", {many(strains, 'stress check')}"


def _time(shown: Shown) -> str:
    works = work_of(shown.plan).values()
    guessed = [f"{GUESSED} s for each call"]
    guessed += [f"{GUESSED_STORY} s for each case of a generator"] if any(one.stories for one in works) else []
    guessed += [f"{GUESSED_STRAIN} s for each stress check"] if any(one.strains for one in works) else []
    source = f"learned from {many(shown.learned, 'run')}" if shown.learned else f"guessed: {', '.join(guessed)}"
    return f"about {in_words(sum(shown.seconds.values()))}, one environment after the other ({source})"


def _picked(shown: Shown) -> Iterator[str]:
    coverage, plan = shown.plan.coverage, shown.plan
    if coverage is None:
        return
    held = coverage.covered(cell.axes for cell in plan.cells)
    share = "" if held == coverage.coverable else f" ({100 * held / coverage.coverable:.0f} %)"
    yield from wrapped(
        f"picked from {coverage.combinations:,} combinations: {held:,} of {coverage.coverable:,} {coverage.word} of "
        f"values are covered{share}",
        "",
    )
    missing = {one.why for one in plan.not_planned if one.kind == UNAVAILABLE}
    if lost := sum(one.count for one in coverage.uncoverable if one.why in missing):
        yield from wrapped(f"{lost:,} cannot be covered here: their environment is not available (see below)", "  ")
    for one in coverage.uncoverable:
        if one.why not in missing:
            yield from wrapped(f"{one.count:,} are impossible, such as {one.example}: {one.why}", "  ")
    if shown.stand_ins and not shown.unlocked:
        yield from wrapped(f"{many(shown.stand_ins, 'cell')} stand in for unavailable ones", "  ")
    if shown.unlocked:
        command = f"codexsandbox plan {plan.preset} --update-lock"
        yield from wrapped(f"not locked; to keep these cells: {command}", "  ")


def _axes(plan: Plan, environments: int) -> Iterator[str]:
    """Yields, for many environments, each value with the number of its cells, in the matrix file's order."""
    cells = plan.cells
    yield f"  in {many(environments, 'environment')} (each of them: -v)"
    wide = max(map(len, AXES))
    for axis in AXES:
        counted = Counter(cell.axes.get(axis, "-") for cell in cells)
        asked = [value for value in (plan.coverage.axes.get(axis, ()) if plan.coverage else ()) if value in counted]
        values = ",\0".join(f"{value} {counted[value]}" for value in dict.fromkeys([*asked, *counted]))
        yield from wrapped(values.split("\0"), f"  {axis:<{wide}}  ", " " * (wide + 4))
    synthetic = sum(cell.environment.synthetic for cell in cells)
    if synthetic:
        yield f"  {many(synthetic, 'cell')} synthetic: the harness makes their refusals"


def _topics(plan: Plan) -> Iterator[str]:
    """Yields one line for each topic."""
    promises = Counter(promise.topic for promise in plan.promises)
    checks = Counter(key.promise.partition(".")[0] for key in plan.keys)
    wide = max(map(len, promises))
    for topic, count in promises.items():
        yield f"{topic:<{wide}}  {many(count, 'promise'):>12}, {many(checks[topic], 'check')}"
    yield f"{'':<{wide}}  (each of them: -v)"


def _each(plan: Plan) -> Iterator[str]:
    """Yields one line for each promise, by the id that `--codex-only` takes."""
    checks = Counter(key.promise for key in plan.keys)
    wide = max(len(promise.id) for promise in plan.promises)
    for promise in plan.promises:
        yield f"{promise.id:<{wide}}  {checks[promise.id]:>4}  {promise.title}"


def _downloads(shown: Shown) -> Iterator[str]:
    subjects = {cell.subject.label: cell.subject for cell in shown.plan.cells}
    needed = {label: one for label, one in shown.downloads.items() if not one.cached and not subjects[label].path}
    missing = {label: one.why_not for label, one in needed.items() if one.why_not}
    fetched = {label: one for label, one in needed.items() if not one.why_not}
    total = sum(one.megabytes for one in fetched.values())
    if not needed:
        yield "Codex: nothing to download"
    if fetched:
        unknown = sum(not one.megabytes for one in fetched.values())
        yield f"Codex: would download {' and '.join(_amounts(total, unknown))}"
    for label, one in fetched.items():
        size = f"{one.megabytes:,}" if one.megabytes else "?"
        yield f"  {label:<12} {size:>6} MB   {one.source}"
    for label, why in missing.items():
        yield from wrapped(f"{label:<12} not available here: {why}", "  ", "    ")


def _tools(tools: Mapping[str, Forecast]) -> Iterator[str]:
    """Yields what generators need from registries; nothing if no generator comes from one."""
    needed = {name: one for name, one in tools.items() if not one.cached}
    if tools and not needed:
        yield "Generators: nothing to install"
    fetched = {name: one for name, one in needed.items() if not one.why_not}
    if fetched:
        total = sum(one.megabytes for one in fetched.values())
        yield f"Generators: would install {many(len(fetched), 'tool')}, about {total:,} MB on the disk"
    wide = max(map(len, needed), default=0)
    for name, one in fetched.items():
        size = f"{one.megabytes:,}" if one.megabytes else "?"
        yield f"  {name:<{wide}} {size:>6} MB   {one.source}"
    for name, one in needed.items():
        if one.why_not:
            yield from wrapped(f"{name:<{wide}} not available here: {one.why_not}", "  ", "    ")


def _amounts(megabytes: int, unknown: int) -> Iterator[str]:
    if megabytes:
        yield f"about {megabytes:,} MB"
    if unknown:
        yield f"{many(unknown, 'release')} of unknown size"


def _stock(stock: Sequence[ArtifactStatus]) -> Iterator[str]:
    for kind in dict.fromkeys(one.kind for one in stock):
        ready = [one.name for one in stock if one.kind == kind and one.ready]
        rest = [one for one in stock if one.kind == kind and not one.ready]
        size = sum(one.megabytes for one in rest)
        summary = f"{kind}s: {len(ready):,} ready"
        summary += f", {len(rest):,} to make{f', about {size:,} MB to download' if size else ''}: " if rest else ""
        yield from wrapped(summary + ", ".join(one.name for one in rest), "", "  ")


def _asked(asked: Sequence[PlanQuery]) -> Iterator[str]:
    """Yields the sources that answered yes, grouped; then each other source with its answer."""
    if not asked:
        return
    yield "checked beforehand"
    engines = [one for one in asked if one.kind == "engine" and one.answer == "yes"]
    for one in engines:
        yield from wrapped(f"the engine {one.where} has {many(len(one.has), 'image')} of the plan", "  ", "    ")
    for kind, words in _KINDS.items():
        if kind != "engine" and (there := [one for one in asked if one.kind == kind and one.answer == "yes"]):
            yield from wrapped(f"available: {words} {', '.join(one.name for one in there)}", "  ", "    ")
    for one in asked:
        if one.answer != "yes":
            word = "unknown" if one.answer == "unknown" else "not available"
            whom = f" ({', '.join(filter(None, (one.where, one.when)))})" if one.where or one.when else ""
            yield from wrapped(f"{word}: {_KINDS[one.kind]} {one.name}".rstrip() + f"{whom}: {one.why}", "  ", "    ")


def _left_out(plan: Plan, verbose: bool) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    promises = {str(key): key.promise for key in plan.keys} if plan.not_applicable else {}
    for key, why in plan.not_applicable.items():
        reasons.setdefault(f"not applicable: {why}", []).append(promises.get(key, key))
    for one in plan.not_planned:
        reasons.setdefault(one.why, []).append(one.what)
    missing = {one.why for one in plan.not_planned if one.kind == UNAVAILABLE}
    if missing:
        yield "not available here, and why"
    for why, names in reasons.items():
        if why in missing:
            yield from wrapped(f"{', '.join(dict.fromkeys(names))}: {why}", "  ", "    ")
    if reasons.keys() - missing:
        yield "not in the plan, and why"
    for why, names in reasons.items():
        if why not in missing:
            each = list(dict.fromkeys(names))
            yield from wrapped(f"{', '.join(each) if verbose else _few(each)}: {why}", "  ", "    ")


def wrapped(text: str | Iterable[str], first: str, rest: str | None = None) -> list[str]:
    """Returns the text as lines; parts break only between them."""
    rest = first + "  " if rest is None else rest
    if isinstance(text, str):
        return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    lines, line = [], first
    for place, part in enumerate(text):
        if place and len(line) + 1 + len(part) > WIDTH:
            lines.append(line.rstrip())
            line = rest
        line += part if line in (first, rest) else f" {part}"
    return [*lines, line.rstrip()]


def _few(names: Sequence[str], limit: int = 4) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
