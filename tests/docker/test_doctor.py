"""`codexsandbox doctor` where there is an engine: it starts Codex in a container of an image that stands ready."""

from functools import partial
from pathlib import Path

import pytest

from pytest_codexsandbox.commands.doctor import in_environment, of_backends, shipped_environments
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.known_releases import installed
from tests.docker.builders import DISTRO


@pytest.fixture(autouse=True)
def ready() -> None:
    wanted = next(one.container for one in shipped_environments() if one.distro == DISTRO)
    assert wanted is not None
    with Engine() as engine:
        Images(engine, cache_folder()).provide(wanted)


def test_an_engine_an_image_and_a_sandbox_are_found() -> None:
    spec = installed()
    assert spec is not None
    found = {one.what: one for one in of_backends(partial(in_environment, spec))}
    assert [(name, one.answer) for name, one in found.items()] == [
        ("containers", "yes"),
        ("images", "yes"),
        ("sandbox in a container", "yes"),
    ]
    assert DISTRO in found["images"].why
    assert "outside" in found["sandbox in a container"].why


def test_a_codex_whose_sandbox_does_not_start_there_is_a_no(tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    (*_, found) = of_backends(partial(in_environment, SubjectSpec(label="none", path=str(program), source="path")))
    assert (found.what, found.answer, found.needed) == ("sandbox in a container", "no", False)
    assert found.fix
