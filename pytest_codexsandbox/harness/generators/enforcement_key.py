"""Enforcement key: finds case runs that Codex would enforce alike. One of them is measured for all. Pure."""

import hashlib
from typing import Final

import msgspec

from pytest_codexsandbox.doors import claims
from pytest_codexsandbox.doors.support.codex_options import settings_alone
from pytest_codexsandbox.harness.generators.path_mapping import readable
from pytest_codexsandbox.model.generator import CONFIG, CaseRun, Claim
from pytest_codexsandbox.model.option_words import cut

READ_BY_CODEX: Final = (".toml", ".json", ".rules")  # beside the configuration: a copy with another name is not
_PROFILE: Final = ("-p", "--profile")


def deciding(claim: Claim, case_run: CaseRun) -> tuple[object, ...]:
    """Returns everything that may decide what a command is allowed to do. Case runs with equal values are measured
    once."""
    last = case_run.runs[-1]
    beside = tuple(
        (path, hashlib.sha256(content).hexdigest())
        for path, content in readable(case_run, last.files)
        if path != CONFIG and path.endswith(READ_BY_CODEX)
    )
    given = (last.argv, tuple(sorted(last.env.items())), last.unset)
    return (*claims.effective(claim), claim.approval, *given, tuple(sorted(beside)))


def spelled_out(case_run: CaseRun) -> tuple[object, ...]:
    """Returns the same where Codex cannot be asked about the files: all files that it may read, and all that it was
    given."""
    last = case_run.runs[-1]
    read = sorted((path, hashlib.sha256(content).hexdigest()) for path, content in readable(case_run, last.files))
    return (last.argv, tuple(sorted(last.env.items())), last.unset, tuple(read))


def with_settings_alone(case_run: CaseRun) -> CaseRun:
    """Returns the case run without the arguments that stand for no setting."""
    last = case_run.runs[-1]
    return msgspec.structs.replace(
        case_run, runs=(*case_run.runs[:-1], msgspec.structs.replace(last, argv=settings_alone(last.argv)))
    )


def chooses_a_profile(case_run: CaseRun) -> bool:
    """Checks whether an argument chooses a profile. Any table of the file may then decide, and without that argument
    Codex does not report the table."""
    return any(cut(word)[0] in _PROFILE for word in case_run.runs[-1].argv)
