"""Hermes Agent's workers: the arguments they add to `codex app-server` so that a task can close itself on its board.

A board is a SQLite database outside of the task's workspace. Without an override it cannot be written ("unable to open
database file"). PR #27557 grants its folder for workers that have a task. Source: NousResearch/hermes-agent#26203.
"""

import os
from collections.abc import Mapping

import msgspec

from codexsandbox_incidents.file_writing import Given, Result
from pytest_codexsandbox.config_writer import PolicyRequest, request_of
from pytest_codexsandbox.config_writer.request import as_toml, impossible, outermost
from pytest_codexsandbox.model.generator import Request

BOARD = "board"


def none(given: Given) -> Result:
    """Adds no arguments, as before the pull request: the user's configuration decides."""
    request_of(given)
    return {"env": environment(request_of(given))}


def merged(given: Given) -> Result:
    """Adds the merged arguments: the folder of the database without escaping, and the network always off."""
    env = environment(request_of(given))
    return {"argv": list(overrides(env)), "env": env}


def fixed(given: Given) -> Result:
    """Escapes every path, grants the workspace of the task too, and never grants the folder that holds all boards."""
    request = request_of(given)
    wide = impossible(PolicyRequest(roots=request.roots, guarded=(request.home, f"{request.home}/.hermes")))
    if wide:
        return {"refused": True, "reason": wide.what}
    env = environment(request)
    own = f"{env.get('HERMES_KANBAN_ROOT') or _hermes(env)}/kanban/boards/default/kanban.db"
    database = env.get("HERMES_KANBAN_DB") or own
    if not database.startswith("/"):
        database = os.path.normpath(f"{request.workspace}/{database}")
    if os.path.realpath(_folder(database)) in map(os.path.realpath, (_hermes(env), request.home)):
        database = own
    env["HERMES_KANBAN_DB"] = database
    roots = outermost((_folder(database), *request.roots))
    return {"argv": list(_words(as_toml(roots))), "env": env}


def merged_default_board(given: Given) -> Result:
    """Uses the default board, which has no folder of its own: everything of Hermes is granted."""
    return merged(_of_default_board(given))


def fixed_default_board(given: Given) -> Result:
    return fixed(_of_default_board(given))


def _of_default_board(given: Given) -> Request:
    return msgspec.structs.replace(request_of(given), roots=(), params={"board": "default"})


def environment(request: Request) -> dict[str, str]:
    """Returns the variables that the dispatcher passes to a worker. `params`: board, db, root, task (empty: a worker
    without a task)."""
    params = request.params
    hermes = f"{request.home}/.hermes"
    env = {
        "HERMES_HOME": hermes,
        "HERMES_KANBAN_TASK": params.get("task", "t_1"),
        "HERMES_KANBAN_WORKSPACE": request.workspace,
    }
    if "root" in params:
        return {**env, "HERMES_KANBAN_ROOT": params["root"]}
    return {**env, "HERMES_KANBAN_DB": params.get("db") or _database(request, hermes)}


def _database(request: Request, hermes: str) -> str:
    """Returns the database: in the first requested root, else in the board's own folder, which `default` lacks."""
    if request.roots:
        return f"{request.roots[0]}/kanban.db"
    board = request.params.get("board", BOARD)
    return f"{hermes}/kanban.db" if board == "default" else f"{hermes}/kanban/boards/{board}/kanban.db"


def overrides(env: Mapping[str, str]) -> tuple[str, ...]:
    if not env.get("HERMES_KANBAN_TASK"):
        return ()
    if env.get("HERMES_KANBAN_DB"):
        root = _folder(env["HERMES_KANBAN_DB"])
    else:
        root = env.get("HERMES_KANBAN_ROOT") or f"{_hermes(env)}/kanban"
    return _words(f'["{root}"]')


def _words(roots: str) -> tuple[str, ...]:
    return (
        "-c",
        'sandbox_mode="workspace-write"',
        "-c",
        f"sandbox_workspace_write.writable_roots={roots}",
        "-c",
        "sandbox_workspace_write.network_access=false",
    )


def _hermes(env: Mapping[str, str]) -> str:
    return env["HERMES_HOME"]


def _folder(path: str) -> str:
    """Returns the folder of a path; "" if the path has none, as Python does."""
    return path.rpartition("/")[0]
