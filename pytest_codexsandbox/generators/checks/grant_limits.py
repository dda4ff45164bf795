"""P12: the grants cover the request, and nothing more."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.argv import speaks
from pytest_codexsandbox.generators.checks.codex_toml import comparable, read
from pytest_codexsandbox.generators.checks.exit_status import wanted
from pytest_codexsandbox.generators.checks.findings import CheckFault, Control, all_hold, as_findings, listed, skipped
from pytest_codexsandbox.generators.checks.granted_policy import (
    SPEAKS,
    Grants,
    Layer,
    as_kept,
    granted,
    layers,
    place,
    said,
)
from pytest_codexsandbox.generators.checks.ownership import written_alone
from pytest_codexsandbox.model.generator import CaseRun, Declaration, ExpectedPolicy, Finding

CLAIM = "the grants cover the request, and no more"


def grants_no_more(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    why = case_view.not_asked(case_run)
    broken = next((one for one in case_view.results(case_run) if not read(one.content).loads), None)
    why = why or (f"after {broken.name} the file is not TOML: see generator.parses" if broken else "")
    if why:
        return skipped(CLAIM, why)
    run = case_run.runs[-1]
    before, found = layers(case_run.before, None, case_run.world), layers(run.files, run, case_run.world)
    expect = as_kept(wanted(case_run, declaration), before, case_run.world)
    now, faults = granted(found, case_run.world), list(exceeded(before, found, expect, case_run))
    if not faults and _is_void(now, expect) and manages(before, found, case_run):
        decides = f"{now.by or 'nothing'} in the {now.layer or 'defaults'} makes it {now.mode or 'unknown'}"
        return skipped(CLAIM, f"{decides}, whatever was written: see effective.says-what-was-asked")
    return as_findings(
        CLAIM,
        faults,
        control=_control(before, found, expect, case_run),
        saw=f"{now.mode}, network {'on' if now.network else 'off'}, roots: {listed(now.roots) or 'none'}",
        direction="leak",
    )


def exceeded(
    before: tuple[Layer, ...], after: tuple[Layer, ...], expect: ExpectedPolicy, case_run: CaseRun
) -> Iterator[CheckFault]:
    world = case_run.world
    was, now = granted(before, world), granted(after, world)
    speaking = manages(before, after, case_run)
    if now.mode == "danger-full-access" != expect.sandbox and was.mode != "danger-full-access":
        yield CheckFault(reason="no-sandbox", saw=f"the sandbox is off; {expect.sandbox} was requested")
        return
    if now.mode == "workspace-write" and expect.sandbox == "read-only" and (speaking or was.mode == "read-only"):
        yield CheckFault(reason="another-mode", saw=f"{now.by} in the {now.layer} makes the workspace writable")
    users = said(before)
    to_be_off = expect.network if "network" in expect.kept else case_run.intent.network
    if now.network and expect.network is not True and (not users.network or (speaking and to_be_off is False)):
        word = "network-left-on" if users.network else "network-added"
        yield CheckFault(reason=word, saw=f"the network is on ({now.by} in the {now.layer}); it was not requested")
    yield from _wider(users, now, expect, world)
    if speaking and expect.sandbox == "workspace-write" and not _is_void(now, expect):
        yield from _missing(now, expect, world)


def _is_void(now: Grants, expect: ExpectedPolicy) -> bool:
    """Checks whether another key decides the mode, so that nothing the generator wrote is in force."""
    return expect.sandbox == "workspace-write" != now.mode


def manages(before: tuple[Layer, ...], after: tuple[Layer, ...], case_run: CaseRun) -> bool:
    """Checks whether this generator manages a policy: it writes one, or has changed one."""
    if speaks(case_run.runs[-1]) or any(key in read(written_alone(case_run) or b"").data for key in SPEAKS):
        return True
    one, other = before[0].data, after[0].data
    return any(comparable(one.get(key, "")) != comparable(other.get(key, "")) for key in SPEAKS)


def _wider(users: Grants, now: Grants, expect: ExpectedPolicy, world: Mapping[str, str]) -> Iterator[CheckFault]:
    """Yields a fault for each root that is neither the user's own, nor requested, nor inside such a root."""
    asked = [place(root, world) for root in _asked(expect, world)]
    workspace = [] if expect.sandbox == "read-only" else [world.get("WORKSPACE", "/")]
    known = [*asked, *workspace, *(place(root, world) for root in users.roots)]
    for root in now.roots:
        at = place(root, world)
        if not any(case_view.is_inside(at, one) for one in known):
            reason = _how_wide(at, asked, world)
            yield CheckFault(reason=reason, saw=f"{root!r} is granted; requested: {listed(asked) or 'nothing'}"[:400])


def _asked(expect: ExpectedPolicy, world: Mapping[str, str]) -> list[str]:
    return [case_view.filled(root, dict(world)) for root in expect.roots or ()]


def _how_wide(at: str, asked: list[str], world: Mapping[str, str]) -> str:
    if at == "/":
        return "whole-machine"
    if case_view.is_inside(world.get("HOME", "/"), at):
        return "whole-home"
    if case_view.is_inside(world.get("CODEX_HOME", "/"), at) or case_view.is_inside(at, world.get("CODEX_HOME", "/")):
        return "own-configuration"
    return "parent-granted" if any(case_view.is_inside(one, at) for one in asked) else "not-asked"


def _missing(now: Grants, expect: ExpectedPolicy, world: Mapping[str, str]) -> Iterator[CheckFault]:
    """Yields a fault for each requested root that is missing. Relative and empty roots may be declined: their meaning
    depends on where Codex is started."""
    there = [world.get("WORKSPACE", "/"), *(place(root, world) for root in now.roots)]
    for root in _asked(expect, world):
        if root.startswith("/") and not any(case_view.is_inside(place(root, world), one) for one in there):
            yield CheckFault(reason="root-missing", saw=f"{root!r} is not granted"[:400], direction="denied")


def _control(before: tuple[Layer, ...], after: tuple[Layer, ...], expect: ExpectedPolicy, case_run: CaseRun) -> Control:
    """Repeats the check with one more layer that grants an unrequested folder, the whole machine, or everything."""

    def reasons(data: dict[str, Any]) -> set[str]:
        more = (*after, Layer(name="control", data=data))
        bare = msgspec.structs.replace(expect, roots=(), network=False, sandbox="workspace-write")
        plain = tuple(msgspec.structs.replace(one, data={}) for one in before)
        return {fault.reason for fault in exceeded(plain, more, bare, case_run)}

    def mode(**words: Any) -> dict[str, Any]:
        return {"sandbox_mode": "workspace-write", "sandbox_workspace_write": words}

    tries = (
        ("a folder that was not requested", "not-asked", mode(writable_roots=["/codexsandbox"])),
        ("the whole machine", "whole-machine", mode(writable_roots=["/"])),
        ("a network", "network-added", mode(network_access=True)),
        ("no sandbox", "no-sandbox", {"sandbox_mode": "danger-full-access"}),
    )
    return all_hold(Control(f"{what} is noticed", word in reasons(data)) for what, word, data in tries)
