"""Base acts: added to every call. Two acts prove, together with the kernel's marks, that a sandbox is on.

After the call, a file is put into each place that is searched for leftovers. A search that does not find it proves
nothing.
"""

from typing import Final

from pytest_codexsandbox.model.act import Act, Given

FORBIDDEN: Final = "base/forbidden"
PERMITTED: Final = "base/permitted"
BASE_ACTS: Final[dict[str, Act]] = {
    # No sandboxed policy lets this through: @OUTSIDE@ is never a root, and the control can do it.
    FORBIDDEN: Act(verb="write", path="@OUTSIDE@/@NAME@", params={"data": "let through"}),
    # Every policy lets this through: reading is allowed everywhere.
    PERMITTED: Act(
        verb="read",
        path="@WORKSPACE@/@NAME@",
        given=(Given(kind="file", path="@WORKSPACE@/@NAME@", content="readable"),),
    ),
}
SEARCHED: Final = ("WORKSPACE", "ROOT0", "SIBLING", "OUTSIDE", "HOME", "TMP", "SHM", "TMPDIR")
PLANTED: Final = "base/planted"  # the act that these files are named by
CONFIGURED: Final = "base/configured"  # of what a generator wrote, beside what acts are given
