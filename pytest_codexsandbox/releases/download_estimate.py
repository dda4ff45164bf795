"""Download estimate: what getting a release would cost, for plans.

Known releases are known from data, without network or process. For another release pip and npm are asked whether it
exists.
"""

import math
from pathlib import Path

import msgspec

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.releases import installed_package, known_releases, npm, user_binaries
from pytest_codexsandbox.releases.artefact import Artefact, Run
from pytest_codexsandbox.releases.npmrc import Registry
from pytest_codexsandbox.releases.platform_tag import here, of_a_build
from pytest_codexsandbox.releases.sources import published
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.releases.version_names import release_name
from pytest_codexsandbox.system import pip, process
from pytest_codexsandbox.system.download import NotReached, size_of


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    megabytes: int = 0  # to download; 0 when nothing is, or when the size is unknown
    source: str = ""  # cache | installed | path | pypi | npm
    cached: bool = False  # nothing has to be downloaded
    why_not: str = ""  # why it is not available here, with what to do


def forecast(spec: SubjectSpec, cache: Path, *, run: Run = process.run) -> Forecast:
    """Returns the forecast of a subject. InputError for what is no release and for a binary that is no Codex: no run
    would begin with it."""
    try:
        known = from_data(spec, cache)
        return published(release_name(spec.release or spec.label), here(), run, sized) if known is None else known
    except Unavailable as problem:
        return refusal(spec.release or spec.label, problem)


def refusal(release: str, problem: Unavailable) -> Forecast:
    what = problem.what
    if isinstance(problem, NotReached):
        what = f"existence of Codex {release} is unknown"
    return Forecast(why_not="; ".join(part for part in (what, problem.why, problem.next_step) if part))


def from_data(spec: SubjectSpec, cache: Path) -> Forecast | None:
    """Returns what this machine and the data say; None for a release that neither knows."""
    if spec.path:
        user_binaries.examine(spec.path, of_a_build())
        return Forecast(source="path", cached=True)
    platform = here()
    release = release_name(spec.release or spec.label)
    there = installed_package.find()
    if spec.source != "installed" and Store(cache).find(release, platform.arch) is not None:
        return Forecast(source="cache", cached=True)
    if there is not None and there.release == release:
        return Forecast(source="installed", cached=True)
    known = known_releases.known().get(release)
    if known is None:
        return None
    if known.pypi and pip.program():
        return Forecast(source="pypi", megabytes=known.pypi)
    if npm.command() or Registry.configured() is not None:
        return Forecast(source="npm", megabytes=known.npm)
    return Forecast(why_not=npm.NO_WAY)


def sized(found: Artefact) -> Forecast:
    """Returns the forecast of a published release, with the size of its download."""
    try:
        size = size_of(found.url, headers=found.headers)
    except Unavailable:  # it exists; the download itself will report the error
        size = 0
    return Forecast(source=found.source, megabytes=math.ceil(size / 1e6))
