"""Act effects: what an act did inside the sandbox and in the control, each also seen from outside. Pure."""

from typing import Final

import msgspec

from pytest_codexsandbox.model.act import Act, ActResult, PathState
from pytest_codexsandbox.model.base_acts import SEARCHED
from pytest_codexsandbox.model.observation import Observation, look_key

CHANGING: Final = frozenset(
    {
        "write",
        "append",
        "create",
        "mkdir",
        "rmdir",
        "unlink",
        "rename",
        "link",
        "symlink",
        "truncate",
        "chmod",
        "unix-bind",
    }
)
ARRIVING: Final = frozenset({"http", "dns", "unix-connect", "unix-send", "fifo-write"})
COMPARED: Final = frozenset({"read", "list"})
NOT_RUN: Final = "not-run"


class ActEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Effect of an act on one side: inside the sandbox, or in the control."""

    row: ActResult
    ran: bool
    changed: tuple[str, ...]  # placeholder paths that differ afterwards
    arrived: tuple[str, ...]  # listeners that it reached
    showed: bool  # a change or an arrival was seen outside


def side(observation: Observation, act_id: str, act: Act) -> ActEffect:
    """Returns what an act did in one call."""
    own = (act.path,) if act.path.startswith("@") else ()
    to = act.params.get("to") if act.verb in ("rename", "link") else None  # shows its effect as well as the first path
    other = (to,) if isinstance(to, str) and to.startswith("@") else ()
    paths = dict.fromkeys((*own, *act.looks, *other))
    changed = tuple(path for path in paths if differs(observation, look_key(act_id, path)))
    arrived = arrivals_of(observation, act_id) if observation.arrivals else ()
    row = observation.rows.get(act_id)
    ran = row is not None and row.step != NOT_RUN
    showed = bool(changed or arrived)
    return ActEffect(row=row or _not_run(observation, act_id), ran=ran, changed=changed, arrived=arrived, showed=showed)


def differing_paths(
    observation: Observation, control: Observation, act_id: str, paths: tuple[str, ...]
) -> tuple[str, ...]:
    """Returns those of `paths` whose state afterwards differs from the control. A change alone may be the loss of a
    file.

    The target of a link names folders of its own world, so links are compared by kind only.
    """
    found = {path: [look_of(seen, act_id, path, before=False) for seen in (observation, control)] for path in paths}
    return tuple(
        path for path, looks in found.items() if len({(look.kind, look.size, look.sha256) for look in looks}) > 1
    )


def _not_run(observation: Observation, act_id: str) -> ActResult:
    return ActResult(
        act=act_id, ok=False, step=NOT_RUN, detail=f"the probe did not reach this act: {ending(observation)}"
    )


def arrivals_of(observation: Observation, act_id: str) -> tuple[str, ...]:
    word = "-" + act_id.replace("/", "-").replace(".", "-")
    return tuple(entry for entry in observation.arrivals if entry.endswith(word) or f"{word} " in f"{entry} ")


def differs(observation: Observation, key: str) -> bool:
    before, after = observation.before.get(key), observation.after.get(key)
    if before is None or after is None:
        return False
    return not before.same_as(after) or (before.kind == after.kind == "file" and before.mode != after.mode)


def look_of(observation: Observation, act_id: str, path: str, *, before: bool) -> PathState:
    looks = observation.before if before else observation.after
    return looks.get(look_key(act_id, path)) or PathState(
        path=path, kind="unreadable", error="this path was not inspected"
    )


def left_behind(observation: Observation, *, with_basis: bool = False) -> str:
    """Describes the leftovers of a call. `with_basis`: adds what the statement rests on."""
    if observation.litter:
        return f"left behind: {', '.join(observation.litter)}"
    return f"nothing was left behind{'; the search found the file planted in each place' if with_basis else ''}"


def not_searched(*observations: Observation) -> list[str]:
    """Returns the places in which the search for leftovers did not find even the file that was put there for it."""
    return [f"@{place}@" for place in SEARCHED if any(place not in one.searched for one in observations)]


def ending(observation: Observation) -> str:
    """Describes how the call ended, with the first line of its error output."""
    said = next((line for line in observation.stderr.splitlines() if line.strip()), observation.error)
    how = {"exit": f"exit code {observation.code}", "signal": f"ended by a signal ({observation.code})"}
    return f"{how.get(observation.ended, observation.ended)}{': ' + said.strip()[:300] if said else ''}"


def describe(done: ActEffect, act: Act) -> str:
    """Describes in one sentence what the probe reports and what was seen from outside."""
    row = done.row
    if not done.ran:
        return row.detail
    words = "worked" if row.ok else f"{row.errno or row.detail or 'failed'} at {row.step or act.verb}"
    words += f" ({row.detail})" if row.errno and row.detail else ""
    words += f"; changed, seen from outside: {', '.join(done.changed)}" if done.changed else ""
    words += f"; arrived outside: {', '.join(done.arrived)}" if done.arrived else ""
    if act.verb in CHANGING | ARRIVING and not done.showed:
        words += "; nothing changed outside" if act.verb in CHANGING else "; nothing arrived outside"
    return words
