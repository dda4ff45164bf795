"""Had already, pulled, or bootstrapped; once for all who want it; pinned until somebody asks for a newer one."""

import re
import threading
import time
from typing import Any

import pytest

from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.errors import HarnessError, Unavailable
from tests.unit.environments.container.provision.builders import Workshop, a_container, a_distro, want
from tests.unit.environments.container.provision.fake_engine import FakeEngine

DEBIAN = {"debian": "the registry's debian"}


def test_it_is_pulled_where_a_registry_answers(workshop: Workshop) -> None:
    workshop.engine.registry = DEBIAN
    image = workshop.images().provide(a_container())
    assert workshop.engine.image_id(want().tag) == image
    assert workshop.engine.pulls == ["debian:bookworm"]
    assert not workshop.tool.calls
    assert next(iter(workshop.lock()["bases"].values()))["fake"]["pin"].startswith("debian@sha256:")
    assert workshop.heard.ended[0].startswith("image debian-bookworm (distro): ")


def test_it_is_bootstrapped_where_none_answers(workshop: Workshop) -> None:
    image = workshop.images().provide(a_container())
    assert workshop.engine.image_id(want().tag) == image
    assert len(workshop.tool.calls) == 1
    assert "bookworm" in workshop.tool.calls[0]
    base = next(iter(workshop.lock()["bases"].values()))["fake"]
    assert base["provider"] == "bootstrapped"
    assert base["pin"].startswith("sha256:")
    assert f"FROM {base['tag']}\n" in workshop.engine.builds[0]


def test_an_image_that_podman_renames_has_our_name_in_the_end(workshop: Workshop) -> None:
    workshop.engine.podman = True
    image = workshop.images().provide(a_container())
    assert workshop.engine.image_id(want().tag) == image
    assert [tag for tag in workshop.engine.tags if tag.endswith(":latest")] == []


def test_the_second_time_nothing_is_done(workshop: Workshop) -> None:
    first = workshop.images().provide(a_container())
    assert workshop.images().provide(a_container()) == first
    assert len(workshop.engine.builds) == len(workshop.engine.pulls) == len(workshop.tool.calls) == 1


def test_variants_share_a_base(workshop: Workshop) -> None:
    with_it = workshop.images().provide(a_container())
    without = workshop.images().provide(a_container(bwrap="none"))
    assert with_it != without
    assert workshop.images().provide(a_container(bwrap="0.8.0")) == without, "others are laid into the one without"
    assert len(workshop.tool.calls) == 1
    assert len(workshop.engine.builds) == 2


def test_an_image_that_an_engine_lost_is_made_again_from_the_same_base(workshop: Workshop) -> None:
    workshop.images().provide(a_container())
    pinned = workshop.lock()["bases"]
    workshop.engine.forget()
    workshop.images().provide(a_container())
    assert len(workshop.tool.calls) == 1, "what was bootstrapped is kept"
    assert {key: row["fake"]["pin"] for key, row in workshop.lock()["bases"].items()} == {
        key: row["fake"]["pin"] for key, row in pinned.items()
    }


def test_a_pulled_image_is_pulled_again_by_its_digest(workshop: Workshop) -> None:
    workshop.engine.registry = DEBIAN
    workshop.images().provide(a_container())
    workshop.engine.forget()
    workshop.images().provide(a_container())
    assert workshop.engine.pulls[1].startswith("debian@sha256:")


def test_an_update_takes_what_is_new(workshop: Workshop) -> None:
    workshop.engine.registry = {"debian": "old"}
    old = workshop.images().provide(a_container())
    workshop.engine.registry = {"debian": "new"}
    assert workshop.images().provide(a_container()) == old
    new = workshop.images(update=True).provide(a_container())
    assert new != old
    assert workshop.engine.pulls == ["debian:bookworm", "debian:bookworm"]
    assert workshop.images().provide(a_container()) == new


def test_an_engine_that_has_it_is_believed_when_the_cache_was_cleared(workshop: Workshop) -> None:
    image = workshop.images().provide(a_container())
    (workshop.cache / "images.lock.json").unlink()
    assert workshop.images().provide(a_container()) == image
    assert len(workshop.engine.builds) == 1


def test_a_derived_image_is_not_taken_for_its_base(workshop: Workshop) -> None:
    """A commit inherits every label; in it lies another bubblewrap."""
    image = workshop.images().provide(a_container())
    marks = workshop.engine.inspected(image)["Config"]["Labels"]
    derived = workshop.engine.keep("codexsandbox/with-bwrap:1", "another bubblewrap", marks)
    (workshop.cache / "images.lock.json").unlink()
    del workshop.engine.tags[want().tag]
    made = workshop.images().provide(a_container())
    assert made != derived
    assert len(workshop.engine.builds) == 2


def test_a_name_alone_is_no_proof(workshop: Workshop) -> None:
    foreign = workshop.engine.keep(want().tag, "somebody's", {})
    assert workshop.images().provide(a_container()) != foreign


@pytest.mark.parametrize("content", ["", "{", '{"version": 99}', '{"images": 3}'])
def test_a_broken_lock_file_pins_nothing_and_breaks_nothing(workshop: Workshop, content: str) -> None:
    image = workshop.images().provide(a_container())
    (workshop.cache / "images.lock.json").write_text(content)
    assert workshop.images().provide(a_container()) == image


def test_another_engine_gets_its_own(workshop: Workshop) -> None:
    workshop.images().provide(a_container())
    other = FakeEngine()
    other.about = lambda: {"ID": "other", "Architecture": "x86_64", "Components": []}  # type: ignore[method-assign]
    workshop.images(engine=other).provide(a_container())
    assert len(workshop.tool.calls) == 1
    assert {tuple(row) for row in workshop.lock()["images"].values()} == {("fake", "other")}


def test_a_recipe_that_says_something_else_is_another_image(workshop: Workshop) -> None:
    workshop.images().provide(a_container())
    workshop.images().provide(a_container(a_distro(packages=("git",))))
    assert len(workshop.engine.builds) == 2
    assert len(workshop.tool.calls) == 1, "its base is the same"


# ---- a user's own image
def test_a_users_image_is_taken_as_it_is(workshop: Workshop) -> None:
    mine = workshop.engine.keep("mine:1", "mine", {})
    assert workshop.images().provide(a_container(a_distro("mine", reference="mine:1"))) == mine
    assert not workshop.engine.builds


def test_a_users_image_is_pulled_where_it_is_not_there(workshop: Workshop) -> None:
    workshop.engine.registry = {"mine": "mine"}
    image = a_distro("mine", reference="mine:1", pull="mine:1")
    assert workshop.images().provide(a_container(image)) == workshop.engine.image_id("mine:1")
    assert not workshop.engine.builds


def test_an_unavailable_users_image_says_how_to_get_it(workshop: Workshop) -> None:
    with pytest.raises(Unavailable) as problem:
        workshop.images().provide(a_container(a_distro("mine", reference="mine:1", pull="")))
    assert problem.value.next_step == "docker pull mine:1"


# ---- many want it
def test_many_who_want_it_make_it_once_and_say_that_they_wait(workshop: Workshop) -> None:
    workshop.engine.slowness = 0.3
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(workshop.images().provide(a_container()))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found) == 4
    assert len(workshop.engine.builds) == 1
    assert len(workshop.heard.said) == 3
    assert all("waiting for it" in line for line in workshop.heard.said)


def test_a_process_that_waited_for_a_failure_does_not_try_again(workshop: Workshop) -> None:
    image = a_distro(suite="")
    entered, go = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> str:
        entered.set()
        go.wait(10)
        workshop.engine.pulls.append("tried")
        raise Unavailable("debian:bookworm cannot be pulled", why="no registry answered: no such host")

    workshop.engine.pull = slow  # type: ignore[method-assign]
    told: list[Unavailable] = []

    def wish() -> None:
        try:
            workshop.images().provide(a_container(image))
        except Unavailable as problem:
            told.append(problem)

    first = threading.Thread(target=wish)
    first.start()
    assert entered.wait(10)
    second = threading.Thread(target=wish)
    second.start()
    limit = time.monotonic() + 10
    while not workshop.heard.said and time.monotonic() < limit:
        time.sleep(0.01)
    go.set()
    first.join()
    second.join()
    assert workshop.engine.pulls == ["tried"]
    assert [problem.why for problem in told] == ["no registry answered: no such host"] * 2


def test_a_later_request_tries_again(workshop: Workshop) -> None:
    image = a_distro(suite="")
    with pytest.raises(Unavailable):
        workshop.images().provide(a_container(image))
    workshop.engine.registry = DEBIAN
    assert workshop.images().provide(a_container(image))
    assert not workshop.lock()["failures"]


# ---- what cannot be had
def test_both_reasons_are_shown_if_both_sources_fail(workshop: Workshop) -> None:
    workshop.have_tools()
    with pytest.raises(Unavailable) as problem:
        workshop.images().provide(a_container())
    assert "debian-bookworm" in problem.value.what
    assert "no registry answered" in problem.value.why
    assert "mmdebstrap" in problem.value.why
    assert "apt install mmdebstrap" in problem.value.next_step + problem.value.why


def test_nothing_is_bootstrapped_for_an_engine_of_another_architecture(workshop: Workshop) -> None:
    workshop.engine.arch = "aarch64"
    with pytest.raises(Unavailable, match="debian-bookworm") as problem:
        workshop.images().provide(a_container())
    assert "aarch64" in problem.value.why
    assert not workshop.tool.calls


def test_a_distribution_without_a_bubblewrap_says_so(workshop: Workshop) -> None:
    image = a_distro("busybox", family="busybox", pull="", only=("busybox-static",), bubblewrap="")
    with pytest.raises(Unavailable, match=r"busybox .*bubblewrap"):
        workshop.images().provide(a_container(image))
    assert workshop.images().provide(a_container(image, bwrap="none"))
    assert "--variant=extract" in workshop.tool.calls[0]


def test_a_failed_second_stage_is_one_clear_error(workshop: Workshop) -> None:
    workshop.engine.build_says = "E: Unable to locate package bubblewrap\n"
    with pytest.raises(Unavailable, match="cannot be built") as problem:
        workshop.images().provide(a_container())
    assert "E: Unable to locate package bubblewrap" in problem.value.why
    assert image_request.base_digest(a_distro()) in workshop.lock()["failures"]


def test_a_cache_that_cannot_be_written_is_named(workshop: Workshop) -> None:
    workshop.cache.parent.mkdir(exist_ok=True)
    workshop.cache.write_text("a file where the cache should be")
    engine: Any = workshop.engine
    with pytest.raises(Unavailable, match=re.escape(str(workshop.cache))) as problem:
        Images(engine, workshop.cache).provide(a_container())
    assert "CODEXSANDBOX_CACHE" in problem.value.next_step


def test_a_read_only_lookup_sees_images_with_our_name_and_writes_nothing(workshop: Workshop) -> None:
    image = workshop.images().provide(a_container())
    workshop.images().lock.path.unlink()
    looking = workshop.images()
    assert looking.seen(want()) == image
    assert (looking.stands(want()), looking.stands(want(bubblewrap=False))) == ("ready", "")
    assert not looking.lock.path.exists()
    workshop.engine.tags[want().tag] = workshop.engine.keep("another", "content", {})
    assert looking.seen(want()) == "", "a name alone is no proof"


def test_a_name_of_the_users_own_is_one_image_from_the_first_to_the_last(workshop: Workshop) -> None:
    """Somebody builds `mine:2` again while the run goes on."""
    mine = a_container(a_distro("mine", reference="mine:2"))
    first = workshop.engine.keep("mine:2", "of yesterday", {})
    assert workshop.images().provide(mine) == workshop.images().provide(mine) == first
    workshop.engine.keep("mine:2", "of today", {})
    with pytest.raises(HarnessError, match="mine:2"):
        workshop.images().provide(mine)
