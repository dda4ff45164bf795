"""Headlines: one line each about what was measured and with what, for the head of every report."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pytest_codexsandbox.model.bwrap_used import BLOCKED_BY, BwrapUsed
from pytest_codexsandbox.model.journal_lines import CallLine, CellRow, EndLine, EnvironmentLine, SubjectLine
from pytest_codexsandbox.model.launched_program import program_of
from pytest_codexsandbox.model.ledger import STRICT_WORDS, ReadJournal, count, never_written, too_little
from pytest_codexsandbox.model.machine import changes
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports.bubblewraps_seen import seen

SYNTHETIC: Final = "synthetic"  # label of a cell whose refusal is manufactured
_SHOWN: Final = 4  # names in a list before the rest is counted
_SOURCES: Final = {
    "installed": "installed here",
    "path": "a file of yours",
    "pypi": "from PyPI",
    "npm": "from npm",
}
_COUNTED: Final = (
    (Verdict.CONFORMS, "conforms"), (Verdict.UNCONFINED, "unconfined as asked"), (Verdict.EXPECTED, "known"),
    (Verdict.NOT_APPLICABLE, "n/a"), (Verdict.VIOLATES, "violates"), (Verdict.STALE, "stale"),
    (Verdict.BLOCKED, "blocked"), (Verdict.BROKEN, "broken"),
)  # fmt: skip


def shortened_list(names: Iterable[str], limit: int = _SHOWN) -> str:
    names = list(names)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def codex(journal: ReadJournal) -> str:
    subjects = {subject.label: subject for subject in journal.subjects}
    labels = list(dict.fromkeys(cell.subject for cell in journal.plan.cells))
    if len(labels) == 1 and labels[0] in subjects:
        return _subject(subjects[labels[0]]) + _behind(journal, subjects[labels[0]])
    return f"{plural(len(labels), 'Codex release')}: {shortened_list(labels, 8)}" if labels else "no Codex"


def _subject(subject: SubjectLine) -> str:
    name = "" if subject.label == subject.version else f"{subject.label}, which calls itself "
    source = f", {_SOURCES.get(subject.source, f'from {subject.source}')}" if subject.source else ""
    digest = f"sha256 {subject.digest[:12]}{source}"
    return f"Codex {name}{subject.version} ({f'a script, {digest}' if subject.facts.get('script') else digest})"


def _behind(journal: ReadJournal, subject: SubjectLine) -> str:
    """Names the Codex that a script starts: the script's digest is not that of the Codex."""
    if not subject.facts.get("script"):
        return ""
    calls = (call.observation for call in journal.calls if call.subject == subject.id and not call.control)
    found = dict.fromkeys(program[0] for call in calls if (program := program_of(call.readings)))
    return f", which starts {shortened_list(found, 3)}" if found else ", which starts an unknown program"


def machines(journal: ReadJournal) -> list[str]:
    """Returns one line for each environment, however many workers opened it."""
    lines = {line.spec: line for line in reversed(journal.environments)}
    specs = dict.fromkeys(cell.environment for cell in journal.plan.cells)
    return [_machine(spec, lines.get(spec), journal.plan.cells) for spec in specs]


def changed(journal: ReadJournal) -> list[str]:
    """Returns one line for each environment whose machine changed during the measurement."""
    found = changes(journal.environments)
    return [f"{spec} changed during the run: {'; '.join(shown)}" for spec, shown in found.items()]


def _machine(spec: str, line: EnvironmentLine | None, cells: Iterable[CellRow]) -> str:
    cell = next(cell for cell in cells if cell.environment == spec)
    if line is None:
        return f"{spec}: not started"
    facts = line.facts
    kernel = fact(facts, "kernel")
    parts = [
        fact(facts, "distro_name", "distro") or cell.axes.get("distro", spec),
        f"kernel {kernel} ({'shared with the host' if cell.provenance == 'host' else cell.provenance})"
        if kernel
        else "",
        cell.arch or fact(facts, "arch"),
        _user(facts),
        SYNTHETIC if cell.synthetic else "",
    ]
    return f"{spec}: {', '.join(part for part in parts if part)}"


def _user(facts: Mapping[str, Any]) -> str:
    uid = fact(facts, "uid")
    return f"uid {uid}" if uid else ""


def fact(facts: Mapping[str, Any], *names: str) -> str:
    """Returns the first of `names` that has a plain value."""
    for name in names:
        value = facts.get(name)
        if isinstance(value, str | int | float) and value != "":
            return str(value)
    return ""


def plan(journal: ReadJournal) -> str:
    keys = journal.plan.keys
    promises = len({key.promise for key in keys})
    policies = len({key.policy for key in keys})
    calls = sum(1 for call in journal.calls if not call.control)
    return (
        f"plan: {plural(len(journal.plan.cells), 'cell')} × {plural(promises, 'promise')} under "
        f"{plural(policies, 'policy').replace('policys', 'policies')}; {plural(calls, 'call')} of Codex"
    )


def counts(journal: ReadJournal, states: Mapping[Key, Record]) -> list[str]:
    """Returns the counts as one equation that always adds up, in parts that belong together."""
    found = dict.fromkeys(Verdict, 0)
    leaks = 0
    for record in states.values():
        found[record.verdict] += 1
        leaks += record.verdict is Verdict.VIOLATES and record.direction == "leak"
    terms = [f"{found[verdict]:,} {_term(verdict, word, leaks)}" for verdict, word in _COUNTED if found[verdict]]
    zero = [] if found[Verdict.VIOLATES] else ["0 violates"]
    unmeasured = found[Verdict.BLOCKED] + found[Verdict.BROKEN]
    other = sum(1 for record in states.values() if record.blocked_by == BLOCKED_BY)
    shown = f" ({other:,} with another bubblewrap than requested)" if other else ""
    again = [f"{len(journal.not_rejudged):,} not re-judged"] if journal.not_rejudged else []
    tail = [*zero, f"{unmeasured:,} not measured{shown}", *again, *_synthetic(journal, states), *_times(journal)]
    sums = [f"+ {term}" if place else term for place, term in enumerate(terms or ["0"])]
    return [f"{len(states):,} planned =", *sums, *(f"· {part}" for part in tail)]


def _term(verdict: Verdict, word: str, leaks: int) -> str:
    return f"{word} ({plural(leaks, 'leak')})" if verdict is Verdict.VIOLATES and leaks else word


def synthetic(journal: ReadJournal, states: Mapping[Key, Record]) -> list[Record]:
    """Returns the results of synthetic cells. They show how Codex reacts to a refusal, and nothing about a kernel."""
    cells = {cell.id for cell in journal.plan.cells if cell.synthetic}
    return [record for key, record in states.items() if key.cell in cells]


def _synthetic(journal: ReadJournal, states: Mapping[Key, Record]) -> list[str]:
    count = len(synthetic(journal, states))
    return [f"{count:,} in {SYNTHETIC} cells"] if count else []


def _times(journal: ReadJournal) -> list[str]:
    if journal.end is None:
        return []
    inside = journal.end.seconds_in_codex
    if inside > journal.end.seconds:  # parallel calls, or several workers
        return [f"{journal.end.seconds:.1f} s", f"{inside:.1f} s in Codex, each of several parallel calls counted"]
    return [f"{inside:.1f} s in Codex", f"{max(0.0, journal.end.seconds - inside):.1f} s ours"]


def incomplete(journal: ReadJournal, states: Mapping[Key, Record]) -> str:
    """Returns what is missing of a run, or what its end contradicts; "" if it is complete."""
    missing = len(never_written(states))
    if journal.end is None:
        torn = f" ({journal.torn})" if journal.torn else ""
        words = (
            f"INCOMPLETE: the run did not end by itself{torn}; {missing:,} of {len(states):,} planned have no result"
        )
        return "; ".join(filter(None, (words, _changed(journal))))
    never = f"{plural(missing, 'planned result')} are missing: the ledger does not add up" if missing else ""
    return contradiction(journal, states) or never


def contradiction(journal: ReadJournal, states: Mapping[Key, Record]) -> str:
    """Returns why a journal cannot be relied on; "" if it can.

    Either it has no end, or its lines do not match each other. A run that reports its own interruption is neither.
    """
    if journal.end is None:
        return incomplete(journal, states)
    if journal.contradicted:
        return _changed(journal)
    found = count(states.values())
    lost = _lost_calls(journal) or _contradicted(journal.end.counts, found)
    return lost or _another_exit(journal.end, found) or _no_success(journal)


def _changed(journal: ReadJournal) -> str:
    """Names the first line that contradicts the others (journal.rejudge)."""
    if not journal.contradicted:
        return ""
    first, more = journal.contradicted[0], len(journal.contradicted) - 1
    about = f"{first.key}: " if first.key is not None else ""
    others = f", and {plural(more, 'other contradiction')}" if more else ""
    return f"CHANGED: line {first.line} contradicts the journal: {about}{first.why}{others}"


def not_rejudged(journal: ReadJournal) -> str:
    """Returns how many results could not be judged again; "" if all could."""
    count = len(journal.not_rejudged)
    if not count:
        return ""
    of = f"{count:,} of {plural(len(journal.plan.keys), 'result')}"
    if any(record.attempt and record.basis is None for record in journal.records):
        return f"NOT RE-JUDGED: {of}: another version wrote the journal, and it lacks what the judge had"
    return f"NOT RE-JUDGED: {of}: code that decided them is not here, or a call was redacted"


def not_replayed(journal: ReadJournal) -> list[str]:
    """Returns a line if rows could not be made again from the calls."""
    count = len(journal.not_replayed)
    since = "the scenarios have changed since the run, or something in a call was redacted"
    shown = shortened_list(journal.not_replayed)
    return [f"rows of {plural(count, 'promise')} were not derived again ({shown}): {since}"] if count else []


def own_deviations(journal: ReadJournal, states: Mapping[Key, Record]) -> list[str]:
    """Returns a line if known deviations that are not shipped excuse violations: the plan alone has them."""
    found = excused_by_own(journal, states)
    known = sum(one.verdict is Verdict.EXPECTED for one in states.values())
    of = f"{sum(found.values()):,} of {known:,} known"
    return [f"{of} by deviations of the run's own, which are not shipped ({shortened_list(found)})"] if found else []


def excused_by_own(journal: ReadJournal, states: Mapping[Key, Record]) -> dict[str, int]:
    """Returns how many violations each deviation excuses that is not shipped."""
    own = frozenset(journal.own_deviations)
    known = (one.deviation for one in states.values() if one.verdict is Verdict.EXPECTED)
    return dict(Counter(name for name in known if name in own))


def believed(journal: ReadJournal, states: Mapping[Key, Record]) -> list[str]:
    """Returns a line for each thing that results depend on and that was not derived again."""
    return [*not_replayed(journal), *own_deviations(journal, states)]


def doubt(journal: ReadJournal, states: Mapping[Key, Record]) -> str:
    """Returns why no result may be shown as certain: the run is not whole, or could not be judged again."""
    return incomplete(journal, states) or not_rejudged(journal)


def _contradicted(ended: Mapping[str, int], found: Mapping[str, int]) -> str:
    """Compares the counts at the run's end with its results. They differ only if lines were changed or lost."""
    differ = [
        f"{ended.get(word, 0):,} {word}, not {number:,}"
        for word, number in found.items()
        if ended.get(word, 0) != number
    ]
    return f"CHANGED: when the run ended it counted {', '.join(differ)}: lines were changed or lost" if differ else ""


def _lost_calls(journal: ReadJournal) -> str:
    """Returns the first call that a result refers to and that is not in the journal."""
    there = {call.observation.id for call in journal.calls}
    lost = next(((record.key, call) for record in journal.records for call in record.calls if call not in there), None)
    return f"CHANGED: the call of a result is missing: {lost[1]} ({lost[0]})" if lost else ""


def _no_success(journal: ReadJournal) -> str:
    """Checks exit code 0 against other reasons, apart from results, why a run cannot pass."""
    assert journal.end is not None
    found = {
        "left behind by codexsandbox": journal.end.leaks,
        "not measured": [one.what for one in journal.plan.not_planned if one.required],
        "the machine changed": list(changes(journal.environments)),
    }
    shown = next((f"{words}: {shortened_list(names)}" for words, names in found.items() if names), "")
    return f"CHANGED: the run ended with exit code 0, and with {shown}" if shown and not journal.end.exit else ""


def strict(journal: ReadJournal, states: Mapping[Key, Record], limit: int) -> list[str]:
    """Returns what a strict run does not accept: one line for each reason, with its results and promises."""
    keys = too_little(states, journal.plan.not_applicable) if journal.run.strict else []
    groups: dict[tuple[str, str], list[str]] = {}
    for key in keys:
        why = states[key].reason or "no reason given"
        groups.setdefault((STRICT_WORDS[states[key].verdict], why), []).append(key.promise)
    return [
        f"strict fails {plural(len(found), 'result')}, {word}: {shortened_list(dict.fromkeys(found), limit)}: {why}"
        for (word, why), found in groups.items()
    ]


def _another_exit(end: EndLine, found: Mapping[str, int]) -> str:
    """Checks the exit code against its own reasons, and against results that cannot end with it."""
    first = end.reasons[0].partition(" ")[0] if end.reasons else "0"
    if first != str(end.exit):
        return f"CHANGED: the run ended with exit code {end.exit}, and the first of its reasons with {first}"
    red = [f"{found[word]:,} {word}" for word in ("violates", "broken", "stale") if found[word]]
    shown = f"CHANGED: the run ended with exit code {end.exit}, and its results with {', '.join(red)}"
    return shown if red and (end.exit == 0 or (found["violates"] and end.exit > 4)) else ""


# ---- posture: which sandbox really ran
def posture(journal: ReadJournal) -> list[str]:
    """Returns each way in which a sandbox was set up: by which program, for whose calls and how many. It adds what was
    requested in vain."""
    calls = [call for call in journal.calls if not call.control and _sandboxed(call)]
    found = seen(calls, {line.id: line.facts for line in journal.environments})
    ways: dict[str, Counter[str]] = {}
    totals: Counter[str] = Counter()
    for call in calls:
        ways.setdefault(_way(call, found.get(call.id)), Counter())[call.subject] += 1
        totals[call.subject] += 1
    several = len({cell.subject for cell in journal.plan.cells}) > 1
    shown = [_posture(way, counted, totals, several=several) for way, counted in ways.items()]
    return shown + _in_vain(journal)


def _posture(way: str, calls: Mapping[str, int], totals: Mapping[str, int], *, several: bool) -> str:
    whose = f"{shortened_list(calls, 8)}: " if several and len(calls) < len(totals) else ""
    total = sum(totals[subject] for subject in calls)
    return f"{whose}{way} in {sum(calls.values()):,} of {plural(total, 'sandboxed call')}"


def _sandboxed(call: CallLine) -> bool:
    if call.full_access:
        return False
    policy = POLICIES.get(call.observation.policy)
    return policy is None or policy.sandboxed


def _way(call: CallLine, found: BwrapUsed | None) -> str:
    if not call.observation.readings:
        probed = call.observation.nonce in call.observation.argv
        return f"not seen from outside ({'no probe was held' if probed else 'its command was no probe'})"
    if found is not None and found.kind != "none":
        return f"set up by {found.description}"
    reading = call.observation.readings[0]
    own = [name for name, inode in reading.namespaces.items() if reading.hand_namespaces.get(name, inode) != inode]
    marks = [f"own {', '.join(sorted(own))} namespace"] if own else []
    if reading.filters > reading.hand_filters:
        marks.append(f"{reading.filters - reading.hand_filters} more seccomp filter than outside")
    privileges = "NoNewPrivs alone" if reading.no_new_privs > reading.hand_no_new_privs else "and no mark of the kernel"
    return f"no bwrap program ({'; '.join(marks) or privileges})"


def _in_vain(journal: ReadJournal) -> list[str]:
    """Returns calls whose sandbox was set up by another bubblewrap than the cell's."""
    found = Counter(call.another_bwrap for call in journal.calls if call.another_bwrap)
    return [f"{shown} in {plural(count, 'call')}: not counted as measured" for shown, count in found.items()]
