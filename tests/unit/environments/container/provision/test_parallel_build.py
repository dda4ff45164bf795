"""Several at once, what is shown meanwhile, and a lock file that many write."""

import threading
from pathlib import Path

from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.environments.container.provision.lockfile import Base, LockFile, now
from pytest_codexsandbox.environments.container.provision.parallel_build import Make, make_all
from pytest_codexsandbox.errors import HarnessError, Unavailable
from tests.unit.environments.container.provision.builders import ImagesWorld, a_distro, want


def test_different_bases_stand_side_by_side(images_world: ImagesWorld) -> None:
    together = threading.Barrier(2, timeout=10)

    def make() -> Make:
        def one(asked: ImageRequest) -> str:
            if asked.bubblewrap:
                together.wait()  # fails unless both are here at once
            return asked.what

        return one

    two = [a_distro("debian-a"), a_distro("debian-b")]
    found = make_all([want(image, bubblewrap=way) for image in two for way in (True, False)], make, jobs=2)
    assert list(found.values()) == ["debian-a (distro)", "debian-a (none)", "debian-b (distro)", "debian-b (none)"]


def test_one_that_fails_keeps_the_others(images_world: ImagesWorld) -> None:
    def make() -> Make:
        def one(asked: ImageRequest) -> str:
            if asked.image.name == "bad":
                raise Unavailable("no")
            if asked.image.name == "worse":
                raise ZeroDivisionError("ours")
            return "yes"

        return one

    found = make_all([want(a_distro(name)) for name in ("bad", "worse", "good")], make, jobs=1)
    assert [type(one) for one in found.values()] == [Unavailable, HarnessError, str]
    assert "ZeroDivisionError: ours" in str(found[want(a_distro("worse"))])


def test_a_lock_file_that_many_write_loses_nothing(tmp_path: Path) -> None:
    def keep(number: int) -> None:
        base = Base(name="n", provider="p", pin="x", image=f"sha256:{number}", tag="t", made=now())
        LockFile(tmp_path).keep_base(f"digest-{number}", "engine", base)

    threads = [threading.Thread(target=keep, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(LockFile(tmp_path).read().bases) == 12
    LockFile(tmp_path).forget({"sha256:3", "sha256:4"})
    assert set(LockFile(tmp_path).read().bases) == {f"digest-{number}" for number in range(12)} - {
        "digest-3",
        "digest-4",
    }
