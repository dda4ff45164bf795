"""What a plan says that cannot be had, without asking anybody; and what it leaves to a try."""

import re
import time

import pytest

from pytest_codexsandbox.environments.container.provision.availability import BELIEVED, ImageAvailability
from pytest_codexsandbox.errors import Unavailable
from tests.unit.environments.container.provision.builders import ImagesWorld, a_container, a_distro, want


def test_an_image_that_may_be_pulled_is_left_to_a_try(images_world: ImagesWorld) -> None:
    images_world.have_tools()
    assert ImageAvailability(images_world.cache).why_not(want()) == ""
    assert not images_world.engine.pulls


def test_an_image_that_can_only_be_bootstrapped_needs_the_tool(images_world: ImagesWorld) -> None:
    image = a_distro("busybox", pull="", bubblewrap="")
    assert ImageAvailability(images_world.cache).why_not(want(image, bubblewrap=False)) == ""
    images_world.have_tools()
    why = ImageAvailability(images_world.cache).why_not(want(image, bubblewrap=False))
    assert "apt install mmdebstrap" in why
    assert re.search("busybox .*bubblewrap", ImageAvailability(images_world.cache).why_not(want(image)))


def test_a_present_image_needs_no_tool(images_world: ImagesWorld) -> None:
    image = a_distro(pull="")
    images_world.images().provide(a_container(image))
    images_world.have_tools()
    assert ImageAvailability(images_world.cache).why_not(want(image)) == ""
    assert ImageAvailability(images_world.cache).why_not(want(image, bubblewrap=False)) == "", "its base is kept"


def test_without_the_key_of_an_archive_the_package_is_named(images_world: ImagesWorld) -> None:
    image = a_distro("ubuntu-24.04", pull="", keyring="u", keyring_package="ubuntu-keyring", signed_by=("F",))
    assert "(apt install ubuntu-keyring)" in ImageAvailability(images_world.cache).why_not(want(image))
    images_world.have_tools("mmdebstrap", "gpg")
    assert ImageAvailability(images_world.cache).why_not(want(image)) == "", (
        "it may be had from the archive, by its fingerprint"
    )


def test_the_reason_of_the_last_failure_is_shown_for_a_day(images_world: ImagesWorld) -> None:
    image = a_distro("fedora-43", pull="fedora:43", suite="", family="fedora")
    with pytest.raises(Unavailable):
        images_world.images().provide(a_container(image))
    why = ImageAvailability(images_world.cache).why_not(want(image))
    assert ", just now" in why and "(try again: codexsandbox images build fedora-43)" in why
    later = ImageAvailability(images_world.cache, now=time.time() + 3 * 3600)
    assert ", 3 hours ago" in later.why_not(want(image, bubblewrap=False))
    assert ImageAvailability(images_world.cache, now=time.time() + BELIEVED + 1).why_not(want(image)) == ""


def test_a_try_of_one_provider_alone_says_nothing_about_the_other(images_world: ImagesWorld) -> None:
    with pytest.raises(Unavailable):
        images_world.images(providers=("pull",)).provide(a_container())
    assert ImageAvailability(images_world.cache).why_not(want()) == ""


def test_a_users_own_image_is_known_to_the_engine_alone(images_world: ImagesWorld) -> None:
    assert (
        ImageAvailability(images_world.cache).why_not(want(a_distro("mine", reference="mine:1", bubblewrap=""))) == ""
    )
