"""Plan queries: which services were queried while a run was planned, and what they answered. For plans."""

from typing import Literal

import msgspec

Kind = Literal["engine", "registry", "image", "archive", "sources"]
Yes = Literal["yes", "no", "unknown"]


class PlanQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Query of one service. `unknown`: no service that would know answered."""

    kind: Kind
    name: str  # of a registry, an image; of the distribution whose archive it is, of the bubblewrap that is built
    answer: Yes
    where: str = ""  # at which address, or by which engine
    why: str = ""  # of no and unknown, in the words of the service
    when: str = ""  # "" for this plan, else how long ago
    has: tuple[str, ...] = ()  # an engine: those of the queried images that are ready
