"""Doctor finding: one line of `codexsandbox doctor`."""

from typing import Literal

import msgspec

Answer = Literal["yes", "no", "skipped"]


class DoctorFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one check: whether a thing is there, why, and what to type where it is not."""

    what: str
    answer: Answer
    why: str
    fix: str = ""
    disk_bytes: int | None = None  # on the disk, where the thing is a folder of the harness
    needed: bool = False  # without it nothing can be measured
