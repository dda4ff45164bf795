"""Replay floor: repeats every recorded call in a bare loop and prints the seconds, the lower bound of every run.

The same arguments run in fresh folders, one after the other, without any checks before or after. The time of a whole
run is compared with this. Interrupted calls are ended after their recorded time. A call that was recorded together with
others is replayed alone.

    python -m benchmarks.replay_floor JOURNAL [--repeat 5]
"""

import argparse
import base64
import json
import re
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.commands.scratch_dir import tell, workbench
from pytest_codexsandbox.doors.support.placeholders import plan_word, read_plan
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.errors import HarnessError, InputError
from pytest_codexsandbox.journal.store import read
from pytest_codexsandbox.model.act import Act, Given
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.journal_lines import CallLine
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Environment
from pytest_codexsandbox.registry import load_plugin
from pytest_codexsandbox.reports.headlines import incomplete

_PROBE_TAIL: Final = 3  # PROBE NONCE PLAN


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    calls: int
    codex_calls: int
    rounds: tuple[float, ...]  # seconds of all calls, for each round
    codex_rounds: tuple[float, ...]
    recorded: float
    codex_recorded: float

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def codex_median(self) -> float:
        return statistics.median(self.codex_rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("journal", type=Path, metavar="JOURNAL", help="of a run on this machine, or its folder")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="rounds; the median counts (default: 5)")
    asked = parser.parse_args()
    floor = replayed(asked.journal, max(asked.repeat, 1))
    shown = msgspec.to_builtins(floor) | {"median": floor.median, "codex_median": floor.codex_median}
    print(json.dumps(shown, indent=2))


def replayed(path: Path, repeat: int) -> Floor:
    """Replays every call of a journal; says on stderr if the journal is not whole."""
    journal = read(path)
    calls = replayable(journal.calls)
    if not calls:
        raise InputError(
            "nothing to replay: no call was recorded",
            where=str(path),
            why=incomplete(journal, journal.states()),
            next_step="run again: pytest --codex-matrix",
        )
    local = load_plugin("backends", "local")()
    with workbench("replay") as folder, local.open(this_machine(), folder / "e", say=tell) as here:
        floor = measure(here, calls, repeat)
    if journal.end is None:
        print(f"of what there is: {incomplete(journal, journal.states())}", file=sys.stderr)
    return floor


def replayable(calls: Sequence[CallLine]) -> tuple[CallLine, ...]:
    """Returns the calls that were really started, from a journal that records their worlds."""
    return tuple(
        call
        for call in calls
        if call.observation.world is not None and call.observation.ended not in ("not-started", "lost")
    )


def measure(environment: Environment, calls: Sequence[CallLine], repeat: int) -> Floor:
    rounds, codex = [], []
    for _ in range(repeat):
        seconds = [replay(environment, call) for call in calls]
        rounds.append(sum(seconds))
        codex.append(sum(one for one, call in zip(seconds, calls, strict=True) if not call.control))
    return Floor(
        calls=len(calls),
        codex_calls=sum(not call.control for call in calls),
        rounds=tuple(rounds),
        codex_rounds=tuple(codex),
        recorded=sum(call.observation.seconds for call in calls),
        codex_recorded=sum(call.observation.seconds for call in calls if not call.control),
    )


def replay(environment: Environment, call: CallLine) -> float:
    """Returns the seconds from start to end of the process, without setting up the world."""
    world = environment.world()
    try:
        paths = Paths(call.observation.world, world)
        environment.lay(world, [paths.given(one) for laid in call.observation.given.values() for one in laid])
        ended = environment.run(command_of(call, paths))
    finally:
        environment.clear(world)
    if ended.ended in ("not-started", "lost"):
        raise HarnessError("a recorded call cannot be replayed", where=call.id, why=ended.error)
    return ended.seconds


def command_of(call: CallLine, paths: "Paths") -> Command:
    seen = call.observation
    speaks = paths.is_probe(seen.argv)
    stdin = base64.b64decode(call.stdin)
    limit = seen.seconds if call.interrupt_after else max(call.timeout, seen.seconds * 4, 20.0)
    return Command(
        argv=paths.argv(seen.argv),
        cwd=paths.text(seen.cwd),
        stdin=b"go\n" + stdin if speaks else stdin,
        env={name: paths.text(value) for name, value in seen.env.items()},
        timeout=limit,
        why=f"replay of {call.id}",
    )


class Paths:
    """Maps folders and ports of a recorded world to those of a new one. Pure."""

    def __init__(self, old: World | None, new: World) -> None:
        then = old.values if old else {}
        self._probe = then.get("PROBE", "")
        pairs = {value: new.values[name] for name, value in then.items() if value != new.values.get(name, value)}
        if old is not None:
            pairs |= {old.folder: new.folder, f"tmp-{old.id}-": f"tmp-{new.id}-"}
        self._whole = {value: place for value, place in pairs.items() if value.isdigit()}  # a port is a whole word
        self._parts = {value: place for value, place in pairs.items() if not value.isdigit()}
        longest_first = sorted(self._parts, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def text(self, text: str) -> str:
        return self._whole.get(text) or self._pattern.sub(lambda found: self._parts[found[0]], text)

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self.value(held) for name, held in value.items()}
        return [self.value(held) for held in value] if isinstance(value, list | tuple) else value

    def given(self, given: Given) -> Given:
        return msgspec.structs.replace(given, path=self.text(given.path), content=self.text(given.content))

    def is_probe(self, argv: Sequence[str]) -> bool:
        return len(argv) > _PROBE_TAIL and argv[-_PROBE_TAIL] == self._probe != ""

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """Unpacks the probe's plan, changes it and packs it again, because it contains paths and ports too."""
        if not self.is_probe(argv):
            return tuple(map(self.text, argv))
        *words, nonce, plan = argv
        acts = {
            str(act["id"]): Act(verb=act["verb"], path=self.text(act["path"]), params=self.value(act["params"]))
            for act in read_plan(plan)
        }
        return (*map(self.text, words), nonce, plan_word(acts))


if __name__ == "__main__":
    main()
