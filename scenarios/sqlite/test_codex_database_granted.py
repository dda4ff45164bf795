"""SQLite databases in the workspace and in a granted folder: they work, and share their locks with the outside."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Given
from pytest_codexsandbox.model.policy import FULL_ACCESS, ROOTS, WRITING

CONFIG = "https://developers.openai.com/codex/config-reference#sandbox_workspace_write.writable_roots"
SECURITY = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"
INSERT = ["INSERT INTO t VALUES('written inside')"]
HERE, ROOT = "@WORKSPACE@/@NAME@.db", "@ROOT0@/@NAME@.db"


def working(database: str) -> dict[str, Act]:
    """One insert into each kind of database, and the rows as another reader outside sees them."""
    return {
        "rollback": Act(
            verb="sqlite",
            path=database,
            params={"sql": INSERT},
            given=(Given(kind="sqlite", path=database),),
            looks=(f"{database}#rows", f"{database}-journal"),
        ),
        "wal": Act(
            verb="sqlite",
            path=database,
            params={"sql": INSERT},
            given=(Given(kind="sqlite-wal", path=database),),
            looks=(f"{database}#rows",),
        ),
        "new": Act(
            verb="sqlite",
            path=database,
            params={"sql": ["CREATE TABLE t(x)", *INSERT], "journal_mode": "wal"},
            looks=(f"{database}#rows",),
        ),
    }


@promise(
    "sqlite.workspace-works",
    kind="capability",
    severity="high",
    source=SECURITY,
    policies=(*WRITING, FULL_ACCESS),
    acts=working(HERE),
)
def test_databases_in_the_workspace_work(trial: Trial) -> None:
    """In the workspace a database works with a rollback journal, in WAL mode, and when it is made anew.

    Source: Codex documentation, sandbox modes: workspace-write permits edits in the workspace.
    Control: the same inserts without a sandbox, and the rows read from outside.
    """
    trial.allowed("rollback", effect=f"{HERE}#rows")
    trial.allowed("wal", effect=f"{HERE}#rows")
    trial.allowed("new", effect=f"{HERE}#rows")


@promise(
    "sqlite.granted-folder-works",
    kind="capability",
    severity="high",
    source=CONFIG,
    policies=(ROOTS,),
    acts=working(ROOT),
)
def test_databases_in_a_granted_folder_work(trial: Trial) -> None:
    """In a granted folder a database works with a rollback journal, in WAL mode, and when it is made anew.

    Source: configuration reference: additional writable roots in workspace-write.
    Control: the same inserts without a sandbox, and the rows read from outside.
    """
    trial.allowed("rollback", effect=f"{ROOT}#rows")
    trial.allowed("wal", effect=f"{ROOT}#rows")
    trial.allowed("new", effect=f"{ROOT}#rows")


@promise(
    "sqlite.second-reader-outside-sees-it",
    kind="capability",
    severity="high",
    source="https://www.sqlite.org/wal.html#concurrency",
    policies=(ROOTS,),
    acts={
        "insert": Act(
            verb="sqlite",
            path=ROOT,
            params={"sql": INSERT},
            given=(Given(kind="sqlite-held", path=ROOT, content="reader"),),
            looks=(f"{ROOT}#rows", f"{ROOT}-wal", f"{ROOT}-shm"),
        )
    },
)
def test_a_reader_outside_that_has_the_database_open_sees_the_new_row(trial: Trial) -> None:
    """A process outside that has a WAL database of a granted folder open sees the row that was written inside.

    Source: SQLite, WAL: readers and the writer share the -shm and the -wal, here across the sandbox.
    Control: the same insert without a sandbox, and the same reader sees the row.
    """
    wal, plain = trial.look(f"{ROOT}-wal"), trial.control_look(f"{ROOT}-wal")
    trial.allowed("insert", effect=f"{ROOT}#rows")
    trial.says(
        "insert",
        claim="the row went through the shared -wal, which is there while the reader is",
        saw=f"-wal {wal.kind} of {wal.size} bytes, -shm {trial.look(f'{ROOT}-shm').kind}",
        held=wal.kind == "file" and wal.size > 0 and trial.look(f"{ROOT}-shm").kind == "file",
        control=f"-wal {plain.kind} of {plain.size} bytes",
        control_held=plain.kind == "file" and plain.size > 0,
        direction="denied",
    )


@promise(
    "sqlite.lock-held-outside-is-respected",
    kind="claim",
    severity="medium",
    source="https://www.sqlite.org/rescode.html#busy",
    policies=WRITING,
    acts={
        "insert": Act(
            verb="sqlite",
            path=HERE,
            params={"sql": INSERT, "timeout": 0.05},
            given=(Given(kind="sqlite-held", path=HERE, content="lock"),),
        )
    },
)
def test_a_database_that_is_locked_outside_is_locked_inside(trial: Trial) -> None:
    """A lock that a process outside holds is seen inside: `database is locked`, and that is not the sandbox's doing.

    Source: SQLite, result code SQLITE_BUSY.
    Control: the same insert without a sandbox finds the same lock.
    """
    row, control = trial.row("insert"), trial.control_row("insert")
    trial.says(
        "insert",
        claim="SQLite says 'database is locked', inside as outside",
        saw=row.detail or "inserted",
        held=row.errno == "SQLITE_BUSY" and row.detail == "database is locked",
        control=control.detail or "inserted",
        control_held=control.errno == "SQLITE_BUSY",
        reason=row.errno,
    )


@promise(
    "sqlite.opened-read-only-says-so",
    kind="claim",
    severity="low",
    source="https://www.sqlite.org/rescode.html#readonly",
    policies=WRITING,
    acts={
        "insert": Act(
            verb="sqlite",
            path=HERE,
            params={"sql": INSERT, "mode": "ro"},
            given=(Given(kind="sqlite", path=HERE),),
        )
    },
)
def test_a_database_opened_read_only_is_not_blamed_on_the_sandbox(trial: Trial) -> None:
    """A database that the program itself opened read-only gives the text of a denied write inside and outside.

    Source: SQLite, result code SQLITE_READONLY.
    Control: the same insert without a sandbox fails with the same text.
    """
    row, control = trial.row("insert"), trial.control_row("insert")
    trial.says(
        "insert",
        claim="SQLite says 'attempt to write a readonly database', inside as outside",
        saw=row.detail or "inserted",
        held=row.errno == "SQLITE_READONLY" and row.detail == control.detail,
        control=control.detail or "inserted",
        control_held=control.errno == "SQLITE_READONLY",
        reason=row.errno,
    )


@promise(
    "sqlite.file-without-write-permission",
    kind="claim",
    severity="low",
    source="https://www.sqlite.org/rescode.html#readonly",
    policies=WRITING,
    acts={
        "insert": Act(
            verb="sqlite",
            path=HERE,
            params={"sql": INSERT},
            given=(Given(kind="sqlite", path=HERE, mode=0o444),),
        )
    },
    requires=("user:ordinary",),
)
def test_a_database_file_without_write_permission_is_not_blamed_on_the_sandbox(trial: Trial) -> None:
    """A database whose file the user may not write gives the text of a denied write inside and outside.

    Source: SQLite, result code SQLITE_READONLY.
    Control: the same insert without a sandbox fails with the same text.
    """
    row, control = trial.row("insert"), trial.control_row("insert")
    trial.says(
        "insert",
        claim="SQLite says 'attempt to write a readonly database', inside as outside",
        saw=row.detail or "inserted",
        held=row.errno == "SQLITE_READONLY" and row.detail == control.detail,
        control=control.detail or "inserted",
        control_held=control.errno == "SQLITE_READONLY",
        reason=row.errno,
    )
