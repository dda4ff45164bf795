"""Promise: what a user of Codex's sandbox was promised, as data beside the test that asserts it."""

from typing import Final, Literal

import msgspec

from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.suite_traits import SANDBOX

Kind = Literal["boundary", "capability", "claim", "hygiene", "generator"]
Severity = Literal["critical", "high", "medium", "low"]
Needs = Literal["sandbox", "sandbox-or-refusal", "nothing"]
"""State of the sandbox without which nothing is measured. `sandbox-or-refusal`: in a later start of its call, Codex may
also run no command. The first start shows that it runs one where nothing hinders it, and that a sandbox is on."""
REFUSABLE: Final[Needs] = "sandbox-or-refusal"
Over = Literal["", "configs", "inputs", "writers", "shapes", "once"]
"""Cases of a promise about a generator, asked one by one: the corpus' user files, its inputs, the other programs
that write the same file, the older shapes that the generator takes over."""


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: Kind
    severity: Severity
    needs: Needs
    source: str  # where it was promised: a documentation page or a line of the source
    policies: tuple[str, ...]
    acts: dict[str, Act] = {}
    call: Call | None = None  # None: the acts share the battery of the policy
    requires: tuple[str, ...] = ()  # facts of the environment or of the release without which it is n/a
    cases: tuple[str, ...] = ("",)
    over: Over = ""  # of a promise about a generator: its cases are found when the generator is known
    title: str = ""  # the test's name as a sentence
    summary: str = ""  # the docstring's first paragraph
    suite: str = SANDBOX  # the suite that it belongs to

    @property
    def group(self) -> str:
        """Returns the group of calls that perform its acts: its own id where it has a call of its own, else "", the
        policy's battery."""
        return self.id if self.call is not None else ""

    def act_id(self, name: str) -> str:
        return f"{self.id}/{name}"

    @property
    def topic(self) -> str:
        return self.id.partition(".")[0]
