"""Plan artifacts: the images and bubblewraps of a plan's containers, and which must be made first. Queries no
engine.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pytest_codexsandbox.environments.bubblewrap import bwrap_provider
from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.environments.container.provision.lockfile import LockFile
from pytest_codexsandbox.model.artifact_status import ArtifactStatus
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.container import BwrapSpec
from pytest_codexsandbox.model.plan_queries import PlanQuery

# Compressed, as measured with Debian and Ubuntu; the real size is unknown before the download.
_BASE: Final = 50
_PACKAGES: Final = 10


def stock(
    specs: Iterable[EnvironmentSpec], cache: Path, queries: Iterable[PlanQuery] = ()
) -> tuple[ArtifactStatus, ...]:
    """Returns the artifacts of a plan. `queries`: the engines' answers; without any, the lock file decides."""
    asked = [spec.container for spec in specs if spec.container is not None]
    images = dict.fromkeys(image_request.wanted(one) for one in asked if not one.image.reference)
    bwraps = {one.bwrap.name: one.bwrap for one in asked if one.bwrap.ours}
    engines = [one for one in queries if one.kind == "engine" and one.answer == "yes"]
    there = frozenset(what for one in engines for what in one.has) if engines else None
    return (*_images(images, cache, there), *(_bwrap(spec, cache) for spec in bwraps.values()))


def _images(wants: Iterable[ImageRequest], cache: Path, there: frozenset[str] | None) -> Iterable[ArtifactStatus]:
    locked = LockFile(cache).read()
    begun = set(locked.bases)
    for want in wants:
        base = image_request.base_digest(want.image)
        ready = bool(locked.images.get(image_request.digest(want))) if there is None else want.what in there
        size = 0 if ready else _PACKAGES if base in begun else _BASE + _PACKAGES
        yield ArtifactStatus(kind="image", name=want.what, ready=ready, megabytes=size)
        begun.add(base)  # the second variant takes the base of the first


def _bwrap(spec: BwrapSpec, cache: Path) -> ArtifactStatus:
    return ArtifactStatus(kind="bubblewrap", name=spec.name, ready=bwrap_provider.there(spec, cache))
