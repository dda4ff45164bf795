"""Own policy: the policy of a generator that receives no request. Pure.

Such a generator cannot know the requested roots and network. The mode that it writes where there is no file must be in
force on every other file too. The parts of a policy that it does not write must stay as the user has them. Full access,
a network or a further folder was not requested. To grant one is a leak, unless a row of its declaration means it.
"""

from collections.abc import Mapping
from typing import Any, Final

from pytest_codexsandbox.generators.checks.cli_overrides import merged
from pytest_codexsandbox.generators.checks.granted_policy import granted, layers
from pytest_codexsandbox.matrix.request_channels import UNTOLD
from pytest_codexsandbox.model.generator import FREE, PARTS, DecisionRow, ExpectedPolicy, GeneratorRun, Mode, Part

_TABLE: Final = "sandbox_workspace_write"
_WHY: Final = "this generator receives no request: the mode that it writes without a file must be in force"


def row(alone: GeneratorRun, world: Mapping[str, str]) -> DecisionRow:
    """Returns the row that states the generator's own policy. `alone`: its run where there is no file."""
    found = layers(alone.files, alone, world) if alone.ended == "exit" and not alone.code else ()
    data: dict[str, Any] = {}
    for layer in found:
        data = merged(data, layer.data)
    grants = granted(found, world)
    written = _written(data)
    if not written or not grants.mode:  # a profile that extends no known one: its policy is unknown here
        return UNTOLD
    if "sandbox" in written and grants.mode != "workspace-write":
        written |= {"roots", "network"}
    mode: Mode = "workspace-write" if grants.mode == FREE else grants.mode
    return DecisionRow(
        why=_WHY,
        expect=ExpectedPolicy(
            sandbox=mode if "sandbox" in written else "",
            network=False if "network" in written else None,
            roots=() if "roots" in written else None,
            approval=str(data.get("approval_policy", "")) if "approval" in written else "",
            keeps=tuple(part for part in PARTS if part not in written),
        ),
    )


def _written(data: Mapping[str, Any]) -> set[Part]:
    table = data.get(_TABLE)
    there = table if isinstance(table, Mapping) else {}
    found: set[Part] = set()
    if "default_permissions" in data:
        found |= {"sandbox", "roots", "network"}
    if "sandbox_mode" in data:
        found.add("sandbox")
    if "writable_roots" in there:
        found.add("roots")
    if "network_access" in there:
        found.add("network")
    if isinstance(data.get("approval_policy"), str):
        found.add("approval")
    return found
