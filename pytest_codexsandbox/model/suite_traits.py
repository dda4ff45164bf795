"""Suite traits: how the results of a suite are counted and shown, as data that a plan and its journal carry."""

from fnmatch import fnmatchcase
from typing import Final

import msgspec

SANDBOX: Final = "sandbox"  # the suite of a promise that names none


class SuiteTraits(msgspec.Struct, frozen=True, kw_only=True):
    """Describes a suite to plans, reports and workers that do not import it."""

    name: str  # of its entry point
    title: str = ""  # what it asks, in a few words
    policies: tuple[str, ...] = ()  # those that no other suite has
    judges: str = ""  # the axis of a cell whose value is judged; "": Codex itself, whose calls a plan counts
    cases_alone: bool = False  # each case is counted, shared and blocked by itself; a promise's cases are one row
    names_door: bool = True  # False: its policies name their columns alone
    names_faults: bool = False  # the reason of a row names the fault, before any text of a program does
    consequences: tuple[str, ...] = ()  # globs of promises whose violation follows from a fault that another one shows

    def follows(self, promise: str) -> bool:
        """Checks whether a violation of this promise follows from a fault that another promise shows."""
        return any(fnmatchcase(promise, glob) for glob in self.consequences)
