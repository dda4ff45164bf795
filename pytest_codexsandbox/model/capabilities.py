"""Capabilities: what a Codex binary can do, probed from the binary itself."""

from typing import Literal

import msgspec


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    version: str  # as `codex --version` says; "0.0.0" for a local build
    sandbox: Literal[
        "sandbox", "sandbox-linux", "debug-landlock", "none"
    ]  # `codex sandbox --`, `… sandbox linux --`, …
    workspace_write: Literal["full-auto", "config"]  # how that command takes workspace-write
    full_access: bool  # whether the command can be asked for danger-full-access
    default_permissions: bool  # `[permissions]` profiles and `default_permissions`
    permission_profile_flag: str = ""  # "--permission-profile", "--permissions-profile" or ""
    bundled_bwrap: bool = False
    app_server: bool = False
    exec_server: bool = False
    mcp_server: bool = False
    doctor: bool = False
    shell_snapshot: bool = False  # `codex exec` can take a snapshot of the user's shell
