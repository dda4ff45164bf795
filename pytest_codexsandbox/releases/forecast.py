"""What getting a release would cost, said at plan time: no network, no process."""

from pathlib import Path

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.releases import candidates, catalogue, npm, pypi
from pytest_codexsandbox.releases import installed as installation
from pytest_codexsandbox.releases.machine import here
from pytest_codexsandbox.releases.names import release_name
from pytest_codexsandbox.releases.npmrc import Registry
from pytest_codexsandbox.releases.store import Store


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    megabytes: int = 0  # to download; 0 when nothing is, or when nobody knows
    source: str = ""  # cache | installed | path | pypi | npm
    cached: bool = False  # nothing has to be downloaded
    why_not: str = ""  # why it cannot be had here, with what to do


def forecast(spec: SubjectSpec, cache: Path) -> Forecast:
    try:
        return _forecast(spec, cache)
    except CodexSandboxError as problem:
        return Forecast(why_not="; ".join(part for part in (problem.what, problem.why, problem.next_step) if part))


def _forecast(spec: SubjectSpec, cache: Path) -> Forecast:
    platform = here()
    if spec.path:
        candidates.examine(spec.path, platform)
        return Forecast(source="path", cached=True)
    release = release_name(spec.release or spec.label)
    there = installation.find()
    if spec.source != "installed" and Store(cache).find(release, platform.arch) is not None:
        return Forecast(source="cache", cached=True)
    if there is not None and there.release == release:
        return Forecast(source="installed", cached=True)
    known = catalogue.known().get(release)
    if (known is None or known.pypi) and pypi.command():
        return Forecast(source="pypi", megabytes=known.pypi if known else 0)
    if npm.command() or Registry.configured() is not None:
        return Forecast(source="npm", megabytes=known.npm if known else 0)
    return Forecast(why_not=npm.NO_WAY)
