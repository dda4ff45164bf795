"""What a scenario's rows rest on: an effect that is seen from outside, and is the one that the control has."""

from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.model.act import Act, ActResult, PathState
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence
from pytest_codexsandbox.model.sandbox_state import SandboxState
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


def test_a_control_whose_rows_nobody_could_see_outside_proves_no_refusal() -> None:
    row = rows_of(INSERT, inside=(REFUSED, MISSING), outside=(DID, MISSING), effect=ROWS)
    assert row.held and not row.control_held
