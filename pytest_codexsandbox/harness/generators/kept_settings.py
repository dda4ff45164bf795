"""Kept settings: the parts of a policy that a generator leaves alone, as the user's own files set them. Pure.

A file that grants a folder and names no mode is read-only, and grants nothing. So Codex reads the user's files in the
mode that must be in force.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from pytest_codexsandbox.model.generator import Claim, ExpectedPolicy, Mode, Part

_NOT_LOADED: Final = "the user's own file does not load in this Codex: its settings of {parts} cannot be queried"
_PERMITTED: Final = "the user's permissions {profile!r} do not set {parts} in {mode}: they cannot be queried"
_ANOTHER: Final = "with the user's files in {mode}, Codex reports {said}: their {parts} cannot be queried"

_OPEN: Final[dict[str, object]] = {"roots": None, "network": None, "approval": ""}  # parts that are not judged


def with_user_settings(
    asked: ExpectedPolicy, before: Claim, in_mode: Callable[[Mode], Claim]
) -> tuple[ExpectedPolicy, str]:
    """Returns the whole policy that must be in force, and why its kept parts are left open ("" where they are not).

    `before`: the claim about the user's files as they are. `in_mode`: the claim about the same files in another mode.
    """
    if not before.loads:
        return _open(asked, _NOT_LOADED)
    if "sandbox" in asked.kept:
        # In any other mode Codex ignores roots and network: what the files say of them has no effect yet.
        waits: tuple[Part, ...] = () if before.sandbox == "workspace-write" else ("roots", "network")
        asked = msgspec.structs.replace(asked, sandbox=before.sandbox)
        return _taken(asked, before, (*asked.kept, *waits)), ""
    if before.sandbox == asked.sandbox:
        return _taken(asked, before, asked.kept), ""
    if profile := before.config.get("default_permissions"):
        return _open(asked, _PERMITTED, profile=profile)
    there = in_mode(asked.sandbox)
    if not there.loads or there.sandbox != asked.sandbox:
        return _open(asked, _ANOTHER, said=there.sandbox or there.error or "nothing")
    return _taken(asked, there, asked.kept), ""


def _taken(asked: ExpectedPolicy, claim: Claim, parts: tuple[Part, ...]) -> ExpectedPolicy:
    return msgspec.structs.replace(asked, keeps=False, **{part: getattr(claim, part) for part in parts})


def _open(asked: ExpectedPolicy, why: str, **words: object) -> tuple[ExpectedPolicy, str]:
    kept = {part: nothing for part, nothing in _OPEN.items() if part in asked.kept}
    left = msgspec.structs.replace(asked, keeps=False, **kept)
    return left, why.format(parts=" and ".join(asked.kept), mode=asked.sandbox, **words)
