"""P11: the arguments, read as Codex reads them, grant exactly what was requested: each root byte for byte, none
wider."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.cli_overrides import Override, given, words
from pytest_codexsandbox.generators.checks.codex_toml import Path
from pytest_codexsandbox.generators.checks.exit_status import wanted
from pytest_codexsandbox.generators.checks.findings import CheckFault, Control, all_hold, as_findings, listed, skipped
from pytest_codexsandbox.generators.checks.granted_policy import SPEAKS, Grants, as_kept, chosen, granted, layers, place
from pytest_codexsandbox.model.generator import FREE, CaseRun, Declaration, ExpectedPolicy, Finding, GeneratorRun

CLAIM = "the arguments, as Codex reads them, match the request"
_TYPES: Final[Mapping[Path, type | tuple[type, ...]]] = {
    ("sandbox_mode",): str,
    ("approval_policy",): (str, dict),
    ("default_permissions",): str,
    ("sandbox_workspace_write",): dict,
    ("sandbox_workspace_write", "writable_roots"): list,
    ("sandbox_workspace_write", "network_access"): bool,
}


_ENDS: Final = re.compile(r"[\"'\n,\[\]]")
_MORE: Final = (  # permissions win in the layer that contains them, whatever the other arguments say
    "-c",
    'default_permissions="codexsandbox"',
    "-c",
    'permissions.codexsandbox.extends=":workspace"',
    "-c",
    'permissions.codexsandbox.filesystem={"/codexsandbox/control"="write"}',
)


def argv_as_codex_reads(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    run = case_run.first
    why = "" if run.ended == "exit" else case_view.not_asked(case_run)
    why = why or ("it gives Codex no arguments" if not given(run) else "")
    if why:
        return skipped(CLAIM, why)
    expect = as_kept(wanted(case_run, declaration), layers(case_run.before, None, case_run.world), case_run.world)
    grants = granted(layers(run.files, run, case_run.world), case_run.world)
    return as_findings(
        CLAIM,
        misread(case_run, run, expect),
        control=_control(case_run, run, expect),
        saw=f"{grants.mode}, network {'on' if grants.network else 'off'}, roots: {listed(grants.roots) or 'none'}",
    )


def speaks(run: GeneratorRun) -> bool:
    """Checks whether the arguments set a policy, or choose a profile that does."""
    asked = words(given(run))
    said = {one.path[0] for one in asked.overrides if one.path} | chosen(run.files, asked).keys()
    return bool(asked.folders) or not said.isdisjoint(SPEAKS)


def misread(case_run: CaseRun, run: GeneratorRun, expect: ExpectedPolicy) -> Iterator[CheckFault]:
    for one in words(given(run)).overrides:
        yield from _wrong(one)
    if speaks(run):
        grants = granted(layers(run.files, run, case_run.world), case_run.world)
        yield from _policy(grants, expect)
        yield from _roots(grants, expect, case_run.world) if expect.sandbox != FREE else ()


def _wrong(one: Override) -> Iterator[CheckFault]:
    shown = f"{'.'.join(one.path)}={one.raw}"[:200]
    if one.fault:
        yield CheckFault(reason="no-override", saw=f"{one.raw!r}: {one.fault}: Codex exits at once", direction="denied")
        return
    if any('"' in key or "'" in key for key in one.path):
        saw = f"{shown!r}: Codex does not unquote keys: it sets {one.path}"
        yield CheckFault(reason="quoted-key", saw=saw, direction="denied")
    if _is_mistyped(one) or (one.became_text and one.raw.strip()[:1] in ("[", "{")):
        saw = f"{shown!r}: Codex reads {one.value!r}, a {type(one.value).__name__}, and exits at once"
        yield CheckFault(reason="becomes-a-string" if one.became_text else "wrong-type", saw=saw, direction="denied")


def _is_mistyped(one: Override) -> bool:
    """Checks the value itself, and inside a table each setting that decides the policy."""
    there = [(path[len(one.path) :], type_) for path, type_ in _TYPES.items() if path[: len(one.path)] == one.path]
    return any(not isinstance(here, type_) for rest, type_ in there for here in _below(one.value, rest))


def _below(value: Any, rest: Path) -> tuple[Any, ...]:
    """Returns the value at a path below another value; nothing if there is none."""
    for key in rest:
        if not isinstance(value, dict) or key not in value:
            return ()
        value = value[key]
    return (value,)


def _policy(grants: Grants, expect: ExpectedPolicy) -> Iterator[CheckFault]:
    if expect.sandbox and grants.mode != expect.sandbox:
        wider = _width(grants.mode) > _width(expect.sandbox)
        saw = (
            f"{grants.by} in the {grants.layer or 'defaults'} makes it {grants.mode or 'unknown'}, not {expect.sandbox}"
        )
        yield CheckFault(reason="another-mode", saw=saw, direction="leak" if wider else "denied")
    elif expect.network is not None and grants.network != expect.network:
        saw = (
            f"the network is {'on' if grants.network else 'off'}, and {'on' if expect.network else 'off'} was requested"
        )
        yield CheckFault(reason="another-network", saw=saw, direction="leak" if grants.network else "denied")


def _width(mode: str) -> int:
    return ("", "read-only", "workspace-write", "danger-full-access").index(mode)


def _roots(grants: Grants, expect: ExpectedPolicy, world: dict[str, str]) -> Iterator[CheckFault]:
    """Compares the roots as folders: byte for byte, except for a trailing slash and dots. Relative roots may be
    declined."""
    wished = {case_view.filled(root, world) for root in expect.roots or ()}
    workspace = {world.get("WORKSPACE", "/")} if expect.sandbox == "workspace-write" else set()
    asked = {place(root, world) for root in wished if root} | workspace
    needed = {place(root, world) for root in wished if root.startswith("/")}
    there = {place(root, world) for root in grants.roots}
    for root in sorted(needed):
        if not any(case_view.is_inside(root, one) for one in there | workspace):
            yield CheckFault(
                reason="root-missing", saw=f"{root!r} is not in {sorted(grants.roots)}"[:400], direction="denied"
            )
    pieces = {place(piece, world) for root in wished for piece in _pieces(root)}
    wider = {root for root in there - asked if not any(case_view.is_inside(root, one) for one in asked)}
    for root in sorted((there - asked) & (wider | pieces)):
        split = root in pieces
        saw = f"{root!r} is granted, but was not requested{': it is a piece of a requested root' if split else ''}"
        yield CheckFault(reason="injected-root" if split else "root-added", saw=saw[:400], direction="leak")


def _pieces(root: str) -> list[str]:
    """Returns the parts that a root falls into if one of its characters ends the string around it."""
    found = _ENDS.split(root)
    return [one for one in found if one] if len(found) > 1 else []


def _control(case_run: CaseRun, run: GeneratorRun, expect: ExpectedPolicy) -> Control:
    """Repeats the check with the same arguments and one more root, and with an array that is no TOML."""

    def reasons(*more: str) -> set[str]:
        longer: Any = msgspec.structs.replace(run, argv=(*given(run), *more))
        bare = msgspec.structs.replace(expect, roots=())  # below `/` no root would count as an additional one
        return {fault.reason for fault in misread(case_run, longer, bare)}

    broken = Control("an array that is not TOML is noticed", "becomes-a-string" in reasons("-c", "a=[x]"))
    if not speaks(run) or expect.sandbox != "workspace-write":
        return broken
    return all_hold((broken, Control("an extra root is noticed", "root-added" in reasons(*_MORE))))
