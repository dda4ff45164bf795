"""What containers are made of, as a plan says it before anything is made."""

from pathlib import Path
from typing import Any

from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.environments.container.provision.lockfile import Base, LockFile, Made
from pytest_codexsandbox.model.artifact_status import ArtifactStatus
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.plan_queries import PlanQuery
from tests.unit.matrix.container_builders import choice

AXES = 'distros = ["debian-trixie", "debian-sid"]\nbwraps = ["distro", "none", "0.8.0"]\nimages = ["mine=agent"]'


def specs(folder: Path) -> list[EnvironmentSpec]:
    return [cell.environment for cell in choice(folder, AXES).chosen(0).cells]


def test_everything_is_to_be_made_where_nothing_is(tmp_path: Path) -> None:
    found = ContainerBackend().stock(specs(tmp_path), tmp_path / "cache")
    assert [(one.kind, one.name, one.ready) for one in found] == [
        ("image", "debian-trixie (distro)", False),
        ("image", "debian-trixie (none)", False),
        ("image", "debian-sid (distro)", False),
        ("image", "debian-sid (none)", False),
        ("bubblewrap", "0.8.0", False),
    ]
    assert [one.megabytes > 20 for one in found] == [True, False, True, False, False]  # the base is had once


def test_images_of_the_lock_file_are_present(tmp_path: Path) -> None:
    asked = specs(tmp_path)
    first = asked[0].container
    assert first is not None
    want, lock = image_request.wanted(first), LockFile(tmp_path / "cache")
    made = Made(name="debian-trixie", variant="distro", image="sha256:1", base="b", tag="t", size=1, made="")
    lock.keep_image(image_request.digest(want), "engine", made, base_digest=image_request.base_digest(want.image))
    base = Base(name="debian-trixie", provider="pulled", pin="p", image="sha256:0", tag="t", made="")
    lock.keep_base(image_request.base_digest(want.image), "engine", base)
    found = {one.name: one for one in ContainerBackend().stock(asked, tmp_path / "cache")}
    assert found["debian-trixie (distro)"] == ArtifactStatus(kind="image", name="debian-trixie (distro)", ready=True)
    assert 0 < found["debian-trixie (none)"].megabytes < found["debian-sid (distro)"].megabytes


def test_an_engine_that_was_asked_is_believed_before_the_lock_file(tmp_path: Path) -> None:
    asked = specs(tmp_path)
    first = asked[0].container
    assert first is not None
    made = Made(name="debian-trixie", variant="distro", image="sha256:1", base="b", tag="t", size=1, made="")
    want, lock = image_request.wanted(first), LockFile(tmp_path / "cache")
    lock.keep_image(image_request.digest(want), "engine", made, base_digest=image_request.base_digest(want.image))
    for answer, ready in (("yes", {"debian-sid (none)"}), ("unknown", {"debian-trixie (distro)"})):
        told: Any = PlanQuery(kind="engine", name="", answer=answer, has=("debian-sid (none)",))  # type: ignore[arg-type]
        found = ContainerBackend().stock(asked, tmp_path / "cache", (told,))
        assert {one.name for one in found if one.ready} == ready
