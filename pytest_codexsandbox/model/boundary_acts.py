"""Boundary acts: one or two for each wall of a sandbox, for promises about the circumstances of a call.

A Codex that confines less in some circumstances may keep one wall and open another: each wall is a case of its own.
"""

from typing import Final

from pytest_codexsandbox.model.act import Act, Given

_KEPT: Final = "@WORKSPACE@/.git/kept"
WALLS: Final[dict[str, dict[str, Act]]] = {  # by case, and by the act's name
    "outside": {"outside": Act(verb="write", path="@OUTSIDE@/@NAME@", params={"data": "let through"})},
    "protected": {
        "protected": Act(
            verb="write",
            path=_KEPT,
            params={"data": "let through"},
            given=(Given(kind="file", path=_KEPT, content="the user's"),),
        )
    },
    "network": {
        "tcp": Act(verb="http", params={"port": "@HTTP@", "token": "@NAME@"}),
        "unix": Act(verb="unix-connect", params={"address": "@UNIX@", "token": "@NAME@"}),
    },
}
BOUNDARY_ACTS: Final = {name: act for acts in WALLS.values() for name, act in acts.items()}
REFUSALS: Final = {"outside": ("EROFS", "EACCES"), "protected": ("EROFS", "EACCES"), "network": ("EPERM",)}
