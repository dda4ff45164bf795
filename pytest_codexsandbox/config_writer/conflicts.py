"""Conflicts: settings of the user that would void or change a policy. Codex gives no warning for some of them.

Measured with real Codexes: `default_permissions` beats `sandbox_mode` in the same file. `profile` changes the root
policy up to 0.130 and stops newer releases. A trusted project's own file overrides the user's.
"""

import os
from collections.abc import Mapping
from typing import Any, Final

from pytest_codexsandbox.config_writer.request import VOIDING, WORKSPACE, PolicyRequest, Refusal

_POLICY_KEYS: Final = ("sandbox_mode", WORKSPACE, "default_permissions", "approval_policy")


def obstacle(data: Mapping[str, Any], wanted: PolicyRequest) -> Refusal | None:
    """Returns why the policy would not be in force in a file with the settings `data`; None if it would."""
    if not isinstance(data.get(WORKSPACE, {}), dict):
        return Refusal(what=f"{WORKSPACE} is not a table in this file", next_step="remove it: no Codex reads it")
    voiding = next((key for key in VOIDING if key in data and (key,) not in wanted.more), None)
    if voiding is None or wanted.take_over or not wanted.sandbox:
        return None
    if voiding == "profile":
        return Refusal(
            what=f"the file says profile = {data['profile']!r}",
            why="up to 0.130 the profile's sandbox is in force instead; newer Codexes do not start with it",
            next_step="remove it, or use take_over to turn it into a comment",
        )
    return Refusal(
        what=f"the file says default_permissions = {data['default_permissions']!r}",
        why="beside it sandbox_mode and its roots have no effect: https://github.com/openai/codex/issues/36448",
        next_step="remove it, or use take_over to turn it into a comment",
    )


def project_obstacle(user: Mapping[str, Any], project: Mapping[str, Any], folder: str) -> tuple[str, bool]:
    """Returns what a project's own file would change, and whether it does so now because the user trusts the
    project."""
    said = [key for key in _POLICY_KEYS if key in project]
    if not said:
        return "", False
    return f"{folder}/.codex/config.toml sets {', '.join(said)}", _trusted(user, folder)


def _trusted(user: Mapping[str, Any], folder: str) -> bool:
    """Checks whether the user trusts the folder or one above it. Codex checks the folder itself and its repository; any
    folder above counts here."""
    projects = user.get("projects")
    if not isinstance(projects, dict):
        return False
    return any(
        isinstance(entry, dict) and entry.get("trust_level") == "trusted" and _related(os.path.normpath(path), folder)
        for path, entry in projects.items()
    )


def _related(one: str, other: str) -> bool:
    return one == other or other.startswith(one.rstrip("/") + "/")
