"""The closing screen: every planned key is in it, the counts add up, it fits, and nothing hostile gets through."""

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.diagnosis.judge import ANOTHER
from pytest_codexsandbox.model.bwrap_used import BLOCKED_BY, BwrapUsed
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import SIGNS, Verdict
from pytest_codexsandbox.reports import headlines
from pytest_codexsandbox.reports.grid import grid
from pytest_codexsandbox.reports.row_folding import folded
from pytest_codexsandbox.reports.terminal import render
from pytest_codexsandbox.reports.terminal_causes import again
from tests.unit.reports import builders, container_builders, line_builders

GOLDEN = Path(__file__).parents[2] / "golden" / "reports"
COLOUR = re.compile("\x1b\\[[0-9;]*m")
QUIETLY = settings(
    deadline=None, derandomize=True, database=None, max_examples=60, suppress_health_check=list(HealthCheck)
)


def screen(made: ReadJournal, *, width: int = 80, color: bool = False, ascii: bool = False, verbosity: int = 0) -> str:
    folder = Path(".codexsandbox/2026-11-18T09-41-00")
    return render(made, width=width, color=color, ascii=ascii, verbosity=verbosity, folder=folder)


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("kind", sorted(container_builders.KINDS))
def test_the_screen_is_the_golden_one(kind: str, width: int) -> None:
    golden = GOLDEN / f"{kind}-{width}.txt"
    assert screen(container_builders.KINDS[kind](), width=width, ascii=width == 60) == golden.read_text()


@pytest.mark.parametrize("verbosity", [0, 1])
@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("kind", sorted(container_builders.KINDS))
def test_no_line_is_wider_than_the_screen_but_what_is_pasted(kind: str, width: int, verbosity: int) -> None:
    text = screen(container_builders.KINDS[kind](), width=width, verbosity=verbosity, ascii=True)
    for line in text.splitlines():
        pasted = "/repro/" in line or line.startswith(("again:", "evidence:", " " * 10))
        assert len(line) <= width or pasted, line


@pytest.mark.parametrize("kind", sorted(container_builders.KINDS))
def test_a_log_without_unicode_gets_pure_ascii(kind: str) -> None:
    assert screen(container_builders.KINDS[kind](), ascii=True, verbosity=1).isascii()


@pytest.mark.parametrize("kind", sorted(container_builders.KINDS))
def test_colour_only_repeats_what_a_sign_says(kind: str) -> None:
    made = container_builders.KINDS[kind]()
    coloured = screen(made, color=True)
    assert "\x1b[" in coloured
    assert COLOUR.sub("", coloured) == screen(made)


@pytest.mark.parametrize("ascii", [True, False])
def test_nothing_hostile_reaches_the_terminal(ascii: bool) -> None:
    text = screen(builders.hostile(), ascii=ascii, verbosity=1)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", text)
    assert "\\x1b[2J" in text
    assert "\\u202e" in text
    assert "more characters" in text
    assert len(text) < 30_000


def test_a_green_run_is_never_a_wall_of_text() -> None:
    text = screen(builders.green())
    assert len(text.splitlines()) <= 30
    assert "again:" not in text


def test_a_run_that_did_not_end_says_so_first() -> None:
    first, *_ = screen(builders.incomplete()).splitlines()
    assert first.startswith("INCOMPLETE")
    assert " 42 of 72 planned " in screen(builders.incomplete(), width=200)


def test_a_journal_whose_results_were_changed_after_its_end_says_so_first() -> None:
    whole = builders.red()
    mended = tuple(
        msgspec.structs.replace(record, verdict=Verdict.CONFORMS, direction="")
        if record.verdict is Verdict.VIOLATES
        else record
        for record in whole.records
    )
    changed = " ".join(screen(msgspec.structs.replace(whole, records=mended), width=200).split())
    assert changed.startswith("CHANGED: ")
    assert " violates, not 0" in changed


def test_a_sandbox_that_does_not_start_costs_one_block() -> None:
    text = screen(builders.blocked())
    assert text.count("\n   because") == 1
    assert ", 55 results blocked" in text


def test_checks_that_a_leak_at_the_start_blocks_are_named_once() -> None:
    text = screen(builders.no_sandbox())
    assert text.count("\nB ") == 1
    assert ", 50 results blocked\n" in text
    assert text.index("F leak: start.sandbox-is-on") < text.index("\nB ") < text.rindex("start.sandbox-is-on is ")


def test_leaks_come_before_everything_else() -> None:
    text = screen(builders.red())
    found = [line for line in text.splitlines() if re.match(r"F (leak|denied|wrong-claim|litter)", line)]
    assert [line.split()[1] for line in found] == ["leak:", "leak:", "denied:", "wrong-claim:", "litter:"]


def test_the_legend_explains_the_signs_that_occur_and_no_others() -> None:
    (green,) = re.findall(r"^legend .*$", screen(builders.green()), re.MULTILINE)
    assert re.findall(r"(?<=  )\S(?= )", green) == ["P", "U"]
    legend = screen(builders.red(), width=200).split("legend")[1].splitlines()[0]
    assert re.findall(r"(?<=  )\S(?= )", legend) == ["P", "U", "F", "E", "-", "x", "X"]


def test_the_line_to_paste_names_what_was_red_and_keeps_the_rest_of_the_command() -> None:
    made = builders.several_attempts()
    assert "again:    pytest --codex-matrix --codex-only filesystem.outside-refused\n" in screen(made)


def test_the_command_of_a_run_is_shown_as_it_was() -> None:
    words = ("pytest", "--codex-matrix", "--codex-only", "sqlite.*")
    assert again(words, ()) == words
    assert again(words, ("dns.x",)) == ("pytest", "--codex-matrix", "--codex-only", "dns.x")


def test_the_line_to_paste_keeps_a_selection_of_policies_and_cells() -> None:
    words = ("pytest", "--codex-only", "dns.*,read-only", "-q", "--codex-only=debian-*, *", "--codex-only=dns.x")
    key = Key(cell="debian-12~host", door="sandbox", policy="read-only", promise="dns.x")
    assert again(words, ("dns.x",), keys=(key,)) == ("pytest", "-q", "--codex-only", "dns.x,read-only,debian-*")


def test_attempts_that_differ_are_said() -> None:
    assert "conforms, violates" in screen(builders.several_attempts())


def test_a_run_without_any_key_can_still_be_shown() -> None:
    text = screen(builders.journal([], cells=[builders.cell()], keys=[]))
    assert "0 planned = 0" in text


def test_the_binary_that_really_ran_is_named() -> None:
    text = screen(builders.green(), width=200)
    assert "Codex' own bwrap (sha256 1f2e3d4c5b6a) in 5 of 5 " in text


def test_if_releases_differ_the_sandbox_of_each_is_named() -> None:
    made = builders.releases()
    calls = [
        msgspec.structs.replace(call, subject=call.cell.rpartition("codex-")[2], observation=bare)
        if "codex-0.40.0" in call.cell
        else msgspec.structs.replace(call, subject=call.cell.rpartition("codex-")[2])
        for call in made.calls
        for words in [("probe.py", call.observation.nonce) if call.observation.policy == "read-only" else ("true",)]
        for bare in [msgspec.structs.replace(call.observation, readings=(), argv=("codex", *words))]
    ]
    text = screen(msgspec.structs.replace(made, calls=tuple(calls)), width=200)
    found = re.findall(r"(0\.40\.0|0\.169\.0): ([^:\n]*) in (\d+ of \d+) ", text)
    assert [(release, count) for release, how, count in found] == [
        ("0.40.0", "1 of 5"),
        ("0.40.0", "4 of 5"),
        ("0.169.0", "35 of 35"),
    ]
    assert ["(sha256 1f2e3d4c5b6a)" in how for _, how, _ in found] == [False, False, True]


def test_a_known_deviation_is_one_reason_and_the_details_are_asked_for_with_v() -> None:
    (key,) = builders.keys_of([builders.cell()], promises=["process.exit-code-kept"], policies=("read-only",))
    reason = "it is so (known until 2027-05-01); promised: write @WORKSPACE@/x is refused; saw: worked"
    made = builders.journal([builders.record(key, Verdict.EXPECTED, deviation="known-one", reason=reason)])
    assert "it is so (known until 2027-05-01)\n" in screen(made, width=200)
    assert "@WORKSPACE@" in screen(made, width=200, verbosity=1)


def test_words_that_are_the_same_are_said_once() -> None:
    (key,) = builders.keys_of([builders.cell()], promises=["trust.control-and-canaries"], policies=("read-only",))
    row = builders.violation(key).evidence[0]
    told = msgspec.structs.replace(
        row, saw="the canary sang", control="the canary sang", held=False, control_held=False
    )
    reason = "the control failed: the canary sang (promised: silence; saw: the canary sang)"
    made = builders.journal([builders.record(key, Verdict.BROKEN, reason=reason, evidence=(told,))])
    assert screen(made, width=200).count("the canary sang") == 1


def test_calls_side_by_side_take_longer_than_the_clock() -> None:
    made = builders.green()
    assert made.end is not None
    end = msgspec.structs.replace(made.end, seconds=5.0, seconds_in_codex=22.7)
    text = screen(msgspec.structs.replace(made, end=end), width=200)
    assert re.search(r"5\.0 s · 22\.7 s [a-z]+ Codex, ", text)


def test_asked_for_and_not_used_is_said_and_is_counted_as_not_measured() -> None:
    told = "requested bubblewrap 0.4.1, used Codex' own bwrap (sha256 1f2e3d4c5b6a)"
    keys = builders.keys_of([builders.cell()], policies=("read-only", "workspace-write"))
    records = [
        builders.record(key, Verdict.BLOCKED, blocked_by=BLOCKED_BY, reason=f"{ANOTHER}: {told}") for key in keys
    ]
    calls = [
        msgspec.structs.replace(line_builders.call(builders.cell().id, policy), another_bwrap=told)
        for policy in ("read-only", "workspace-write")
    ]
    text = screen(builders.journal(records, calls=calls), width=200)
    assert f"sandbox: {told} in 2 calls" in text
    assert f"{len(keys)} not measured ({len(keys)} with " in text
    assert f"{ANOTHER}, {len(keys)} results blocked" in text
    assert text.count("results blocked") == 1


def test_the_used_bubblewrap_is_named_with_its_version() -> None:
    used = BwrapUsed(kind="found", path="/usr/bin/bwrap", sha256="ab" * 32, version="bubblewrap 0.8.0")
    key = builders.keys_of([builders.cell()], policies=("read-only",))[0]
    call = msgspec.structs.replace(line_builders.call(key.cell, key.policy), bwrap_used=used)
    text = screen(builders.journal([builders.usual(key)], calls=[call]), width=200)
    assert "bubblewrap 0.8.0, /usr/bin/bwrap (sha256 abababababab) in 1 of 1 " in text


VERDICTS = st.sampled_from(list(Verdict))


@st.composite
def any_journal(draw: st.DrawFn) -> ReadJournal:
    cells = [builders.cell(f"0.{number}.0") for number in range(draw(st.integers(1, 4)))]
    promises = draw(st.lists(st.sampled_from(builders.PROMISES), unique=True, min_size=1))
    policies = draw(st.lists(st.sampled_from(builders.POLICIES), unique=True, min_size=1))
    keys = [key for key in builders.keys_of(cells, promises, policies) if draw(st.integers(0, 5))]
    records = [_any_record(draw, key) for key in keys if draw(st.integers(0, 8))]
    return builders.journal(records, cells=cells, keys=keys, ended=draw(st.booleans()))


def _any_record(draw: st.DrawFn, key: Key) -> Record:
    verdict = draw(VERDICTS)
    if verdict is Verdict.VIOLATES:
        return builders.violation(key, draw(st.sampled_from(["leak", "denied", "litter"])))
    return builders.record(key, verdict, reason=draw(st.sampled_from(["", "a reason", "another"])))


@QUIETLY
@given(any_journal())
def test_the_counts_always_add_up_to_what_was_planned(made: ReadJournal) -> None:
    equation = " ".join(headlines.counts(made, made.states())).partition(" · ")[0]
    planned, terms = equation.split(" planned = ")
    assert int(planned) == len(made.plan.keys)
    assert sum(int(term.split()[0]) for term in terms.split(" + ")) == len(made.plan.keys)


@QUIETLY
@given(any_journal(), st.booleans())
def test_every_planned_key_is_in_exactly_one_sign(made: ReadJournal, every: bool) -> None:
    states = made.states()
    matrix = grid(made, states)
    by_cell = {cell.id: group for group in matrix.groups for cell in group.cells}
    columns = [(group.first, side) for group in matrix.groups for side in matrix.sides]
    found: dict[tuple[str, str], list[Verdict]] = {}
    for rows in matrix.topics().values():
        for line in folded(rows, columns, every=every):
            for row in line.rows:
                for (cell, side), sign in zip(columns, line.signs, strict=True):
                    if row.verdict(cell, side) is not None:
                        found.setdefault((row.promise, f"{cell} {side.door} {side.policy}"), []).append(
                            sign or Verdict.BROKEN
                        )
    for key, record in states.items():
        first = by_cell[key.cell].first
        assert found[key.promise, f"{first} {key.door} {key.policy}"] == [record.verdict]


@QUIETLY
@given(any_journal(), st.sampled_from([40, 60, 80, 140]))
def test_any_journal_can_be_shown_at_any_width(made: ReadJournal, width: int) -> None:
    text = screen(made, width=width)
    for verdict in {record.verdict for record in made.states().values()}:
        assert SIGNS[verdict] in text


@QUIETLY
@given(any_journal())
def test_labels_of_a_topic_are_never_alike(made: ReadJournal) -> None:
    matrix = grid(made)
    columns = [(group.first, side) for group in matrix.groups for side in matrix.sides]
    for rows in matrix.topics().values():
        lines = folded(rows, columns)
        labels = [line.label for line in lines]
        shown = [label for line, label in zip(lines, labels, strict=True) if len(line.rows) == 1]
        assert len(set(shown)) == len(shown)


DOORS = ("sandbox", "app-server", "exec")


def at_doors(cells: int, doors: tuple[str, ...]) -> ReadJournal:
    """One door after the other, all of them green but the last in the second cell."""
    made = [builders.cell(f"0.{number}.0") for number in range(cells)]
    records = [
        builders.violation(key) if place and key.door == doors[-1] else builders.record(key)
        for place, one in enumerate(made)
        for door in doors
        for key in (msgspec.structs.replace(key, door=door) for key in builders.keys_of([one]))
    ]
    return builders.journal(records, cells=made)


def test_several_doors_stand_apart_and_are_named() -> None:
    text = screen(at_doors(2, DOORS))
    wide = len(builders.POLICIES)
    (row,) = (line for line in text.splitlines() if line.startswith("filesystem") and "F" in line)
    green, red = "P" * wide, "F" * wide
    assert f"{green} {green} {green}  {green} {green} {red}" in row
    assert "   doors     sandbox, app-server, exec, " in text


def test_few_columns_name_their_door_themselves() -> None:
    text = screen(at_doors(1, ("sandbox", "exec")), width=200)
    assert f"{builders.POLICIES[0]} by exec" in text


def test_the_program_that_a_script_starts_is_named() -> None:
    """The digest is the script's own: it is not that of a Codex."""
    made = builders.green()
    of_script = msgspec.structs.replace(made.subjects[0], facts={"script": True}, source="path")
    told = headlines.codex(msgspec.structs.replace(made, subjects=(of_script,)))
    assert "(a script, sha256 " in told and told.endswith("which starts /opt/codex/bin/codex")
    assert headlines.codex(msgspec.structs.replace(made, subjects=(of_script,), calls=())).endswith("unknown program")
    assert "starts" not in headlines.codex(made)
