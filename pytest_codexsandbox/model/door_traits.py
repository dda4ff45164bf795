"""Door traits: what a door declares of itself, as data. Plans are made of these, and not of doors' names."""

from typing import Literal

import msgspec

DoorUse = Literal["commands", "files", "options", "control"]
"""What the harness needs one door for, where the user names none.

`commands`: what a matrix file measures, and the user's own tests. `files`: what a generator wrote. `options`: words of
a generator that the door for files refuses. `control`: the same acts without a sandbox.
"""


class DoorTraits(msgspec.Struct, frozen=True, kw_only=True):
    """Holds what a door declares; `protocols.Door` describes each of them."""

    name: str
    is_control: bool = False
    asks_own_calls: bool = False
    reads_config_files: bool = False
    default_for: tuple[DoorUse, ...] = ()
