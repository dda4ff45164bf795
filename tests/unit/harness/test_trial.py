"""What a scenario's rows rest on: an effect that is seen from outside, and is the one that the control has."""

import msgspec
import pytest

from pytest_codexsandbox.diagnosis.judge import judge_trial
from pytest_codexsandbox.harness.trial import OUTSIDE, RealTrial
from pytest_codexsandbox.model.act import Act, ActResult, PathState
from pytest_codexsandbox.model.base_acts import FORBIDDEN
from pytest_codexsandbox.model.observation import Observation, look_key
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import OUTLIVES, Evidence
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.model.world import World
from tests.unit.diagnosis.builders import observation, promise

HERE = "@WORKSPACE@/@NAME@"
ROWS = f"{HERE}#rows"
MISSING = PathState(path=HERE, kind="missing")


def file(text: str) -> PathState:
    return PathState(path=HERE, kind="file", size=len(text), sha256=f"of {text}", text=text)


def rows_of(
    act: Act, *, inside: tuple[ActResult, PathState], outside: tuple[ActResult, PathState], effect: str = ""
) -> Evidence:
    path = effect or act.path
    asked: Promise = promise(acts={"it": act})
    key = f"{asked.id}/it"
    seen, control = (
        observation(rows={key: row}, before={f"{key}|{path}": MISSING}, after={f"{key}|{path}": look})
        for row, look in (inside, outside)
    )
    step = Key(cell="here", door="sandbox", policy="workspace-write", promise=asked.id)
    trial = RealTrial(step, asked, seen=(seen,), control=(control,), started=SandboxState(state="on", why="it was"))
    trial.refused("it") if not inside[0].ok else trial.allowed("it", effect=effect)
    return trial.rows[0]


DID = ActResult(act="it", ok=True)
REFUSED = ActResult(act="it", ok=False, errno="EROFS", step="open")
WRITE = Act(verb="write", path=HERE)
INSERT = Act(verb="sqlite", path=HERE, looks=(ROWS,))


def test_work_is_allowed_when_its_effect_outside_is_that_of_the_control() -> None:
    row = rows_of(WRITE, inside=(DID, file("written")), outside=(DID, file("written")))
    assert row.held and row.control_held and not row.direction


def test_a_file_that_came_without_what_was_written_into_it_is_no_work_that_was_allowed() -> None:
    for lost in (file(""), PathState(path=HERE, kind="dir"), PathState(path=HERE, kind="unreadable")):
        row = rows_of(WRITE, inside=(DID, lost), outside=(DID, file("written")))
        assert not row.held and row.control_held and row.direction == "wrong-claim", lost
        assert "differs from" in row.saw


def test_rows_that_are_only_otherwise_than_before_are_not_the_rows_that_were_inserted() -> None:
    row = rows_of(INSERT, inside=(DID, file("[]")), outside=(DID, file('["inserted"]')), effect=ROWS)
    assert not row.held and row.control_held
    row = rows_of(INSERT, inside=(DID, file('["inserted"]')), outside=(DID, file('["inserted"]')), effect=ROWS)
    assert row.held and row.control_held


def test_a_control_without_visible_rows_outside_proves_no_refusal() -> None:
    row = rows_of(INSERT, inside=(REFUSED, MISSING), outside=(DID, MISSING), effect=ROWS)
    assert row.held and not row.control_held


PATH_OUTSIDE = "/w/outside/cx-1"


def commanded(kind: str, *, stderr: str = "", ended: str = "exit", inside: str = "") -> Observation:
    after = {look_key(FORBIDDEN, OUTSIDE): PathState(path=OUTSIDE, kind=kind)}  # type: ignore[arg-type]
    if inside:
        after[look_key("fs.x/it", HERE)] = PathState(path=HERE, kind=inside)  # type: ignore[arg-type]
    made = observation(after=after)
    world = World(id="w1", folder="/w", values={"OUTSIDE": "/w/outside"})
    return msgspec.structs.replace(
        made, argv=("cp", "a", PATH_OUTSIDE), stderr=stderr, ended=ended, code=1, world=world
    )


def confined(seen: Observation, control: Observation, made: str = "") -> Evidence:
    asked = msgspec.structs.replace(promise(acts={"it": WRITE}), id="fs.x")
    step = Key(cell="here", door="sandbox", policy="workspace-write", promise=asked.id)
    trial = RealTrial(step, asked, seen=(seen,), control=(control,), started=SandboxState(state="on", why="it was"))
    trial.confined(act="it", made=made) if made else trial.confined()
    return trial.rows[0]


REFUSED_IT = f"cp: cannot create regular file '{PATH_OUTSIDE}': Read-only file system"


def test_a_command_is_confined_if_its_own_error_names_the_file_that_is_missing() -> None:
    row = confined(commanded("missing", stderr=REFUSED_IT), commanded("file"))
    assert row.held and row.control_held and not row.direction


@pytest.mark.parametrize(
    ("seen", "direction"),
    [
        (commanded("file", stderr=REFUSED_IT), "leak"),
        (commanded("missing", stderr="bwrap: Creating new namespace failed"), "denied"),
        (commanded("missing", stderr=f"error: unexpected argument '{PATH_OUTSIDE}' found"), "denied"),
        (commanded("missing", stderr=f"+ cp a {PATH_OUTSIDE}\nbwrap: Permission denied"), "denied"),
        (commanded("missing", stderr=REFUSED_IT, ended="timeout"), "denied"),
        (commanded("unreadable", stderr=REFUSED_IT), "denied"),
    ],
)
def test_a_command_that_escaped_or_never_ran_is_not_confined(seen: Observation, direction: str) -> None:
    row = confined(seen, commanded("file"))
    assert not row.held and row.control_held and row.direction == direction


def test_the_file_in_the_workspace_shows_that_a_command_ran() -> None:
    control = commanded("file", inside="file")
    assert confined(commanded("missing", inside="file"), control, made=HERE).held
    assert not confined(commanded("missing", inside="missing", stderr=REFUSED_IT), control, made=HERE).held
    assert not confined(
        commanded("missing", inside="file"), commanded("file", inside="missing"), made=HERE
    ).control_held


def test_a_control_that_made_nothing_outside_proves_no_confinement() -> None:
    assert not confined(commanded("missing", stderr=REFUSED_IT), commanded("missing")).control_held


def test_an_act_that_the_machine_does_not_offer_gives_no_row() -> None:
    lacks = ActResult(act="it", ok=False, errno="EOPNOTSUPP", step="open")
    asked = promise(acts={"it": WRITE})
    step = Key(cell="here", door="sandbox", policy="workspace-write", promise=asked.id)
    for inside, rows in ((REFUSED, 0), (DID, 1)):
        seen, control = (observation(rows={f"{asked.id}/it": row}) for row in (inside, lacks))
        trial = RealTrial(step, asked, seen=(seen,), control=(control,), started=SandboxState(state="on", why="it was"))
        trial.refused("it", unless=("EOPNOTSUPP",))
        assert len(trial.rows) == rows


def test_another_row_names_the_acts_that_were_left_out_and_why() -> None:
    lacks = ActResult(act="a", ok=False, errno="EOPNOTSUPP", step="open")
    asked = promise(acts={"a": WRITE, "b": WRITE, "c": WRITE})
    step = Key(cell="here", door="sandbox", policy="workspace-write", promise=asked.id)
    ids = [f"{asked.id}/{act}" for act in asked.acts]
    sides = (dict.fromkeys(ids, REFUSED), dict(zip(ids, (lacks, DID, lacks), strict=True)))
    seen, control = (observation(rows=rows) for rows in sides)
    trial = RealTrial(step, asked, seen=(seen,), control=(control,), started=SandboxState(state="on", why="it was"))
    trial.refused("a", unless=("EOPNOTSUPP",))
    trial.refused("b")
    trial.refused("c", unless=("EOPNOTSUPP",))
    (row,) = trial.rows
    assert row.control.count("; left out: ") == 2
    for act in ("a", "c"):
        assert f"{act}, write {HERE} (EOPNOTSUPP" in row.control


def test_a_trial_that_left_out_every_act_is_broken_and_says_so() -> None:
    lacks = ActResult(act="it", ok=False, errno="EOPNOTSUPP", step="open")
    asked = promise(acts={"it": WRITE})
    step = Key(cell="here", door="sandbox", policy="workspace-write", promise=asked.id)
    seen, control = (observation(rows={f"{asked.id}/it": row}) for row in (REFUSED, lacks))
    trial = RealTrial(step, asked, seen=(seen,), control=(control,), started=SandboxState(state="on", why="it was"))
    trial.refused("it", unless=("EOPNOTSUPP",))
    judged = judge_trial(trial, outcome="passed", message="")
    assert judged.verdict is Verdict.BROKEN and "left out: it, write" in judged.reason and "EOPNOTSUPP" in judged.reason


def test_values_that_are_no_json_object_are_none() -> None:
    asked = promise(acts={"it": WRITE})
    step = Key(cell="here", door="sandbox", policy="workspace-write", promise=asked.id)
    for text, values in (('{"a": 1}', {"a": 1}), ("[1]", {}), ("no json", {}), ("", {})):
        seen = observation(rows={f"{asked.id}/it": ActResult(act="it", ok=True, value=text)})
        trial = RealTrial(step, asked, seen=(seen,), control=(seen,), started=SandboxState(state="on", why="it was"))
        assert trial.values("it") == trial.control_values("it") == values


@pytest.mark.parametrize(
    ("left", "outside", "rows"), [(("sleep: 7",), (), 1), (("sleep: 7",), ("sleep: 8",), 0), ((), (), 0)]
)
def test_a_process_that_a_call_left_and_its_control_did_not_is_a_leak(
    left: tuple[str, ...], outside: tuple[str, ...], rows: int
) -> None:
    seen = msgspec.structs.replace(observation(), survivors=left)
    control = msgspec.structs.replace(observation(), survivors=outside)
    step = Key(cell="here", door="sandbox", policy="workspace-write", promise="process.x")
    started = SandboxState(state="on", why="it was")
    # One control for three calls: a Codex that hangs was called once there.
    trial = RealTrial(step, promise(), seen=(seen, seen, seen), control=(control,), started=started)
    trial.nothing_outlives()
    assert [(row.held, row.direction, row.reason) for row in trial.rows] == [(False, "leak", OUTLIVES)] * 3 * rows
