"""A SQLite database that no root grants: denied, and what SQLite says about it is not always what was denied."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.policy import ROOTS, SANDBOXED, WORKSPACE_WRITE

SECURITY = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"
SQLITE = "https://www.sqlite.org/rescode.html"
DATABASE = "@OUTSIDE@/@NAME@.db"
INSERT = ["INSERT INTO t VALUES('let through')"]
SELECT = ["SELECT x FROM t"]
CANNOT_OPEN, READ_ONLY_TEXT, IO_ERROR = (
    "unable to open database file",
    "attempt to write a readonly database",
    "disk I/O error",
)


def says_that(trial: Trial, act: str, *texts: str) -> None:
    """SQLite's own words inside, while the control has nothing to complain about."""
    row, control = trial.row(act), trial.control_row(act)
    trial.says(
        act,
        claim=f"SQLite says {' or '.join(repr(text) for text in texts)}",
        saw=row.detail or "nothing",
        held=row.detail in texts,
        control=control.detail or "nothing: it worked",
        control_held=control.ok,
        reason=row.value or row.errno,
    )


def gives_the_row(trial: Trial, act: str) -> None:
    row, control = trial.row(act), trial.control_row(act)
    trial.says(
        act,
        claim="the query gives what it gives outside",
        saw=row.detail or row.value,
        held=row.ok and row.value == control.value,
        control=control.detail or control.value,
        control_held=control.ok and "laid outside" in control.value,
        reason=row.errno,
        direction="denied",
    )


@promise(
    "sqlite.rollback-outside-refused",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=SANDBOXED,
    acts={
        "insert": Act(
            verb="sqlite",
            path=DATABASE,
            params={"sql": INSERT},
            given=(Given(kind="sqlite", path=DATABASE),),
            looks=(f"{DATABASE}#rows",),
        )
    },
)
def test_a_rollback_journal_database_outside_cannot_be_written(trial: Trial) -> None:
    """A database outside the workspace cannot be written; SQLite calls it read-only.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: the same insert without a sandbox, and the row seen from outside.
    """
    trial.refused("insert", errno=("SQLITE_READONLY",))
    says_that(trial, "insert", READ_ONLY_TEXT)


@promise(
    "sqlite.wal-outside-refused",
    kind="boundary",
    severity="critical",
    source="https://www.sqlite.org/wal.html#read_only_databases",
    policies=SANDBOXED,
    acts={
        "insert": Act(
            verb="sqlite",
            path=DATABASE,
            params={"sql": INSERT},
            given=(Given(kind="sqlite-wal", path=DATABASE),),
            looks=(f"{DATABASE}#rows",),
        )
    },
)
def test_a_wal_database_outside_cannot_be_written(trial: Trial) -> None:
    """A database in WAL mode outside cannot be written; as its -shm cannot be made, SQLite cannot even open it.

    Source: SQLite, WAL on read-only media.
    Control: the same insert without a sandbox, and the row seen from outside.
    """
    trial.refused("insert", errno=("SQLITE_CANTOPEN", "SQLITE_READONLY"))
    says_that(trial, "insert", CANNOT_OPEN, READ_ONLY_TEXT)


@promise(
    "sqlite.wal-in-use-outside-refused",
    kind="boundary",
    severity="critical",
    source="https://www.sqlite.org/wal.html#read_only_databases",
    policies=SANDBOXED,
    acts={
        "insert": Act(
            verb="sqlite",
            path=DATABASE,
            params={"sql": INSERT},
            given=(Given(kind="sqlite-held", path=DATABASE, content="reader"),),
            looks=(f"{DATABASE}#rows",),
        )
    },
)
def test_a_wal_database_that_others_have_open_outside_cannot_be_written(trial: Trial) -> None:
    """A database in WAL mode that a process outside has open can be opened, its -shm exists, but not written.

    Source: SQLite, WAL on read-only media.
    Control: the same insert without a sandbox, and the row seen by the other process.
    """
    trial.refused("insert", errno=("SQLITE_READONLY", "SQLITE_CANTOPEN"))
    says_that(trial, "insert", READ_ONLY_TEXT, CANNOT_OPEN)


@promise(
    "sqlite.new-database-outside-refused",
    kind="boundary",
    severity="high",
    source=SECURITY,
    policies=SANDBOXED,
    acts={"create": Act(verb="sqlite", path=DATABASE, params={"sql": ["CREATE TABLE t(x)"]})},
)
def test_no_new_database_can_be_made_outside(trial: Trial) -> None:
    """A database that does not exist cannot be made outside; SQLite is unable to open its file.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: the same database is made without a sandbox, and its file seen from outside.
    """
    trial.refused("create", errno=("SQLITE_CANTOPEN",))
    says_that(trial, "create", CANNOT_OPEN)


@promise(
    "sqlite.left-over-wal-outside-refused",
    kind="boundary",
    severity="medium",
    source=f"{SQLITE}#ioerr_delete",
    policies=SANDBOXED,
    acts={
        "create": Act(
            verb="sqlite",
            path=DATABASE,
            params={"sql": ["CREATE TABLE t(x)"]},
            given=(
                Given(kind="file", path=DATABASE),
                Given(kind="file", path=f"{DATABASE}-wal", content="left by a process that died"),
            ),
            looks=(f"{DATABASE}-wal",),
        )
    },
)
def test_a_left_over_wal_outside_cannot_be_tidied(trial: Trial) -> None:
    """An empty database with a -wal that a dead process left cannot be used outside: SQLite may not delete the -wal.

    Source: SQLite, result code SQLITE_IOERR_DELETE: the third text that a denied write shows itself by.
    Control: without a sandbox SQLite deletes the -wal and makes the table, seen from outside.
    """
    trial.refused("create", errno=("SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN"))
    says_that(trial, "create", IO_ERROR, READ_ONLY_TEXT, CANNOT_OPEN)


@promise(
    "sqlite.outside-readable",
    kind="claim",
    severity="low",
    source="https://www.sqlite.org/wal.html#read_only_databases",
    policies=SANDBOXED,
    acts={
        "rollback": Act(
            verb="sqlite", path=DATABASE, params={"sql": SELECT}, given=(Given(kind="sqlite", path=DATABASE),)
        ),
        "wal": Act(
            verb="sqlite", path=DATABASE, params={"sql": SELECT}, given=(Given(kind="sqlite-wal", path=DATABASE),)
        ),
        "immutable": Act(
            verb="sqlite",
            path=DATABASE,
            params={"sql": SELECT, "query": "immutable=1"},
            given=(Given(kind="sqlite-wal", path=DATABASE),),
        ),
    },
)
def test_a_database_outside_can_be_read_in_wal_mode_as_immutable_only(trial: Trial) -> None:
    """Outside, a database with a rollback journal can be read. One in WAL mode that no process has open can be read
    with `immutable=1`.

    Source: SQLite, WAL on read-only media: without a -shm it takes the immutable query parameter.
    Control: all three queries give the row without a sandbox.
    """
    gives_the_row(trial, "rollback")
    trial.refused("wal", errno=("SQLITE_CANTOPEN", "SQLITE_READONLY"))
    gives_the_row(trial, "immutable")


@promise(
    "sqlite.only-the-file-granted",
    kind="claim",
    severity="medium",
    source="https://github.com/openai/codex/issues/40433",
    policies=(WORKSPACE_WRITE,),
    acts={
        "insert": Act(
            verb="sqlite",
            path="@OUTSIDE@/granted.db",
            params={"sql": INSERT},
            given=(Given(kind="sqlite", path="@OUTSIDE@/granted.db"),),
            looks=("@OUTSIDE@/granted.db#rows",),
        )
    },
    call=Call(roots=("@OUTSIDE@/granted.db",)),
)
def test_granting_only_the_database_file_is_not_enough(trial: Trial) -> None:
    """With only the file as a root no row can be written, for the journal beside it cannot be made; grant the folder.

    Source: openai/codex#40433; SQLite writes its journal beside the database.
    Control: the same insert without a sandbox, and the row seen from outside.
    """
    row, control = trial.row("insert"), trial.control_row("insert")
    by_sqlite = row.errno in ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_IOERR")
    rows, before = (trial.look("@OUTSIDE@/granted.db#rows", before=when) for when in (False, True))
    unchanged = rows.same_as(before) and rows.kind == "file"
    trial.says(
        "insert",
        claim="the command runs, its insert fails by SQLite's own words, and the rows stay",
        saw=f"{row.detail or 'inserted'}; rows {rows.text}",
        held=by_sqlite and unchanged,
        control=f"{control.detail or 'inserted'}; rows {trial.control_look('@OUTSIDE@/granted.db#rows').text}",
        control_held=control.ok and "let through" in trial.control_look("@OUTSIDE@/granted.db#rows").text,
        reason=row.errno,
        direction="wrong-claim" if trial.observed().ready else "denied",
    )


@promise(
    "sqlite.sibling-database-refused",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=(ROOTS,),
    acts={
        "sibling": Act(
            verb="sqlite",
            path="@SIBLING@/board.db",
            params={"sql": INSERT},
            given=(Given(kind="sqlite", path="@SIBLING@/board.db"),),
            looks=("@SIBLING@/board.db#rows",),
        ),
    },
)
def test_the_database_of_a_sibling_folder_stays_refused(trial: Trial) -> None:
    """Granting the folder of one board grants no other: the database in the folder beside it stays refused.

    Source: Codex documentation, sandbox modes: what an agent board needs is its own folder and nothing beside it.
    Control: the same insert without a sandbox, and the row seen from outside.
    """
    trial.refused("sibling", errno=("SQLITE_READONLY", "SQLITE_CANTOPEN"))
