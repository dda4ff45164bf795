"""Config writer: an exemplary generator, ready to use: it writes a sandbox policy into a user's config.toml.

    from pytest_codexsandbox.config_writer import apply
    apply("~/.codex/config.toml", roots=["/srv/board"], network=False, owner="mytool")

Everything that the user wrote stays. It refuses changes that would lose something or would have no effect. It passes
every check of generators in this project. `python -m pytest_codexsandbox.config_writer` does the same.
"""

from pytest_codexsandbox.config_writer.edit_plan import PlannedEdit, plan
from pytest_codexsandbox.config_writer.policy_writer import AppliedPolicy, apply, generate, request_of
from pytest_codexsandbox.config_writer.request import OWNED, PolicyRequest, Refusal, Refused

__all__ = [
    "OWNED",
    "AppliedPolicy",
    "PlannedEdit",
    "PolicyRequest",
    "Refusal",
    "Refused",
    "apply",
    "generate",
    "plan",
    "request_of",
]
