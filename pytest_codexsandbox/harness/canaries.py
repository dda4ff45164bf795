"""Canaries: two subjects with a known answer, run beside every measurement. If one is misjudged, no result is
trusted."""

from collections.abc import Callable
from typing import Final

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.harness.baseline_checks import START, TRUST, canary_evidence
from pytest_codexsandbox.harness.batteries import SHARED
from pytest_codexsandbox.harness.observation_cache import ObservationCache
from pytest_codexsandbox.harness.trial_runner import run_promises
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.policy import POLICIES, WORKSPACE_WRITE
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence, Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.selftest import canaries as canary_subjects

Pairs = tuple[tuple[Promise, Callable[..., object]], ...]
NOT_CAUGHT: Final = "allow-all was not caught"
ATTEMPTS: Final = 3  # a canary that dies with its environment is run again, twice at most
_FINE = (Verdict.CONFORMS, Verdict.UNCONFINED, Verdict.NOT_APPLICABLE)


class Canaries:
    """Runs the canaries once for each (environment, door) of a worker, under one policy: workspace-write where it is
    planned.

    The selftest runs every subject under every policy. The canaries only show whether the machinery works in this
    place.
    """

    def __init__(self, cache: ObservationCache, pairs: Pairs) -> None:
        self._cache, self._pairs = cache, pairs
        self._behaved_at: dict[tuple[str, str], dict[str, str]] = {}  # by environment and door
        self._lost: dict[tuple[str, str, str], list[str]] = {}  # attempts that ended with their environment

    def evidence(self, cell: Cell, door: str, policy: str) -> tuple[Evidence, ...]:
        behaved = self._behaved(cell, door)
        lost = {name: self._lost.get((cell.environment.id, door, name), []) for name in behaved}
        return canary_evidence(behaved, self._cache.observations(cell, door, policy, SHARED)[0], lost=lost)

    def need(self, cell: Cell, door: str) -> None:
        """Raises HarnessError where a canary was misjudged: nothing else is judged there."""
        wrong = [fault for fault in self._behaved(cell, door).values() if fault]
        if wrong:
            raise HarnessError(
                "the canaries were misjudged, so no result of this cell can be trusted", why="; ".join(wrong)
            )

    def _behaved(self, cell: Cell, door: str) -> dict[str, str]:
        """Returns for each canary what was wrong with its judgement, "" if nothing. Leaves out a canary that could not
        be run."""
        place = cell.environment.id, door
        if place not in self._behaved_at:
            self._behaved_at[place] = self._ask(cell, door)
        return self._behaved_at[place]

    def _ask(self, cell: Cell, door: str) -> dict[str, str]:
        folder = self._cache.resources.options.folder / "canaries"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        allow_all, good = canary_subjects(folder)
        planned = [policy for policy in (WORKSPACE_WRITE, *POLICIES) if self._cache.batteries[policy, SHARED].promises]
        sandboxed = next((policy for policy in planned if POLICIES[policy].sandboxed), "")
        with_a_battery = next((policy for policy in planned if self._battery(policy)), "")
        found = {
            "allow-all": self._caught(allow_all, cell, door, sandboxed) if sandboxed else None,
            "good": self._passed(good, cell, door, with_a_battery) if with_a_battery else None,
        }
        return {name: fault for name, fault in found.items() if fault is not None}

    def _battery(self, policy: str) -> list[tuple[Promise, Callable[..., object]]]:
        """Returns the shipped promises that share the battery, without the baseline checks. The good canary's verdict
        on them is known."""
        planned = {one.id for one in self._cache.batteries[policy, SHARED].promises if one.topic not in (START, TRUST)}
        return [pair for pair in self._pairs if pair[0].id in planned]

    def _caught(self, subject: Subject, cell: Cell, door: str, policy: str) -> str:
        records = self._rehearse(subject, cell, door, policy, [pair for pair in self._pairs if pair[0].topic == START])
        wrong = [record for record in records if record.verdict is not Verdict.VIOLATES]
        return _words(NOT_CAUGHT, wrong) if wrong or not records else ""

    def _passed(self, subject: Subject, cell: Cell, door: str, policy: str) -> str | None:
        records = self._rehearse(subject, cell, door, policy, self._battery(policy))
        if all(record.verdict is Verdict.NOT_APPLICABLE for record in records):
            return None
        wrong = [record for record in records if record.verdict not in _FINE]
        return _words("the good canary did not pass", wrong) if wrong else ""

    def _rehearse(
        self, subject: Subject, cell: Cell, door: str, policy: str, pairs: list[tuple[Promise, Callable[..., object]]]
    ) -> list[Record]:
        """Runs the promises on a canary, and again if the environment was lost meanwhile. Verdicts of an earlier
        attempt count too."""
        spec, judged = cell.environment, list[Record]()
        for attempt in range(1, ATTEMPTS + 1):
            generation = self._cache.pool.generation(spec)
            found = run_promises(
                pairs,
                (policy,),
                subject,
                environment=spec,
                options=self._cache.resources.options,
                door=door,
                exempt_from_start=True,
                parent=self._cache,
            ).values()
            broken = [record for record in found if record.verdict is Verdict.BROKEN]
            if not broken or self._cache.pool.generation(spec) == generation or attempt == ATTEMPTS:
                return [*judged, *found]
            judged += [record for record in found if record not in broken]
            lost = self._lost.setdefault((spec.id, door, subject.spec.label), [])
            lost.append(f"attempt {attempt}: {broken[0].reason}")
        raise AssertionError("unreachable: the last attempt returns")


def _words(what: str, wrong: list[Record]) -> str:
    some = "; ".join(f"{record.key.promise}: {record.verdict.value} ({record.reason})" for record in wrong[:3])
    return f"{what}: {some or 'no result'}"
