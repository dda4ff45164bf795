"""Image preparation: makes the images of a whole plan before its first item, visibly, several at once, each once."""

from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest, wanted
from pytest_codexsandbox.environments.container.provision.parallel_build import Make, make_all
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.model.container import ContainerSpec
from pytest_codexsandbox.system.progress import Progress, progress_on


def prepare(specs: Iterable[ContainerSpec], cache: Path, stream: TextIO) -> None:
    """Makes missing images before the run. Hides errors, because the environments that lack an image report them."""
    wants = tuple(dict.fromkeys(map(wanted, specs)))
    try:
        with Engine() as engine:
            images = Images(engine, cache)
            missing = [want for want in wants if not (want.image.reference or images.cached(want))]
        if missing:
            with progress_on(stream) as watch:
                make_all(missing, lambda: one_by_one(cache, watch))
    except CodexSandboxError:
        return


def one_by_one(
    cache: Path, watch: Progress, *, providers: tuple[str, ...] = ("pull", "bootstrap"), update: bool = False
) -> Make:
    """Returns a function that makes images with an engine client of its own, since a client is not safe for threads."""

    def make(want: ImageRequest) -> str:
        with Engine() as engine:
            return Images(engine, cache, watch=watch, providers=providers, update=update).make(want)

    return make
