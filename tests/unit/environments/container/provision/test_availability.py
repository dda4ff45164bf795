"""What a plan says that cannot be had, without asking anybody; and what it leaves to a try."""

import re
import time

import pytest

from pytest_codexsandbox.environments.container.provision.availability import BELIEVED, ImageAvailability
from pytest_codexsandbox.errors import Unavailable
from tests.unit.environments.container.provision.builders import Workshop, a_container, a_distro, want


def test_an_image_that_may_be_pulled_is_left_to_a_try(workshop: Workshop) -> None:
    workshop.have_tools()
    assert ImageAvailability(workshop.cache).why_not(want()) == ""
    assert not workshop.engine.pulls


def test_an_image_that_can_only_be_bootstrapped_needs_the_tool(workshop: Workshop) -> None:
    image = a_distro("busybox", pull="", bubblewrap="")
    assert ImageAvailability(workshop.cache).why_not(want(image, bubblewrap=False)) == ""
    workshop.have_tools()
    why = ImageAvailability(workshop.cache).why_not(want(image, bubblewrap=False))
    assert "apt install mmdebstrap" in why
    assert re.search("busybox .*bubblewrap", ImageAvailability(workshop.cache).why_not(want(image)))


def test_a_present_image_needs_no_tool(workshop: Workshop) -> None:
    image = a_distro(pull="")
    workshop.images().provide(a_container(image))
    workshop.have_tools()
    assert ImageAvailability(workshop.cache).why_not(want(image)) == ""
    assert ImageAvailability(workshop.cache).why_not(want(image, bubblewrap=False)) == "", "its base is kept"


def test_without_the_key_of_an_archive_the_package_is_named(workshop: Workshop) -> None:
    image = a_distro("ubuntu-24.04", pull="", keyring="u", keyring_package="ubuntu-keyring", signed_by=("F",))
    assert "(apt install ubuntu-keyring)" in ImageAvailability(workshop.cache).why_not(want(image))
    workshop.have_tools("mmdebstrap", "gpg")
    assert ImageAvailability(workshop.cache).why_not(want(image)) == "", (
        "it may be had from the archive, by its fingerprint"
    )


def test_the_reason_of_the_last_failure_is_shown_for_a_day(workshop: Workshop) -> None:
    image = a_distro("fedora-43", pull="fedora:43", suite="", family="fedora")
    with pytest.raises(Unavailable):
        workshop.images().provide(a_container(image))
    why = ImageAvailability(workshop.cache).why_not(want(image))
    assert ", just now" in why and "(try again: codexsandbox images build fedora-43)" in why
    later = ImageAvailability(workshop.cache, now=time.time() + 3 * 3600)
    assert ", 3 hours ago" in later.why_not(want(image, bubblewrap=False))
    assert ImageAvailability(workshop.cache, now=time.time() + BELIEVED + 1).why_not(want(image)) == ""


def test_a_try_of_one_provider_alone_says_nothing_about_the_other(workshop: Workshop) -> None:
    with pytest.raises(Unavailable):
        workshop.images(providers=("pull",)).provide(a_container())
    assert ImageAvailability(workshop.cache).why_not(want()) == ""


def test_a_users_own_image_is_known_to_the_engine_alone(workshop: Workshop) -> None:
    assert ImageAvailability(workshop.cache).why_not(want(a_distro("mine", reference="mine:1", bubblewrap=""))) == ""
