"""What an environment is without Codex: what bubblewrap and `unshare` said there by themselves."""

from typing import Final

import msgspec

DIRECTLY: Final = "Asked directly, this environment "  # how the sentence begins where it stands among others
HELD: Final = "ok"  # what stands in a fact where the program ended as it should


class ToolAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One command, and the cause that its words are known by."""

    name: str
    command: str
    said: str  # its last words; "" where the program is not there, `ok` where it did what it was asked for
    quote: str = ""  # the words that it was recognised by
    fingerprint: str = ""  # "" = no fingerprint fits
    cause: str = ""

    @property
    def held(self) -> bool:
        return self.said == HELD


class BareToolResults(msgspec.Struct, frozen=True, kw_only=True):
    tried: tuple[ToolAttempt, ...]
    asked: str = ""  # one sentence: what it refused when it was asked directly; "" where nobody asked
