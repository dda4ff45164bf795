"""Had already, pulled, or bootstrapped; once for all who want it; pinned until somebody asks for a newer one."""

import re
import threading
import time
from typing import Any

import pytest

from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.errors import HarnessError, Unavailable
from tests.unit.environments.container.provision.builders import ImagesWorld, a_container, a_distro, want
from tests.unit.environments.container.provision.fake_engine import FakeEngine

DEBIAN = {"debian": "the registry's debian"}


def test_it_is_pulled_where_a_registry_answers(images_world: ImagesWorld) -> None:
    images_world.engine.registry = DEBIAN
    image = images_world.images().provide(a_container())
    assert images_world.engine.image_id(want().tag) == image
    assert images_world.engine.pulls == ["debian:bookworm"]
    assert not images_world.tool.calls
    assert next(iter(images_world.lock()["bases"].values()))["fake"]["pin"].startswith("debian@sha256:")
    assert images_world.heard.ended[0].startswith("image debian-bookworm (distro): ")


def test_it_is_bootstrapped_where_none_answers(images_world: ImagesWorld) -> None:
    image = images_world.images().provide(a_container())
    assert images_world.engine.image_id(want().tag) == image
    assert len(images_world.tool.calls) == 1
    assert "bookworm" in images_world.tool.calls[0]
    base = next(iter(images_world.lock()["bases"].values()))["fake"]
    assert base["provider"] == "bootstrapped"
    assert base["pin"].startswith("sha256:")
    assert f"FROM {base['tag']}\n" in images_world.engine.builds[0]


def test_an_image_that_podman_renames_has_our_name_in_the_end(images_world: ImagesWorld) -> None:
    images_world.engine.podman = True
    image = images_world.images().provide(a_container())
    assert images_world.engine.image_id(want().tag) == image
    assert [tag for tag in images_world.engine.tags if tag.endswith(":latest")] == []


def test_the_second_time_nothing_is_done(images_world: ImagesWorld) -> None:
    first = images_world.images().provide(a_container())
    assert images_world.images().provide(a_container()) == first
    assert len(images_world.engine.builds) == len(images_world.engine.pulls) == len(images_world.tool.calls) == 1


def test_variants_share_a_base(images_world: ImagesWorld) -> None:
    with_it = images_world.images().provide(a_container())
    without = images_world.images().provide(a_container(bwrap="none"))
    assert with_it != without
    assert images_world.images().provide(a_container(bwrap="0.8.0")) == without, "others are laid into the one without"
    assert len(images_world.tool.calls) == 1
    assert len(images_world.engine.builds) == 2


def test_an_image_that_an_engine_lost_is_made_again_from_the_same_base(images_world: ImagesWorld) -> None:
    images_world.images().provide(a_container())
    pinned = images_world.lock()["bases"]
    images_world.engine.forget()
    images_world.images().provide(a_container())
    assert len(images_world.tool.calls) == 1, "what was bootstrapped is kept"
    assert {key: row["fake"]["pin"] for key, row in images_world.lock()["bases"].items()} == {
        key: row["fake"]["pin"] for key, row in pinned.items()
    }


def test_a_pulled_image_is_pulled_again_by_its_digest(images_world: ImagesWorld) -> None:
    images_world.engine.registry = DEBIAN
    images_world.images().provide(a_container())
    images_world.engine.forget()
    images_world.images().provide(a_container())
    assert images_world.engine.pulls[1].startswith("debian@sha256:")


def test_an_update_takes_what_is_new(images_world: ImagesWorld) -> None:
    images_world.engine.registry = {"debian": "old"}
    old = images_world.images().provide(a_container())
    images_world.engine.registry = {"debian": "new"}
    assert images_world.images().provide(a_container()) == old
    new = images_world.images(update=True).provide(a_container())
    assert new != old
    assert images_world.engine.pulls == ["debian:bookworm", "debian:bookworm"]
    assert images_world.images().provide(a_container()) == new


def test_an_engine_that_has_it_is_believed_when_the_cache_was_cleared(images_world: ImagesWorld) -> None:
    image = images_world.images().provide(a_container())
    (images_world.cache / "images.lock.json").unlink()
    assert images_world.images().provide(a_container()) == image
    assert len(images_world.engine.builds) == 1


def test_a_derived_image_is_not_taken_for_its_base(images_world: ImagesWorld) -> None:
    """A commit inherits every label; in it lies another bubblewrap."""
    image = images_world.images().provide(a_container())
    marks = images_world.engine.inspected(image)["Config"]["Labels"]
    derived = images_world.engine.keep("codexsandbox/with-bwrap:1", "another bubblewrap", marks)
    (images_world.cache / "images.lock.json").unlink()
    del images_world.engine.tags[want().tag]
    made = images_world.images().provide(a_container())
    assert made != derived
    assert len(images_world.engine.builds) == 2


def test_a_name_alone_is_no_proof(images_world: ImagesWorld) -> None:
    foreign = images_world.engine.keep(want().tag, "somebody's", {})
    assert images_world.images().provide(a_container()) != foreign


@pytest.mark.parametrize("content", ["", "{", '{"version": 99}', '{"images": 3}'])
def test_a_broken_lock_file_pins_nothing_and_breaks_nothing(images_world: ImagesWorld, content: str) -> None:
    image = images_world.images().provide(a_container())
    (images_world.cache / "images.lock.json").write_text(content)
    assert images_world.images().provide(a_container()) == image


def test_another_engine_gets_its_own(images_world: ImagesWorld) -> None:
    images_world.images().provide(a_container())
    other = FakeEngine()
    other.about = lambda: {"ID": "other", "Architecture": "x86_64", "Components": []}  # type: ignore[method-assign]
    images_world.images(engine=other).provide(a_container())
    assert len(images_world.tool.calls) == 1
    assert {tuple(row) for row in images_world.lock()["images"].values()} == {("fake", "other")}


def test_a_recipe_that_says_something_else_is_another_image(images_world: ImagesWorld) -> None:
    images_world.images().provide(a_container())
    images_world.images().provide(a_container(a_distro(packages=("git",))))
    assert len(images_world.engine.builds) == 2
    assert len(images_world.tool.calls) == 1, "its base is the same"


# ---- a user's own image
def test_a_users_image_is_taken_as_it_is(images_world: ImagesWorld) -> None:
    mine = images_world.engine.keep("mine:1", "mine", {})
    assert images_world.images().provide(a_container(a_distro("mine", reference="mine:1"))) == mine
    assert not images_world.engine.builds


def test_a_users_image_is_pulled_where_it_is_not_there(images_world: ImagesWorld) -> None:
    images_world.engine.registry = {"mine": "mine"}
    image = a_distro("mine", reference="mine:1", pull="mine:1")
    assert images_world.images().provide(a_container(image)) == images_world.engine.image_id("mine:1")
    assert not images_world.engine.builds


def test_an_unavailable_users_image_says_how_to_get_it(images_world: ImagesWorld) -> None:
    with pytest.raises(Unavailable) as problem:
        images_world.images().provide(a_container(a_distro("mine", reference="mine:1", pull="")))
    assert problem.value.next_step == "docker pull mine:1"


# ---- many want it
def test_many_who_want_it_make_it_once_and_say_that_they_wait(images_world: ImagesWorld) -> None:
    images_world.engine.slowness = 0.3
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(images_world.images().provide(a_container()))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found) == 4
    assert len(images_world.engine.builds) == 1
    assert len(images_world.heard.said) == 3
    assert all("waiting for it" in line for line in images_world.heard.said)


def test_a_process_that_waited_for_a_failure_does_not_try_again(images_world: ImagesWorld) -> None:
    image = a_distro(suite="")
    entered, go = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> str:
        entered.set()
        go.wait(10)
        images_world.engine.pulls.append("tried")
        raise Unavailable("debian:bookworm cannot be pulled", why="no registry answered: no such host")

    images_world.engine.pull = slow  # type: ignore[method-assign]
    told: list[Unavailable] = []

    def intent() -> None:
        try:
            images_world.images().provide(a_container(image))
        except Unavailable as problem:
            told.append(problem)

    first = threading.Thread(target=intent)
    first.start()
    assert entered.wait(10)
    second = threading.Thread(target=intent)
    second.start()
    limit = time.monotonic() + 10
    while not images_world.heard.said and time.monotonic() < limit:
        time.sleep(0.01)
    go.set()
    first.join()
    second.join()
    assert images_world.engine.pulls == ["tried"]
    assert [problem.why for problem in told] == ["no registry answered: no such host"] * 2


def test_a_later_request_tries_again(images_world: ImagesWorld) -> None:
    image = a_distro(suite="")
    with pytest.raises(Unavailable):
        images_world.images().provide(a_container(image))
    images_world.engine.registry = DEBIAN
    assert images_world.images().provide(a_container(image))
    assert not images_world.lock()["failures"]


# ---- what cannot be had
def test_both_reasons_are_shown_if_both_sources_fail(images_world: ImagesWorld) -> None:
    images_world.have_tools()
    with pytest.raises(Unavailable) as problem:
        images_world.images().provide(a_container())
    assert "debian-bookworm" in problem.value.what
    assert "no registry answered" in problem.value.why
    assert "mmdebstrap" in problem.value.why
    assert "apt install mmdebstrap" in problem.value.next_step + problem.value.why


def test_nothing_is_bootstrapped_for_an_engine_of_another_architecture(images_world: ImagesWorld) -> None:
    images_world.engine.arch = "aarch64"
    with pytest.raises(Unavailable, match="debian-bookworm") as problem:
        images_world.images().provide(a_container())
    assert "aarch64" in problem.value.why
    assert not images_world.tool.calls


def test_a_distribution_without_a_bubblewrap_says_so(images_world: ImagesWorld) -> None:
    image = a_distro("busybox", family="busybox", pull="", only=("busybox-static",), bubblewrap="")
    with pytest.raises(Unavailable, match=r"busybox .*bubblewrap"):
        images_world.images().provide(a_container(image))
    assert images_world.images().provide(a_container(image, bwrap="none"))
    assert "--variant=extract" in images_world.tool.calls[0]


def test_a_failed_second_stage_is_one_clear_error(images_world: ImagesWorld) -> None:
    images_world.engine.build_says = "E: Unable to locate package bubblewrap\n"
    with pytest.raises(Unavailable, match="cannot be built") as problem:
        images_world.images().provide(a_container())
    assert "E: Unable to locate package bubblewrap" in problem.value.why
    assert image_request.base_digest(a_distro()) in images_world.lock()["failures"]


def test_a_cache_that_cannot_be_written_is_named(images_world: ImagesWorld) -> None:
    images_world.cache.parent.mkdir(exist_ok=True)
    images_world.cache.write_text("a file where the cache should be")
    engine: Any = images_world.engine
    with pytest.raises(Unavailable, match=re.escape(str(images_world.cache))) as problem:
        Images(engine, images_world.cache).provide(a_container())
    assert "CODEXSANDBOX_CACHE" in problem.value.next_step


def test_a_read_only_lookup_sees_images_with_our_name_and_writes_nothing(images_world: ImagesWorld) -> None:
    image = images_world.images().provide(a_container())
    images_world.images().lock.path.unlink()
    looking = images_world.images()
    assert looking.seen(want()) == image
    assert (looking.stands(want()), looking.stands(want(bubblewrap=False))) == ("ready", "")
    assert not looking.lock.path.exists()
    images_world.engine.tags[want().tag] = images_world.engine.keep("another", "content", {})
    assert looking.seen(want()) == "", "a name alone is no proof"


def test_a_name_of_the_users_own_is_one_image_from_the_first_to_the_last(images_world: ImagesWorld) -> None:
    """Somebody builds `mine:2` again while the run goes on."""
    mine = a_container(a_distro("mine", reference="mine:2"))
    first = images_world.engine.keep("mine:2", "of yesterday", {})
    assert images_world.images().provide(mine) == images_world.images().provide(mine) == first
    images_world.engine.keep("mine:2", "of today", {})
    with pytest.raises(HarnessError, match="mine:2"):
        images_world.images().provide(mine)
