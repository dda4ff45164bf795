"""Policy: what Codex is asked to enforce, in words of codexsandbox. A door turns it into that release's own options."""

from typing import Final, Literal

import msgspec

Mode = Literal["read-only", "workspace-write", "danger-full-access"]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    mode: Mode
    roots: tuple[str, ...] = ()  # extra writable roots, as placeholders (`@ROOT0@`)
    network: bool = False
    exclude_slash_tmp: bool = False
    exclude_tmpdir: bool = False

    @property
    def sandboxed(self) -> bool:
        return self.mode != "danger-full-access"

    @property
    def writes_workspace(self) -> bool:
        return self.mode != "read-only"


READ_ONLY: Final = "read-only"
WORKSPACE_WRITE: Final = "workspace-write"
ROOTS: Final = "workspace-write-roots"
NETWORK: Final = "workspace-write-network"
NO_TMP: Final = "workspace-write-no-tmp"
FULL_ACCESS: Final = "danger-full-access"

POLICIES: Final[dict[str, Policy]] = {
    policy.id: policy
    for policy in (
        Policy(id=READ_ONLY, mode="read-only"),
        Policy(id=WORKSPACE_WRITE, mode="workspace-write"),
        Policy(id=ROOTS, mode="workspace-write", roots=("@ROOT0@",)),
        Policy(id=NETWORK, mode="workspace-write", network=True),
        Policy(id=NO_TMP, mode="workspace-write", exclude_slash_tmp=True, exclude_tmpdir=True),
        Policy(id=FULL_ACCESS, mode="danger-full-access"),
    )
}
SANDBOXED: Final = tuple(policy.id for policy in POLICIES.values() if policy.sandboxed)
WRITING: Final = tuple(policy.id for policy in POLICIES.values() if policy.sandboxed and policy.writes_workspace)
EVERY: Final = tuple(POLICIES)


def asks_for_sandbox(policy: str) -> bool:
    """Checks whether a policy asks for a sandbox. A policy of another suite counts as one that does."""
    return policy not in POLICIES or POLICIES[policy].sandboxed
