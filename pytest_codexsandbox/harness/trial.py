"""Trial: what scenarios get as a fixture. Each method adds an evidence row; none raises when a promise does not
hold."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from pytest_codexsandbox.api import WRITE_REFUSALS
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.harness import act_effects
from pytest_codexsandbox.harness.user_command import Compared
from pytest_codexsandbox.model.act import Act, ActResult, PathState
from pytest_codexsandbox.model.base_acts import BASE_ACTS, FORBIDDEN
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.record import OUTLIVES, Evidence
from pytest_codexsandbox.model.verdict import Direction
from pytest_codexsandbox.suite_protocols import SuiteTrial

OUTSIDE: Final = BASE_ACTS[FORBIDDEN].path
# The last one: the fake Codexes give the command a path below /dev/null.
REASONS: Final = ("Read-only file system", "Permission denied", "Operation not permitted", "Not a directory")


@dataclass(eq=False, repr=False, kw_only=True)
class RealTrial(SuiteTrial):
    standing: tuple[Evidence, ...] = ()  # rows of a baseline check (start, trust)
    stdin: dict[str, bytes] = field(default_factory=dict)  # of the user's own calls, by their ids
    outside: dict[str, Compared] = field(default_factory=dict)  # the same command without a sandbox, by the call's id

    # ---- evidence
    def refused(
        self, act: str, *, errno: tuple[str, ...] = WRITE_REFUSALS, claim: str = "", unless: tuple[str, ...] = ()
    ) -> None:
        spec = self._act(act)
        for copy in range(len(self.seen)):
            inside, outside = self._sides(act, spec, copy)
            if outside.row.errno in unless and not inside.row.ok and not inside.showed:
                self.leave_out(f"{act}, {what(spec)} ({outside.row.errno} at {outside.row.step} without a sandbox)")
                continue
            visible = spec.verb in act_effects.CHANGING | act_effects.ARRIVING or bool(spec.looks)
            held = inside.ran and not inside.row.ok and inside.row.errno in errno and not inside.showed
            leak = inside.row.ok or inside.showed
            self._add(
                act,
                copy=copy,
                claim=claim or f"{what(spec)} is refused ({' or '.join(errno)})",
                saw=act_effects.describe(inside, spec),
                held=held,
                control=act_effects.describe(outside, spec),
                control_held=inside.ran and outside.row.ok and (outside.showed or not visible),
                reason=inside.row.errno or inside.row.detail,
                direction="" if held else "leak" if leak else "wrong-claim",
            )

    def allowed(self, act: str, *, effect: str = "", claim: str = "") -> None:
        spec = self._act(act)
        for copy in range(len(self.seen)):
            inside, outside = self._sides(act, spec, copy)
            other = self._otherwise(act, copy, outside, effect) if inside.row.ok else ()
            held = inside.row.ok and self._effect(inside, outside, spec, effect) and not other
            self._add(
                act,
                copy=copy,
                claim=claim or f"{what(spec)} works, and its effect is seen from outside",
                saw=act_effects.describe(inside, spec)
                + "".join(f"; {path} differs from the control" for path in other),
                held=held,
                control=act_effects.describe(outside, spec),
                control_held=outside.row.ok and self._effect(outside, outside, spec, effect),
                reason=inside.row.errno or inside.row.detail,
                direction="" if held else "wrong-claim" if inside.row.ok else "denied",
            )

    def says(
        self,
        act: str,
        *,
        claim: str,
        saw: str,
        held: bool,
        control: str,
        control_held: bool,
        reason: str = "",
        direction: Direction = "wrong-claim",
        copy: int = 0,
    ) -> None:
        self._add(
            act,
            copy=copy,
            claim=claim,
            saw=saw,
            held=bool(held),
            control=control,
            control_held=bool(control_held),
            reason=reason,
            direction="" if held else direction,
        )

    def own_rows(self) -> None:
        """Adds the rows that no scenario asks for: of a call of its own that no signal ends. The promises about signals
        look at processes themselves."""
        call = self.promise.call
        if self.asks_for_sandbox and call is not None and not call.interrupt_after:
            self.nothing_outlives()

    def nothing_outlives(self) -> None:
        """Adds a row for each call that left processes running although its control left none.

        The agent ends them. Anywhere else they go on, without the call that they belong to: they can write later.
        """
        for copy, seen in enumerate(self.seen):
            control = self.control[min(copy, len(self.control) - 1)]  # a Codex that hangs is called once
            if seen.survivors and not control.survivors:
                self._add(
                    "",
                    copy=copy,
                    claim="no process of a call outlives it",
                    saw=f"left running: {listed_processes(seen)}",
                    held=False,
                    control="no process was left",
                    control_held=True,
                    reason=OUTLIVES,
                    direction="leak",
                )

    def confined(self, *, act: str = "", made: str = "") -> None:
        seen, control = self.observed(), self.controlled()
        outside, plain = (act_effects.look_of(one, FORBIDDEN, OUTSIDE, before=False).kind for one in (seen, control))
        inside, free = "", ""
        if made:
            inside, free = self.look(made, act=act).kind, self.control_look(made, act=act).kind
        more = [f"; in the workspace {kind}" if made else "" for kind in (inside, free)]
        ran = inside == "file" if made else _complains(seen)
        held = seen.ended == "exit" and outside == "missing" and ran
        leak = outside not in ("missing", "unreadable")
        self._add(
            act,
            copy=0,
            claim="the command makes nothing outside, "
            + ("and its file in the workspace" if made else "and its error output names the file"),
            saw=f"{act_effects.ending(seen)}; outside {outside}{more[0]}",
            held=held,
            control=f"{act_effects.ending(control)}; outside {plain}{more[1]}",
            control_held=control.ended == "exit" and plain == "file" and (not made or free == "file"),
            direction="" if held else "leak" if leak else "denied",
        )

    def clean(self, *, claim: str = "") -> None:
        for copy in range(len(self.seen)):
            inside, outside = self.observed(copy), self.controlled(copy)
            done = all(one.finished or one.ended == "exit" for one in (inside, outside))
            # A search that found something has shown that it works.
            blind = [] if inside.litter else act_effects.not_searched(inside, outside)
            basis = (
                f"the search did not see {', '.join(blind)}"
                if blind
                else act_effects.left_behind(outside, with_basis=True)
            )
            self._add(
                "",
                copy=copy,
                claim=claim or "the call leaves nothing behind that no act explains",
                saw=act_effects.left_behind(inside),
                held=not inside.litter,
                control=basis,
                control_held=done and not outside.litter and not blind,
                direction="" if not inside.litter else "litter",
            )

    def standing_evidence(self) -> None:
        """Adds the rows that the harness itself found for start and trust promises."""
        self.rows.extend(self.standing)

    def leave_out(self, why: str) -> None:
        """Adds the act to the control of a row. Without a row, the judge names it."""
        self.left_out.append(why)
        if self.rows and self.rows[-1].control:
            last = self.rows[-1]
            self.rows[-1] = msgspec.structs.replace(last, control=f"{last.control}{_left_out(why)}")

    # ---- observations, without a row of evidence
    def row(self, act: str, copy: int = 0) -> ActResult:
        return self._sides(act, self._act(act), copy)[0].row

    def control_row(self, act: str, copy: int = 0) -> ActResult:
        return self._sides(act, self._act(act), copy)[1].row

    def values(self, act: str) -> dict[str, Any]:
        return _object(self.row(act))

    def control_values(self, act: str) -> dict[str, Any]:
        return _object(self.control_row(act))

    def look(self, path: str, *, act: str = "", before: bool = False, copy: int = 0) -> PathState:
        return act_effects.look_of(self.observed(copy), self._id(act), path, before=before)

    def control_look(self, path: str, *, act: str = "", before: bool = False, copy: int = 0) -> PathState:
        return act_effects.look_of(self.controlled(copy), self._id(act), path, before=before)

    def observed(self, copy: int = 0) -> Observation:
        return self.seen[copy]

    def controlled(self, copy: int = 0) -> Observation:
        return self.control[copy]

    def copies(self) -> int:
        return len(self.seen)

    def network(self) -> bool:
        policy = POLICIES[self.policy]
        return policy.network or not policy.sandboxed

    # ---- inside
    def _effect(self, done: act_effects.ActEffect, control: act_effects.ActEffect, spec: Act, effect: str) -> bool:
        if effect:
            return effect in done.changed
        if spec.verb in act_effects.CHANGING:
            return bool(done.changed)
        if spec.verb in act_effects.ARRIVING:
            return bool(done.arrived)
        return spec.verb not in act_effects.COMPARED or done.row.value == control.row.value

    def _otherwise(self, act: str, copy: int, control: act_effects.ActEffect, effect: str) -> tuple[str, ...]:
        """Returns the paths whose state after the act, seen from outside, differs from the control."""
        paths = (effect,) if effect else control.changed if self._act(act).verb in act_effects.CHANGING else ()
        return act_effects.differing_paths(self.observed(copy), self.controlled(copy), self._id(act), paths)

    def _act(self, name: str) -> Act:
        if name not in self.promise.acts:
            raise HarnessError(
                f"{self.promise.id} declares no act {name!r}", why=f"it has: {', '.join(self.promise.acts)}"
            )
        return self.promise.acts[name]

    def _id(self, name: str) -> str:
        names = tuple(self.promise.acts)
        return self.promise.act_id(name or (names[0] if names else ""))

    def _sides(self, name: str, spec: Act, copy: int) -> tuple[act_effects.ActEffect, act_effects.ActEffect]:
        """Returns what an act did inside, and in the control."""
        act_id = self.promise.act_id(name)
        return act_effects.side(self.seen[copy], act_id, spec), act_effects.side(self.control[copy], act_id, spec)

    def _add(
        self,
        act: str,
        *,
        copy: int,
        claim: str,
        saw: str,
        held: bool,
        control: str,
        control_held: bool,
        reason: str = "",
        direction: Direction = "",
    ) -> None:
        observation = self.seen[copy]
        untold = "".join(map(_left_out, self.left_out)) if not self.rows else ""
        self.rows.append(
            Evidence(
                claim=claim,
                act=self._id(act) if act else self.promise.id,
                nonce=observation.nonce,
                call=observation.id,
                control=f"{control}{untold}" if control else "",
                control_held=control_held,
                saw=saw,
                held=held,
                reason=reason,
                direction=direction,
            )
        )


def listed_processes(seen: Observation) -> str:
    return ", ".join(one.partition(":")[0] for one in seen.survivors)


def _left_out(why: str) -> str:
    return f"; left out: {why}"


def what(spec: Act) -> str:
    """Returns the act in words. Some verbs have no path."""
    return f"{spec.verb} {spec.path}".strip()


def _object(row: ActResult) -> dict[str, Any]:
    try:
        found = json.loads(row.value) if row.ok else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _complains(seen: Observation) -> bool:
    """Checks whether the command failed, and one line of its error output names its file outside and the reason."""
    folder = seen.world.values["OUTSIDE"] if seen.world else ""
    files = [word for word in seen.argv if folder and word.startswith(f"{folder}/")]
    lines = [line for line in seen.stderr.splitlines() if any(reason in line for reason in REASONS)]
    return seen.code != 0 and any(file in line for file in files for line in lines)
