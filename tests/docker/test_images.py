"""Images for real: pulled from a registry, bootstrapped from an archive, pinned, shared, killed and removed."""

import io
import os
import platform
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.environments.container.provision import image_inventory, image_request
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.environments.container.provision.lockfile import LockFile
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.guest.worlds import new_word
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.container import ImageSpec
from pytest_codexsandbox.registry import cache_folder
from tests.docker.registry import Registry, registry


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as made:
        yield made


@pytest.fixture(scope="module")
def file_system() -> bytes:
    """Small, and with a shell: what is in our `busybox`, wherever its base came from."""
    with Engine() as engine:
        image = Images(engine, cache_folder()).make(ImageRequest(image=SHIPPED.image("busybox"), bubblewrap=False))
        container = engine.create(image, ("/bin/sh",), {"NetworkMode": "none"})
        try:
            return b"".join(engine.api.export(container))
        finally:
            engine.remove(container)


@pytest.fixture
def word(engine: Engine) -> Iterator[str]:
    """A name that no other test has; what is called so is removed."""
    made = f"test-{new_word()}".lower()
    yield made
    clear(engine, made)


def clear(engine: Engine, word: str) -> None:
    for one in sorted(image_inventory.held(engine), key=lambda one: one.is_base):
        if one.name == word:
            engine.api.remove_image(one.tag or one.id, force=True)


@pytest.fixture
def published(file_system: bytes, word: str, engine: Engine) -> Iterator[Registry]:
    if not engine.host.startswith("unix://"):
        pytest.skip("the engine is elsewhere: it cannot reach a registry on this machine's loopback")
    with registry() as made:
        made.publish(word, "1", marked(file_system, word), machine=platform.machine())
        yield made
        clear(engine, word)
        for one in engine.api.images(filters={"reference": f"{made.address}/*"}):
            engine.api.remove_image(one["Id"], force=True)


def marked(file_system: bytes, mark: str) -> bytes:
    """With one more file: no two tests have images in common."""
    packed = io.BytesIO(file_system)
    with tarfile.open(fileobj=packed, mode="a") as archive:
        archive.addfile(tarfile.TarInfo(f"./{mark}"))
    return packed.getvalue()


def of_registry(made: Registry, word: str, tag: str = "1") -> ImageSpec:
    return ImageSpec(name=word, family="busybox", pull=f"{made.address}/{word}:{tag}", bubblewrap="")


def said(engine: Engine, image: str, script: str) -> str:
    """What a command in it prints, as root and without a network."""
    container = engine.create(image, ("/bin/sh", "-c", script), {"NetworkMode": "none"})
    try:
        engine.start(container)
        engine.api.wait(container, timeout=60)
        return str(engine.api.logs(container).decode())
    finally:
        engine.remove(container)


# ---- pulled
def test_it_is_pulled_from_a_registry_and_pinned_by_its_digest(
    engine: Engine, published: Registry, word: str, tmp_path: Path
) -> None:
    want = ImageRequest(image=of_registry(published, word), bubblewrap=False)
    image = Images(engine, tmp_path).make(want)
    base = next(iter(next(iter(LockFile(tmp_path).read().bases.values())).values()))
    digest = next(path.rpartition("/")[2] for path in published.documents if "/manifests/sha256:" in path)
    assert base.provider == "pulled"
    assert base.pin == f"{published.address}/{word}@{digest}"
    assert said(engine, image, "id -u agent; stat -c %a /tmp; cat /etc/passwd").startswith("1000\n1777\nroot:x:0:0:")


def test_a_pinned_image_is_pulled_by_its_digest_until_an_update(
    engine: Engine, published: Registry, word: str, tmp_path: Path, file_system: bytes
) -> None:
    want = ImageRequest(image=of_registry(published, word), bubblewrap=False)
    first = Images(engine, tmp_path).make(want)
    pin = next(iter(next(iter(LockFile(tmp_path).read().bases.values())).values())).pin
    published.publish(word, "1", marked(file_system, f"{word}-newer"), machine=platform.machine())  # the tag moves on
    for one in image_inventory.held(engine):  # and the engine is cleaned
        if one.name == word:
            engine.api.remove_image(one.tag)
    engine.api.remove_image(f"{published.address}/{word}:1", force=True)
    published.asked.clear()
    Images(engine, tmp_path).make(want)
    assert any("/blobs/" in path for path in published.asked), "it was pulled again"
    assert f"/v2/{word}/manifests/1" not in published.asked, "not by its name"
    assert next(iter(next(iter(LockFile(tmp_path).read().bases.values())).values())).pin == pin
    newer = Images(engine, tmp_path, update=True).make(want)
    assert f"/v2/{word}/manifests/1" in published.asked
    assert newer != first
    assert next(iter(next(iter(LockFile(tmp_path).read().bases.values())).values())).pin != pin


def test_a_registry_without_the_image_differs_from_an_unreachable_registry(
    engine: Engine, published: Registry, word: str, tmp_path: Path
) -> None:
    with pytest.raises(Unavailable, match="cannot be pulled") as problem:
        Images(engine, tmp_path).make(ImageRequest(image=of_registry(published, word, "nosuch"), bubblewrap=False))
    assert "no such image" in problem.value.why
    gone = ImageSpec(name=word, family="busybox", pull=f"127.0.0.1:9/{word}:1", bubblewrap="")
    with pytest.raises(Unavailable, match="cannot be pulled") as problem:
        Images(engine, tmp_path).make(ImageRequest(image=gone, bubblewrap=False))
    assert "no registry answered" in problem.value.why
    assert "connection refused" in problem.value.why


# ---- bootstrapped
@pytest.mark.parametrize("bubblewrap", [True, False])
def test_debian_has_what_it_is_said_to_have(engine: Engine, bubblewrap: bool) -> None:
    image = Images(engine, cache_folder()).make(
        ImageRequest(image=SHIPPED.image("debian-bookworm"), bubblewrap=bubblewrap)
    )
    told = said(
        engine,
        image,
        "id -u agent; stat -c %a /tmp; stat -c %U /home/agent; . /etc/os-release; echo $VERSION_CODENAME;"
        " ls /etc/ssl/certs/ca-certificates.crt;"
        " if command -v bwrap >/dev/null; then bwrap --version; else echo none; fi",
    ).splitlines()
    assert told[:5] == ["1000", "1777", "agent", "bookworm", "/etc/ssl/certs/ca-certificates.crt"]
    assert told[-1] == ("bubblewrap 0.8.0" if bubblewrap else "none")


def test_nothing_of_the_machine_that_made_it_is_in_it(engine: Engine) -> None:
    """Packages and keys come from where the image says; that they can be had, its second stage has shown."""
    image = Images(engine, cache_folder()).make(ImageRequest(image=SHIPPED.image("debian-bookworm"), bubblewrap=False))
    told = said(engine, image, "cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null; ls -a /root /tmp")
    assert "bookworm" in told
    assert str(cache_folder()) not in told


def test_a_ready_image_costs_one_question(engine: Engine) -> None:
    images, want = (
        Images(engine, cache_folder()),
        ImageRequest(image=SHIPPED.image("debian-bookworm"), bubblewrap=False),
    )
    image = images.make(want)
    asked: list[str] = []
    look = engine.image_id

    def counted(reference: str) -> str:
        asked.append(reference)
        return look(reference)

    engine.image_id = counted  # type: ignore[method-assign]
    assert images.make(want) == image
    assert asked == [image]


# ---- many, killed, removed
_SCRIPT = """
import sys
from pathlib import Path
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.system.progress import progress_on
from pytest_codexsandbox.model.container import ImageSpec
image_request._GROUND += sys.argv[4]
with Engine() as engine, progress_on(sys.stderr) as watch:
    spec = ImageSpec(name=sys.argv[1], family="busybox", pull=sys.argv[2], bubblewrap="")
    print(Images(engine, Path(sys.argv[3]), watch=watch).make(image_request.ImageRequest(image=spec, bubblewrap=False)))
"""


def another(word: str, made: Registry, cache: Path, script: str = "") -> "subprocess.Popen[str]":
    argv = (sys.executable, "-c", _SCRIPT, word, f"{made.address}/{word}:1", str(cache), script)
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path.cwd())


def test_several_processes_make_an_image_once(published: Registry, word: str, tmp_path: Path) -> None:
    several = [another(word, published, tmp_path, "sleep 1\n") for _ in range(3)]
    told = [one.communicate(timeout=120) for one in several]
    assert [one.returncode for one in several] == [0, 0, 0], told
    assert len({out for out, _ in told}) == 1
    errors = "".join(error for _, error in told)
    assert errors.count(": pulled, packages added") == 1
    assert errors.count("waiting for it") == 2


def test_a_build_ends_with_who_wanted_it(engine: Engine, published: Registry, word: str, tmp_path: Path) -> None:
    builder = another(word, published, tmp_path, "sleep 600\n")
    try:
        container = _until(lambda: _building(engine, "sleep 600"), "the build began")
        os.kill(builder.pid, signal.SIGKILL)
        _until(lambda: not engine.state(container), "its container is gone")
    finally:
        builder.kill()
        builder.communicate()
    assert not [one for one in image_inventory.held(engine) if one.name == word and not one.is_base]
    image = Images(engine, tmp_path).make(ImageRequest(image=of_registry(published, word), bubblewrap=False))
    assert engine.image_id(image), "its lock was given back"


def _building(engine: Engine, script: str) -> str:
    found = engine.api.containers(filters={"status": "running"})
    return next((one["Id"] for one in found if script in str(engine.api.inspect_container(one["Id"])["Args"])), "")


def _until(holds: Callable[[], object], what: str) -> str:
    limit = time.monotonic() + 60
    while not (found := holds()):
        assert time.monotonic() < limit, f"after 60 s it was not so: {what}"
        time.sleep(0.05)
    return str(found)


def test_images_of_others_are_not_removed(engine: Engine, published: Registry, word: str, tmp_path: Path) -> None:
    want = ImageRequest(image=of_registry(published, word), bubblewrap=False)
    image = Images(engine, tmp_path).make(want)
    gone = list(image_inventory.prune(engine, tmp_path, lambda one: one.name != word))
    assert {one.what.partition(":")[0] for one in gone} == {f"codexsandbox/{word}", f"codexsandbox/base-{word}"}
    assert not any(one.why_not for one in gone)
    assert not engine.image_id(image)
    assert engine.image_id(want.image.pull), "what was pulled is whose it is"
    assert not LockFile(tmp_path).read().images
    assert image_request.digest(want) not in {one.digest for one in image_inventory.held(engine)}


def test_one_that_a_container_uses_stays(engine: Engine, published: Registry, word: str, tmp_path: Path) -> None:
    image = Images(engine, tmp_path).make(ImageRequest(image=of_registry(published, word), bubblewrap=False))
    container = engine.create(image, ("/bin/sh",), {"NetworkMode": "none"})
    try:
        gone = list(image_inventory.prune(engine, tmp_path, lambda one: one.name != word))
        assert [one.what for one in gone if one.why_not and "base-" not in one.what]
        assert engine.image_id(image)
    finally:
        engine.remove(container)
