"""P16: killed at each call that changes a file, a generator leaves the old file or the new one, and can run again."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.generators.checks.codex_toml import comparable, read
from pytest_codexsandbox.generators.checks.findings import (
    CheckFault,
    Control,
    all_hold,
    as_findings,
    difference,
    skipped,
)
from pytest_codexsandbox.generators.stress.intermediate_files import HALF_DONE, are_whole, is_between
from pytest_codexsandbox.generators.stress.kill_choice import QUICK, SLOW, Choice, choice
from pytest_codexsandbox.generators.stress.kill_points import KillPoint, points, stable_paths
from pytest_codexsandbox.generators.stress.setup import (
    StressContext,
    StressRun,
    StressSetup,
    cannot,
    shown,
    stress_setup,
)
from pytest_codexsandbox.generators.stress.strace import ALL, kept
from pytest_codexsandbox.generators.stress.strace_log import CHANGING, Syscall, Trace
from pytest_codexsandbox.model.generator import Finding

CLAIM: Final = (
    "killed at any call that changes a file, it leaves the old file or the new one, and the next run succeeds"
)
_SLOW: Final = 1.0  # seconds of a run
_TORN: Final = ("half-a-file", "emptied-first", HALF_DONE)
_TRIES: Final = 3  # threads may make the calls in another order


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """One kill, the file after it, and the next run."""

    point: KillPoint
    struck: bool
    left: bytes | None
    again: StressRun


class NotKilled(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the same run without a kill."""

    old: bytes | None
    new: bytes | None
    same_bytes: bool = True  # whether each run leaves the same bytes
    steps: bool = False  # whether it replaces the whole file several times

    def is_whole(self, content: bytes | None) -> bool:
        """Checks for the old file, the new one, or a file between two steps that has each key of one of them."""
        if content == self.old or self.is_new(content):
            return True
        return self.steps and is_between(content, self.old, self.new)

    def is_new(self, content: bytes | None) -> bool:
        if self.same_bytes or content is None or self.new is None:
            return content == self.new
        return comparable(read(content).data) == comparable(read(self.new).data) and read(content).loads


def killed(context: StressContext) -> tuple[Finding, ...]:
    why = cannot(context) or context.strace().why
    if why:
        return skipped(CLAIM, why)
    with stress_setup(context) as stage:
        return shown(_played(stage), stage.world())


def _played(stage: StressSetup) -> tuple[Finding, ...]:
    plain = _fresh(stage)
    quick = plain.outcome.seconds < _SLOW
    (first, calls), (second, more) = (_counted(stage, ALL if quick else CHANGING) for _ in range(2))
    why = _cannot(first, second, plain, calls, stage)
    if why:
        return skipped(CLAIM, why)
    same_bytes = first.config == second.config == plain.config
    known = NotKilled(
        old=stage.config(stage.lay()),
        new=plain.config,
        same_bytes=same_bytes,
        steps=are_whole(calls, stage.config_path),
    )
    found = points(calls, stage.tops, stable_paths(calls, more))
    chosen = choice(found, calls, stage.config_path, QUICK if quick else SLOW)
    return judged(known, [_strike(stage, point) for point in chosen.points], chosen)


def judged(known: NotKilled, strikes: Sequence[Kill], chosen: Choice) -> tuple[Finding, ...]:
    faults = [fault for strike in strikes for fault in faults_of(strike, known)]
    return as_findings(CLAIM, faults, control=control(strikes, known, chosen), saw=_told(strikes, known, chosen))


# ---- playing
def _fresh(stage: StressSetup) -> StressRun:
    stage.lay()
    return stage.play()


def _counted(stage: StressSetup, names: Sequence[str]) -> tuple[StressRun, tuple[Syscall, ...]]:
    stage.lay()
    play = stage.play(prefix=stage.context.strace().words(stage.log(), calls=names))
    return play, kept(stage.log()).calls


def _cannot(first: StressRun, second: StressRun, plain: StressRun, calls: Sequence[Syscall], stage: StressSetup) -> str:
    if not plain.well:
        return f"it wrote nothing here: {plain.said}"
    if plain.config == stage.config(stage.lay()):
        return "it changed no file: it gives arguments, or the file was already as requested"
    if not (first.well and second.well and calls):
        return f"strace cannot trace it here: {first.said}"
    if not read(plain.config or b"").loads:
        return "its output does not load: see generator.parses"
    if first.config != plain.config and comparable(read(first.config or b"").data) != comparable(
        read(plain.config or b"").data
    ):
        return "it writes another file in each run, so the new file is unknown"
    return ""


def _strike(stage: StressSetup, point: KillPoint) -> Kill:
    """Kills a run at one point. Every attempt starts from the same files."""
    strace = stage.context.strace()
    trace, left = Trace(), None
    for _ in range(_TRIES):
        stage.lay()
        words = strace.words(stage.log(), calls=(point.name,), inject=point.inject, path=point.path)
        left = stage.play(prefix=words).config
        trace = kept(stage.log())
        if point.struck(trace):
            break
    return Kill(point=point, struck=point.struck(trace), left=left, again=stage.play(run=2))


# ---- judging: pure
def faults_of(strike: Kill, known: NotKilled) -> Iterator[CheckFault]:
    if not strike.struck:
        return
    at = f"killed before {strike.point.target.name} (change {strike.point.number + 1})"
    left = strike.left
    if not known.is_whole(left):
        yield _torn(left, known, at)
    elif left is not None and not read(left).loads and read(known.old or b"").loads:
        yield CheckFault(reason=read(left).reason, saw=f"{at}: {read(left).fault}")
    if not strike.again.well:
        yield CheckFault(reason="does-not-recover", saw=f"{at}: the next run {strike.again.said}", direction="denied")
    elif not known.is_new(strike.again.config):
        diff = difference(known.new or b"", strike.again.config or b"")
        yield CheckFault(reason="does-not-recover", saw=f"{at}: the next run leaves an unknown file", diff=diff)


def _torn(left: bytes | None, known: NotKilled, at: str) -> CheckFault:
    if left is None:
        return CheckFault(reason="file-lost", saw=f"{at}: there is no file any more")
    word = "emptied-first" if not left else HALF_DONE if known.steps and read(left).loads else "half-a-file"
    saw = (
        f"{at}: {len(left)} bytes are left, neither the old {len(known.old or b'')} nor the new {len(known.new or b'')}"
    )
    return CheckFault(reason=word, saw=saw, diff=difference(known.new or b"", left))


def control(strikes: Sequence[Kill], known: NotKilled, chosen: Choice) -> Control:
    """Checks that each kill struck, that each state of the file was seen, and that a torn file would not pass."""
    missed = sum(not one.struck for one in strikes)
    text = f"each of {len(strikes)} kills is seen to have struck ({missed} were not)"
    seen = "a kill shows the configuration between each two calls on it"
    if chosen.unseen:
        seen += f" ({chosen.unseen} times none does: another process makes the same call first)"
    return all_hold(
        (
            Control(text, bool(strikes) and not missed),
            Control(seen, not chosen.unseen),
            Control("a part of the new file is recognised", any(_notices(one, known) for one in strikes[:1])),
        )
    )


def _notices(strike: Kill, known: NotKilled) -> bool:
    torn = Kill(point=strike.point, struck=True, left=part_of(known), again=strike.again)
    return any(fault.reason in _TORN for fault in faults_of(torn, known))


def part_of(known: NotKilled) -> bytes:
    """Returns a torn file: half of the new one, or another part if that half equals the old file."""
    new = known.new or b""
    half = len(new) // 2
    lengths = (*range(half, -1, -1), *range(half + 1, len(new)))
    parts = (new[:length] for length in lengths)
    return next((one for one in parts if not known.is_whole(one)), new + b"\0")


def _told(strikes: Sequence[Kill], known: NotKilled, chosen: Choice) -> str:
    olds = sum(one.left == known.old for one in strikes)
    news = sum(one.left != known.old and known.is_new(one.left) for one in strikes)
    between = len(strikes) - olds - news
    steps = f", {between} times a file between two steps with each key of one of them" if between else ""
    left = f"the old file was left {olds} times, the new one {news} times{steps}, and each next run succeeded"
    return f"killed at {_tried(chosen)}: {left}{_unreachable(chosen)}"


def _tried(chosen: Choice) -> str:
    own = f"{_number(len(chosen.own), chosen.own_calls)} on the configuration (and on the file that becomes it)"
    return f"{own}, {_number(len(chosen.others), chosen.other_calls)} on other files" if chosen.other_calls else own


def _number(tried: int, calls: int) -> str:
    if tried == calls:
        return f"all {calls} calls"
    return f"{tried} of {calls} calls (a sample)"


def _unreachable(chosen: Choice) -> str:
    lost = chosen.unreachable
    return f"; {lost} could not be singled out: another process comes to the same call first" if lost else ""
