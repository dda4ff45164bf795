"""What of ours is removed, and what is let alone."""

from typing import Any

import pytest

from pytest_codexsandbox.environments.container import labels
from pytest_codexsandbox.environments.container.provision import build_turns, image_inventory, image_request
from pytest_codexsandbox.environments.container.provision.image_inventory import InventoryImage
from pytest_codexsandbox.environments.container.provision.lockfile import LockFile
from pytest_codexsandbox.errors import HarnessError, Unavailable
from pytest_codexsandbox.model.image_status import RemovedImage
from pytest_codexsandbox.system.progress import Progress
from tests.unit.environments.container.provision.builders import ImagesWorld, a_container, a_distro
from tests.unit.environments.container.provision.fake_engine import FakeEngine


class Shelf(FakeEngine):
    """Images as an engine lists them; `busy`: a container uses it."""

    def __init__(self, *listed: dict[str, Any], busy: str = "") -> None:
        super().__init__()
        self.listed, self.busy, self.removed = list(listed), busy, list[str]()
        api: Any = self.api
        api.images, api.remove_image = self._images, self._remove

    def _images(self, filters: dict[str, str]) -> list[dict[str, Any]]:
        if "reference" in filters:
            start = filters["reference"].removesuffix("*")
            return [one for one in self.listed if any(tag.startswith(start) for tag in one["RepoTags"])]
        key, _, value = filters["label"].partition("=")
        return [one for one in self.listed if (one["Labels"] or {}).get(key) == value]

    def _remove(self, name: str) -> None:
        if name == self.busy:
            raise HarnessError("no", why="conflict: container 12 uses it")
        self.removed.append(name)


OURS = {labels.KIND: "image"}
SID = {**OURS, image_request.DIGEST: "aa", image_request.NAME: "debian-sid"}


def one(image: str, *tags: str, marks: dict[str, str] | None = None) -> dict[str, Any]:
    return {"Id": f"sha256:{image}", "RepoTags": list(tags), "Labels": marks, "Size": 5_000_000}


FOUND = (
    one("1", "codexsandbox/debian-sid:distro-aa", marks=SID),
    one("2", "<none>:<none>", marks=SID),
    one("3", "debian:sid", "codexsandbox/base-debian-sid:bb-cc"),
    one("4", "codexsandbox-user:dd", marks=OURS),
    one("5", "mine:1"),
)


def test_our_images_are_known_by_label_or_name() -> None:
    engine: Any = Shelf(*FOUND)
    found = {held.what: (held.name, held.digest, held.is_base) for held in image_inventory.held(engine)}
    assert found == {
        "codexsandbox/debian-sid:distro-aa": ("debian-sid", "aa", False),
        "sha256:2": ("debian-sid", "aa", False),
        "codexsandbox/base-debian-sid:bb-cc": ("debian-sid", "", True),
        "codexsandbox-user:dd": ("", "", False),
    }


def test_a_base_that_a_user_pulled_too_loses_our_name_alone(images_world: ImagesWorld) -> None:
    engine: Any = Shelf(*FOUND)
    gone = list(image_inventory.prune(engine, images_world.cache, lambda held: False))
    assert engine.removed[-1] == "codexsandbox/base-debian-sid:bb-cc", "what stands on it goes first"
    assert set(engine.removed) == {held.what for held in image_inventory.held(engine)}
    assert "debian:sid" not in engine.removed
    assert not any(one.why_not for one in gone)


def test_a_dry_run_prints_the_same_and_removes_nothing(images_world: ImagesWorld) -> None:
    image = images_world.images().provide(a_container())
    engine: Any = Shelf(*FOUND, {**one("x", "codexsandbox/debian-bookworm:distro-1", marks=OURS), "Id": image})
    told = list(image_inventory.prune(engine, images_world.cache, lambda held: False, dry_run=True))
    assert engine.removed == []
    assert LockFile(images_world.cache).read().images
    assert told == list(image_inventory.prune(engine, images_world.cache, lambda held: False))


def test_an_image_in_use_stays_with_the_reason(images_world: ImagesWorld) -> None:
    engine: Any = Shelf(*FOUND, busy="codexsandbox-user:dd")
    gone = list(image_inventory.prune(engine, images_world.cache, lambda held: bool(held.name and held.tag)))
    assert RemovedImage(what="codexsandbox-user:dd", size=5_000_000, why_not="conflict: container 12 uses it") in gone
    assert engine.removed == ["sha256:2"]


def test_nothing_is_pruned_while_another_process_makes_an_image(images_world: ImagesWorld) -> None:
    engine: Any = Shelf(*FOUND)
    with build_turns.turn(images_world.cache, "digest", "debian-sid", Progress()):
        assert build_turns.held(images_world.cache) == ("digest",)
        with pytest.raises(Unavailable, match="are being built"):
            list(image_inventory.prune(engine, images_world.cache, lambda held: False))
    assert not engine.removed
    assert build_turns.held(images_world.cache) == ()


def test_removed_images_are_forgotten(images_world: ImagesWorld) -> None:
    image = images_world.images().provide(a_container())
    assert images_world.lock()["images"]
    engine: Any = Shelf({**one("x", "codexsandbox/debian-bookworm:distro-1", marks=OURS), "Id": image})
    list(image_inventory.prune(engine, images_world.cache, lambda held: False))
    assert not LockFile(images_world.cache).read().images


def test_archives_go_by_name_with_what_killed_runs_left(images_world: ImagesWorld) -> None:
    images_world.images().provide(a_container())
    folder = images_world.cache / "images" / "bases"
    (folder / "making-debian-sid").mkdir()
    mine = ("debian-bookworm", image_request.base_digest(a_distro()))
    told = list(image_inventory.prune_archives(images_world.cache, lambda *_: False, dry_run=True))
    assert [one.what.rpartition("/")[2] for one in told][-1] == "making-debian-sid"
    assert len(list(folder.iterdir())) == 3
    left = list(image_inventory.prune_archives(images_world.cache, lambda *one: one == mine))
    assert [one.what for one in left] == [str(folder / "making-debian-sid")]
    assert [path.suffix for path in sorted(folder.iterdir())] == [".json", ".tar"]
    (gone,) = image_inventory.prune_archives(images_world.cache, lambda *_: False)
    assert gone.size > 0
    assert not list(folder.iterdir())


def test_a_held_image_is_called_by_its_name_or_its_id() -> None:
    held = InventoryImage(id="sha256:" + "a" * 64, tag="", name="", digest="", size=1)
    assert held.what == "sha256:aaaaaaaaaaaa"
