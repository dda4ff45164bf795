"""Which stories Codex would enforce alike: of those one is measured for all. Pure."""

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


def deciding(claim: Claim, story: CaseRun) -> tuple[object, ...]:
    """Everything that a command may depend on: two stories of which this is the same are measured once."""
    last = story.runs[-1]
    beside = tuple(
        (path, hashlib.sha256(content).hexdigest())
        for path, content in readable(story, last.files)
        if path != CONFIG and path.endswith(READ_BY_CODEX)
    )
    given = (last.argv, tuple(sorted(last.env.items())), last.unset)
    return (*claims.effective(claim), claim.approval, *given, tuple(sorted(beside)))


def spelled_out(story: CaseRun) -> tuple[object, ...]:
    """The same where Codex cannot be asked what it makes of the files: all that it may read and was given."""
    last = story.runs[-1]
    read = sorted((path, hashlib.sha256(content).hexdigest()) for path, content in readable(story, last.files))
    return (last.argv, tuple(sorted(last.env.items())), last.unset, tuple(read))


def with_settings_alone(story: CaseRun) -> CaseRun:
    """Without the words that stand for no setting."""
    last = story.runs[-1]
    return msgspec.structs.replace(
        story, runs=(*story.runs[:-1], msgspec.structs.replace(last, argv=settings_alone(last.argv)))
    )


def chooses_a_profile(story: CaseRun) -> bool:
    """Then any table of the file may decide, and without that word Codex does not say what stands in it."""
    return any(cut(word)[0] in _PROFILE for word in story.runs[-1].argv)
