"""What an image is made of, as the engine and the tools are told: pure, and nothing from a data file can inject."""

import json
import re
from typing import Any

import pytest

from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.axis_files import DISTROS, SHIPPED
from tests.unit.environments.container.provision.builders import a_container, a_distro, want


def commands(text: str) -> list[list[str]]:
    return [json.loads(line.removeprefix("RUN ")) for line in text.splitlines() if line.startswith("RUN ")]


@pytest.mark.parametrize("name", SHIPPED.values(DISTROS))
@pytest.mark.parametrize("bubblewrap", [True, False])
def test_every_shipped_distribution_has_a_second_stage(name: str, bubblewrap: bool) -> None:
    image = SHIPPED.image(name)
    text = image_request.dockerfile(ImageRequest(image=image, bubblewrap=bubblewrap), "base:1")
    assert text.startswith("FROM base:1\nLABEL org.codexsandbox.kind=image\n")
    assert all(line.startswith(("FROM ", "LABEL ", "RUN [", "CMD [")) for line in text.splitlines())
    installed = [word for words in commands(text) for word in words[4:]]
    assert ("bubblewrap" in installed) == (bubblewrap and bool(image.bubblewrap))
    assert image.pull or image.suite


@pytest.mark.parametrize("name", SHIPPED.values(DISTROS))
def test_every_shipped_distribution_can_be_named(name: str) -> None:
    image = SHIPPED.image(name)
    assert not image.pull or image_request.reference(image.pull, where=name) == image.pull
    assert not image.suite or image_request.suite(image) == image.suite
    assert image_request.components(image)
    assert image.musl == (image.family == "alpine")
    assert not image.suite or (image.keyring and image.keyring_package), "an archive is trusted by a key"


def test_the_family_decides_how_packages_get_in() -> None:
    tools = {"debian": "apt-get", "fedora": "dnf", "alpine": "apk", "arch": "pacman", "opensuse": "zypper"}
    for family, tool in tools.items():
        text = image_request.dockerfile(want(a_distro(family=family)), "base")
        assert [other for other in tools.values() if other in text] == [tool]


def test_a_release_file_that_ran_out_is_taken_only_where_the_data_say_so() -> None:
    assert "Check-Valid-Until=true" in image_request.dockerfile(want(), "base")
    assert "Check-Valid-Until=false" in image_request.dockerfile(want(a_distro(expired=True)), "base")


@pytest.mark.parametrize("word", ["", "-oDpkg::Pre-Invoke=id", "a b", "a;id", "a\nRUN id", "$(id)", "../x", 'a"'])
def test_a_package_is_a_name_or_nothing(word: str) -> None:
    with pytest.raises(InputError, match=re.escape(repr(word))):
        image_request.dockerfile(want(a_distro(packages=(word,))), "base")


@pytest.mark.parametrize("word", ["", "-x", "--setup-hook=id", "Sid", "a b", "a/b", "a\nb"])
def test_a_suite_is_a_name_or_nothing(word: str) -> None:
    with pytest.raises(InputError):
        image_request.suite(a_distro(suite=word))
    with pytest.raises(InputError):
        image_request.components(a_distro(components=(word,)))


@pytest.mark.parametrize("text", ["-x", "a b", "A", "x\ny", "$(id)", "a" * 400])
def test_a_reference_is_a_name_or_nothing(text: str) -> None:
    with pytest.raises(InputError):
        image_request.reference(text, where="here")


@pytest.mark.parametrize("text", ["--hook=x", "ftp:host", "http//x", "https://a b", "https://x\ndeb y"])
def test_a_mirror_is_an_address_or_nothing(text: str) -> None:
    with pytest.raises(InputError):
        image_request.mirror(text, where="here")


def test_its_content_decides_its_name() -> None:
    tags = {
        want().tag,
        want(bubblewrap=False).tag,
        want(a_distro(packages=("git",))).tag,
        want(a_distro(pull="x:1")).tag,
        want(a_distro(expired=True)).tag,
    }
    assert len(tags) == 5
    assert image_request.base_digest(a_distro()) == image_request.base_digest(a_distro(packages=("git",)))
    assert image_request.base_digest(a_distro()) != image_request.base_digest(a_distro(suite="sid"))


def test_only_the_distributions_own_bubblewrap_is_in_an_image() -> None:
    asked: dict[str, Any] = {
        name: image_request.wanted(a_container(bwrap=name)).variant for name in ("distro", "none", "0.8")
    }
    assert asked == {"distro": "distro", "none": "none", "0.8": "none"}
