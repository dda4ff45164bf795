"""What the doctor says of a container engine's images."""

import msgspec
import pytest

from pytest_codexsandbox.environments.container.doctor import engine_finding, first_ready, images_finding
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.matrix.container_cells import of_values
from pytest_codexsandbox.model.image_status import ImageRow, ImageState, ImageVariant


def row(name: str, state: ImageState, *, bwrap: str = "distro", image: str = "") -> ImageRow:
    variants = (ImageVariant(bwrap=bwrap, image=image),)
    return ImageRow(name=name, state=state, provider="", pin="", made="", variants=variants)


def test_images_are_there_when_one_is_ready() -> None:
    found = images_finding((row("busybox", "ready"), row("arch", "to make"), row("fedora-43", "not had")))
    assert (found.answer, found.why.count("1"), "ready: busybox" in found.why) == ("yes", 2, True)
    none = images_finding((row("arch", "to make"),))
    assert none.answer == "no"
    assert none.fix.startswith("codexsandbox images build ")


def test_a_sandbox_is_tried_where_an_image_has_a_bubblewrap_of_its_own() -> None:
    values = (("debian-sid", "debian-bookworm", "debian-trixie"), ("as-chosen", "docker-default", "root"))
    specs = [of_values(SHIPPED, (name, *values[1]), arch="x86_64") for name in values[0]]
    images = [spec.container.image for spec in specs if spec.container]
    rows = [
        row("debian-sid", "to make"),
        row("debian-bookworm", "in part", bwrap="none", image="sha256:1"),
        row("debian-trixie", "in part", image="sha256:2"),
    ]
    assert first_ready(specs, images, rows) is specs[2]
    assert first_ready(specs, images, [msgspec.structs.replace(one, variants=()) for one in rows]) is None


@pytest.mark.parametrize(("part", "name"), [("Engine", "Docker"), ("Podman Engine", "Podman")])
def test_the_engine_is_named_with_its_version(part: str, name: str) -> None:
    found = engine_finding({"Components": [{"Name": part}], "EngineVersion": "29.1"}, "unix:///x")
    assert (found.answer, found.why) == ("yes", f"{name} 29.1 at unix:///x")
