"""Generator suite: its door, its policy and its traits."""

from typing import Final

from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.suite_traits import SuiteTraits

NAME: Final = "generator"
DOOR: Final = "generator"  # column of results that are judged by files and by Codex's claims
AS_ASKED: Final = "as-asked"

# What a generator was asked for: its files are judged whatever policy stands in them. No door is asked for it.
GENERATED: Final = Policy(id=AS_ASKED, mode="workspace-write")

TRAITS: Final = SuiteTraits(
    name=NAME,
    title="files that a generator writes",
    policies=(AS_ASKED,),
    judges="generator",
    cases_alone=True,
    names_door=False,
    names_faults=True,
    consequences=("effective.*", "generator.config-loads"),
)
