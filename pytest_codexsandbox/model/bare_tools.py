"""Bare tools: what bubblewrap and `unshare` report in an environment without Codex."""

from typing import Final

import msgspec

DIRECTLY: Final = "Checked directly, this environment "  # beginning of the sentence where others precede it
HELD: Final = "ok"  # value of a fact where the program ended as it should


class ToolAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One command, and the cause recognized in its output."""

    name: str
    command: str
    said: str  # its last words; "" where the program is missing, `ok` where it succeeded
    quote: str = ""  # the words that it was recognised by
    fingerprint: str = ""  # "" = no fingerprint fits
    cause: str = ""

    @property
    def held(self) -> bool:
        return self.said == HELD


class BareToolResults(msgspec.Struct, frozen=True, kw_only=True):
    tried: tuple[ToolAttempt, ...]
    asked: str = ""  # one sentence: what the environment refused to the tools; "" where they were not run
