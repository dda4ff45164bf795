"""The corpus with a block of somebody's in it, as a generator would find it."""

from pytest_codexsandbox.generators.case_blocks import filled
from pytest_codexsandbox.generators.managed_block import CaseNotApplicable
from pytest_codexsandbox.generators.server_names import named
from pytest_codexsandbox.matrix.corpus import shipped_cases
from pytest_codexsandbox.model.generator import Case, Marker

MARKERS = (Marker(begin="# BEGIN x", end="# END x"),)
KEYS = b'# BEGIN x\nsandbox_mode = "workspace-write"\nsandbox_workspace_write.network_access = false\n# END x\n'
TABLES = b'# BEGIN x\n[mcp_servers.x]\ncommand = "x"\n# END x\n'
OF_CODEX = {  # TOML, and Codex does not load them all the same
    "27-permissions-without-default": "[permissions]",
    "28-profile-selected": "legacy `profile",
    "30-windows-sandbox-wrong": "unknown variant",
}
OF_THE_BLOCK = {"45-one-on-top-one-at-the-end": TABLES}  # valid with one kind of block alone: not with this one


def asked() -> dict[str, Case]:
    """Every case that lays a file, filled with the first block that it can be asked with; name → case."""
    found = {}
    for case in (named(one, ()) for one in shipped_cases()):
        for block in (KEYS, TABLES):
            try:
                found[case.id] = filled(case, block, MARKERS)
                break
            except CaseNotApplicable:
                continue
    return found
