"""Who was asked what while a run was planned, and what he said: for plans."""

from typing import Literal

import msgspec

Kind = Literal["engine", "registry", "image", "archive", "sources"]
Yes = Literal["yes", "no", "unknown"]


class PlanQuery(msgspec.Struct, frozen=True, kw_only=True):
    """`unknown`: nobody answered who would know."""

    kind: Kind
    name: str  # of a registry, an image; of the distribution whose archive it is, of the bubblewrap that is built
    answer: Yes
    where: str = ""  # at which address, or by which engine
    why: str = ""  # of no and unknown, in the words of whoever said it
    when: str = ""  # "" for this plan, else how long ago
    has: tuple[str, ...] = ()  # an engine: of the images that were asked about, those that stand ready
