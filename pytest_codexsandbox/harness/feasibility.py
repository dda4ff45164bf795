"""Feasibility: checks what every cell needs before a run downloads or starts anything.

A backend asks its container engine whether it answers. Data says where a known release is published; pip and npm are
asked only about releases that data does not know.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError, InputError, Unavailable
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.plan_key import NotPlanned
from pytest_codexsandbox.releases import download_estimate, sources
from pytest_codexsandbox.releases.artefact import Artefact, Run
from pytest_codexsandbox.releases.download_estimate import Forecast
from pytest_codexsandbox.releases.platform_tag import here
from pytest_codexsandbox.releases.version_names import release_name
from pytest_codexsandbox.system import process
from pytest_codexsandbox.system.parallel_deadline import ask_all

CONTAINERS: Final = "every cell in a container"
REGISTRY_LIMIT: Final = 5.0  # seconds in which pip and npm answer, for all unknown releases together
Find = Callable[..., Artefact]
_KIND: Final = "unavailable"
_SLOWER: Final = "try again; where pip and npm are slow: --codex-timeout-scale 4"


class Lack(msgspec.Struct, frozen=True, kw_only=True):
    """Part of the matrix that this machine cannot measure, in the words of an error. Sent to workers."""

    part: str  # as reports name it
    what: str
    where: str = ""
    why: str = ""
    next_step: str = ""
    required: bool = True  # False: the other cells measure everything that was requested

    @property
    def line(self) -> str:
        subject = f"{self.what} ({self.where})" if self.where else self.what
        return "; ".join(filter(None, (f"{subject}: {self.why}" if self.why else subject, self.next_step)))

    @property
    def not_planned(self) -> NotPlanned:
        return NotPlanned(what=self.part, why=self.line, kind=_KIND, required=self.required)


def lack(part: str, fault: CodexSandboxError, *, required: bool = True) -> Lack:
    return Lack(
        part=part, what=fault.what, where=fault.where, why=fault.why, next_step=fault.next_step, required=required
    )


def release(label: str) -> str:
    """Returns the name of a release among the parts of the matrix."""
    return f"codex {label}"


def forecasts(subjects: Sequence[SubjectSpec], cache: Path, *, limit: float = REGISTRY_LIMIT) -> dict[str, Forecast]:
    """Returns a forecast for each named release, by label. Queries all registries at once, within `limit` seconds."""
    begun = time.monotonic()

    def run(command: Command) -> CommandResult:
        rest = max(0.1, limit + 1 - (time.monotonic() - begun))  # ends after the answer stopped counting
        return process.run(msgspec.structs.replace(command, timeout=min(command.timeout, rest)))

    try:
        known = {spec.label: download_estimate.from_data(spec, cache) for spec in subjects if not spec.path}
    except Unavailable:  # no Codex runs on this machine at all: the plan calls its promises not applicable
        return {}
    unknown = [label for label, found in known.items() if found is None]
    asked = {(label, find): partial(_asked, label, find, run) for label in unknown for find in sources.EVERYWHERE}
    answers = ask_all(asked, limit)
    heard = {label: [answers.get((label, find)) for find in sources.EVERYWHERE] for label in unknown}
    return {label: found or _heard(release_name(label), heard[label], limit) for label, found in known.items()}


def _asked(label: str, find: Find, run: Run) -> Forecast:
    return download_estimate.sized(find(release_name(label), here(), run=run))


def _heard(release: str, answers: Sequence[Forecast | Exception | None], limit: float) -> Forecast:
    """Combines the answers of pip and npm; None stands for an answer that did not come in time."""
    found = next((one for one in answers if isinstance(one, Forecast)), None)
    if found is not None:
        return found
    refusals = [one for one in answers if isinstance(one, Unavailable)]
    if len(refusals) == len(answers):
        return download_estimate.refusal(release, sources.refused(release, refusals, exists=False))
    for one in answers:
        if isinstance(one, Exception) and not isinstance(one, Unavailable):
            raise one
    silence = f"no answer within {limit:.0f} s"
    return Forecast(why_not=f"cannot tell if Codex {release} exists: {silence}; {_SLOWER}")


def of_releases(found: dict[str, Forecast]) -> tuple[Lack, ...]:
    return tuple(
        Lack(part=release(label), what=f"Codex {label} is not available here", why=one.why_not)
        for label, one in found.items()
        if one.why_not
    )


def environment_part(name: str) -> str:
    """Returns the name of an environment among the parts of the matrix."""
    return f"environment {name}"


def of_environments(why_not: Mapping[str, str]) -> tuple[Lack, ...]:
    """Returns the environments of a matrix file that cannot be started here, from the reasons by name."""
    return tuple(
        Lack(part=environment_part(name), what=f"the environment {name} is not available here", why=why)
        for name, why in why_not.items()
        if why
    )


def nothing(preset: str, lacks: Sequence[Lack]) -> InputError:
    """Returns the error for a run in which no cell can be measured."""
    first = lacks[0]
    whys = [first.why, *(one.line for one in lacks[1:])]
    return InputError(
        f"nothing can be measured: {first.what}",
        where=first.where or f"matrix {preset}",
        why="; ".join(filter(None, whys)),
        next_step=first.next_step,
    )
