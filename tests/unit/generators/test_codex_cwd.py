"""Codex may write the folder in which it is started: it must be the one that the generator was told."""

import msgspec
import pytest

from pytest_codexsandbox.generators.codex_cwd import ELSEWHERE, folder, started
from pytest_codexsandbox.model.generator import CaseRun, CodexLaunch, ExpectedPolicy
from tests.unit.generators.builders import WORLD, ended

WRITES = ExpectedPolicy(sandbox="workspace-write")
SESSION = ("exec", "-s", "workspace-write", "do it")


def told(*launches: CodexLaunch) -> CaseRun:
    return msgspec.structs.replace(ended(None, launches=launches), world=WORLD)


@pytest.mark.parametrize(
    ("argv", "cwd", "seen"),
    [
        (SESSION, "/stage/workspace", "/stage/workspace"),
        (("-C", "/x", *SESSION), "/stage/workspace", "/x"),
        (("--cd=/x", *SESSION), "/stage/workspace", "/x"),
        (("-C/x", *SESSION), "/stage/workspace", "/x"),
        (("-C", "..", *SESSION), "/stage/workspace/sub", "/stage/workspace"),
        (("-m", "-C", *SESSION), "/stage/workspace", "/stage/workspace"),
        ((*SESSION, "--", "-C", "/x"), "/stage/workspace", "/stage/workspace"),
        (SESSION, "", "/stage/workspace"),
    ],
)
def test_the_folder_is_where_it_was_started_and_what_the_words_say_of_it(
    argv: tuple[str, ...], cwd: str, seen: str
) -> None:
    assert folder(CodexLaunch(argv=argv, cwd=cwd), WORLD) == seen


@pytest.mark.parametrize(
    ("cwd", "direction"),
    [("/stage/home", "leak"), ("/", "leak"), ("/stage/workspace/sub", "denied"), ("/stage/workspacex", "leak")],
)
def test_another_folder_is_found(cwd: str, direction: str) -> None:
    (found,) = started(told(CodexLaunch(argv=SESSION, cwd=cwd)), WRITES)
    assert (found.held, found.control_held, found.direction, found.reason) == (False, True, direction, ELSEWHERE)


def test_the_workspace_is_right_and_where_nothing_is_started_nothing_is_said() -> None:
    here = CodexLaunch(argv=SESSION, cwd="/stage/workspace")
    question = CodexLaunch(argv=("--version",), cwd="/")
    (found,) = started(told(CodexLaunch(argv=SESSION, cwd="/"), here, question), WRITES)
    assert (found.held, found.control_held) == (True, True)
    assert started(told(question), WRITES) == ()
    assert started(told(), WRITES) == ()
    away = told(CodexLaunch(argv=SESSION, cwd="/"))
    assert (
        started(away, ExpectedPolicy(sandbox="read-only"))
        == started(away, ExpectedPolicy(sandbox="danger-full-access"))
        == ()
    )
