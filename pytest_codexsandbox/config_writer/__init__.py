"""An exemplary generator, to be used as it is: a sandbox policy put into somebody's config.toml.

    from pytest_codexsandbox.config_writer import apply
    apply("~/.codex/config.toml", roots=["/srv/board"], network=False, owner="mytool")

Everything that the user wrote stays; what cannot be done without loss, or would be without effect, is refused. It
passes every check that this project makes of a generator. `python -m pytest_codexsandbox.config_writer` does the same.
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
