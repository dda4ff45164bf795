"""Codex's working directory: checks that a generator starts Codex in the workspace. Pure.

Codex may write its working directory, whatever else is granted.
"""

import posixpath
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.launches import work
from pytest_codexsandbox.guest.subcommands import VALUED
from pytest_codexsandbox.model.generator import CaseRun, CodexLaunch, ExpectedPolicy, Finding

CLAIM: Final = "Codex is started in the requested workspace"
ELSEWHERE: Final = "started-elsewhere"
_CHANGES: Final = ("-C", "--cd")


def started(case_run: CaseRun, expect: ExpectedPolicy) -> tuple[Finding, ...]:
    """Returns a finding for the last start of Codex. None if the generator starts no Codex, or the folder decides
    nothing."""
    launches = work(case_run.runs[-1].launches)
    if not launches or expect.sandbox != "workspace-write":
        return ()
    last = launches[-1]
    away = msgspec.structs.replace(last, argv=("-C", case_run.world.get("HOME", "/")))
    place = folder(last, case_run.world)
    held = _is_told(place, case_run.world)
    return (
        Finding(
            claim=CLAIM,
            saw=f"it is started in {case_view.placeholder(place, case_run.world) or 'a folder that is gone'}",
            held=held,
            control="the same start in the home is noticed",
            control_held=not _is_told(folder(away, case_run.world), case_run.world),
            direction="" if held else _direction(place, case_run.world),
            reason="" if held else ELSEWHERE,
        ),
    )


def folder(launch: CodexLaunch, world: Mapping[str, str]) -> str:
    """Returns the folder in which a launch starts Codex: its own, changed by `-C`. The last `-C` counts."""
    place = launch.cwd or world.get("WORKSPACE", "")
    rest = list(launch.argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name in VALUED and not equals:
            value = rest.pop(0) if rest else ""
        elif word.startswith("-C") and not word.startswith("--") and len(word) > 2 and not equals:
            name, value = "-C", word[2:]
        if name in _CHANGES and value:
            place = posixpath.join(place, value)
    return posixpath.normpath(place) if place else ""


def _is_told(place: str, world: Mapping[str, str]) -> bool:
    return place == world.get("WORKSPACE", "")


def _direction(place: str, world: Mapping[str, str]) -> Literal["denied", "leak"]:
    """Returns the direction of a wrong folder. Inside the workspace Codex may write less than was requested; in every
    other folder it may write something that was not requested."""
    return "denied" if place and case_view.is_inside(place, world.get("WORKSPACE", "/")) else "leak"
