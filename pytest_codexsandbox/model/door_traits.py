"""Door traits: what a door declares about itself, as data. Plans use these traits, not the doors' names."""

from typing import Literal

import msgspec

DoorUse = Literal["commands", "files", "options", "control"]
"""Use of a door where the user names none. Each use needs one door.

`commands`: what a matrix file measures, and the user's own tests. `files`: what a generator wrote. `options`: words of
a generator that the door for files refuses. `control`: the same acts without a sandbox.
"""


class DoorTraits(msgspec.Struct, frozen=True, kw_only=True):
    """Traits that a door declares; `protocols.Door` describes each of them."""

    name: str
    is_control: bool = False
    asks_own_calls: bool = False
    reads_config_files: bool = False
    takes_shell_snapshots: bool = False
    default_for: tuple[DoorUse, ...] = ()
