"""What is asked before a plan: of whom, how often, what is kept of it, and that nobody holds a plan up."""

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_codexsandbox.environments.bubblewrap import bwrap_provider
from pytest_codexsandbox.environments.container.provision import availability_queries, registry_ping
from pytest_codexsandbox.environments.container.provision.availability import ImageAvailability
from pytest_codexsandbox.environments.container.provision.availability_queries import QueryResult, inquire
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.environments.container.provision.lockfile import LockFile
from pytest_codexsandbox.environments.container.provision.registry_ping import YES, Heard
from pytest_codexsandbox.errors import HarnessError, NotResponding, Unavailable
from pytest_codexsandbox.model.container import BwrapSpec, ImageSpec
from tests.unit.environments.container.provision.builders import ImagesWorld, a_container, a_distro, want
from tests.unit.environments.container.provision.fake_engine import FakeEngine

HOME: Final = "unix:///home.sock"
ALPINE: Final = a_distro("alpine-3.22", pull="alpine:3.22", suite="", family="alpine")
ARCH: Final = a_distro("arch", pull="archlinux:base", suite="", family="arch")
SID: Final = a_distro("debian-sid", pull="debian:sid", suite="sid")
MINE: Final = a_distro("mine", pull="mine:1", suite="", reference="mine:1", bubblewrap="")
UNREACHED: Final = Heard(answer="no", short="no registry answered", why="no such host")


class World:
    """Engines by address, what registries and archives say, and who was asked what."""

    def __init__(self, images_world: ImagesWorld, patch: pytest.MonkeyPatch) -> None:
        self.images_world, self.asked = images_world, list[str]()
        self.engines: dict[str, Any] = {HOME: images_world.engine}
        self.registry: Callable[[str, str], Heard] = lambda host, reference: YES
        self.archive: Callable[[str], Heard] = lambda suite: YES
        patch.setattr(availability_queries, "default_host", lambda: HOME)
        patch.setattr("pytest_codexsandbox.environments.container.engine.default_host", lambda: HOME)
        patch.setattr(availability_queries, "Engine", self._engine)
        patch.setattr(registry_ping, "registry", self._registry)
        patch.setattr(registry_ping, "archive", self._archive)
        patch.setattr(registry_ping, "archives", lambda image: (f"http://deb.example/dists/{image.suite}/",))
        patch.setattr(registry_ping, "sources", self._sources)

    def inquire(self, *images: ImageSpec, bwraps: tuple[BwrapSpec, ...] = (), **words: Any) -> QueryResult:
        self.asked.clear()
        wants = [ImageRequest(image=image, bubblewrap=False) for image in images]
        return inquire(wants, bwraps, self.images_world.cache, **{"limit": 30.0, **words})

    def _engine(self, host: str, *, timeout: int) -> Any:
        found = self.engines.get(host)
        if found is None:
            raise HarnessError("the container engine does not answer", where=host, why="nobody is there")
        return _Opened(found)

    def _registry(self, host: str, reference: str, *, patience: float) -> Heard:
        self.asked.append(f"{reference} through {host}")
        return self.registry(host, reference)

    def _archive(self, addresses: tuple[str, ...], *, suite: str, patience: float) -> Heard:
        self.asked.append(suite)
        return self.archive(suite)

    def _sources(self, addresses: tuple[str, ...], *, patience: float) -> Heard:
        self.asked.append(addresses[0])
        return Heard(answer="no", short="no known archive has its sources", why="HTTP 404")


class _Opened:
    """An engine that is left."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __enter__(self) -> Any:
        return self._engine

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def world(images_world: ImagesWorld, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(images_world, monkeypatch)


def without(image: ImageSpec) -> ImageRequest:
    return ImageRequest(image=image, bubblewrap=False)


def answers(found: QueryResult) -> dict[str, str]:
    return {f"{one.kind} {one.name}".strip(): one.answer for one in found.asked}


def test_a_registry_is_asked_once_for_all_its_images_and_not_again_soon(world: World) -> None:
    world.registry = lambda host, reference: UNREACHED
    found = world.inquire(ALPINE, ARCH)
    assert world.asked == [f"alpine:3.22 through {HOME}"]
    assert answers(found) == {"engine": "yes", "registry docker.io": "no"}
    why = "no registry answered when queried just now (try again: codexsandbox images build NAME)"
    assert [found.foresight.why_not(without(image)) for image in (ALPINE, ARCH)] == [why, why]
    again = world.inquire(ALPINE, ARCH)
    assert world.asked == []
    assert again.foresight.why_not(without(ARCH)) == why
    assert answers(again) == answers(found)
    later = ImageAvailability(world.images_world.cache, now=time.time() + 30 * 60)
    assert "30 minutes ago" in later.why_not(without(ARCH))
    assert ImageAvailability(world.images_world.cache, now=time.time() + 2 * 3600).why_not(without(ARCH)) == ""


def test_no_server_is_asked_about_a_present_image(world: World) -> None:
    world.images_world.engine.registry["debian"] = "Debian"
    image = a_distro()
    world.images_world.images().provide(a_container(image, bwrap="none"))
    found = world.inquire(image)
    assert world.asked == []
    (engine,) = found.asked
    assert engine.has == ("debian-bookworm (none)",)


def test_an_image_that_an_engine_lost_is_looked_up_although_the_lock_file_names_it(world: World) -> None:
    world.images_world.engine.registry["debian"] = "Debian"
    world.images_world.images().provide(a_container(a_distro(), bwrap="none"))
    world.images_world.engine.forget()
    world.images_world.have_tools()
    world.registry = lambda host, reference: UNREACHED
    found = world.inquire(a_distro())
    assert world.asked == [f"debian:bookworm through {HOME}"]
    assert "no registry answered" in found.foresight.why_not(without(a_distro()))
    assert "apt install mmdebstrap" in found.foresight.why_not(without(a_distro()))


def test_a_base_that_was_pulled_by_hand_is_enough(world: World) -> None:
    world.registry = lambda host, reference: UNREACHED
    world.images_world.engine.keep("alpine:3.22", "content", {})
    found = world.inquire(ALPINE, ARCH)
    assert world.asked == [f"archlinux:base through {HOME}"]
    assert found.foresight.why_not(without(ALPINE)) == ""
    assert found.foresight.why_not(without(ARCH)) != ""


def test_an_answering_archive_makes_a_registry_unnecessary(world: World) -> None:
    world.registry = lambda host, reference: UNREACHED
    world.archive = lambda suite: (
        YES if suite == "sid" else Heard(answer="no", short=f"its archive has no suite {suite}", why="HTTP 404")
    )
    gone = a_distro("debian-gone", suite="gone")
    found = world.inquire(SID, gone)
    assert sorted(world.asked) == [f"debian:sid through {HOME}", "gone", "sid"]
    assert found.foresight.why_not(without(SID)) == ""
    parts = found.foresight.why_not(without(gone)).split("; ")
    assert [one.partition(" when ")[0] for one in parts] == [UNREACHED.short, world.archive("gone").short]
    assert parts[-1].endswith("just now (docker pull debian:bookworm)")


def test_a_registry_that_answers_is_enough(world: World) -> None:
    world.archive = lambda suite: Heard(answer="no", short="its archive could not be reached", why="refused")
    found = world.inquire(SID, ALPINE)
    assert [found.foresight.why_not(without(image)) for image in (SID, ALPINE)] == ["", ""]


def test_an_image_that_a_registry_has_not_says_nothing_about_its_others(world: World) -> None:
    world.registry = lambda host, reference: Heard(answer="no", short="no such image", why="unknown", alone=True)
    found = world.inquire(ALPINE, ARCH)
    assert found.foresight.why_not(without(ALPINE)).startswith("no such image ")
    assert found.foresight.why_not(without(ARCH)) == ""


def test_a_users_own_image_is_looked_for_on_the_engine_then_asked_for_each_time(world: World) -> None:
    world.registry = lambda host, reference: Heard(answer="no", short="no such image", why="unknown", alone=True)
    for _ in range(2):
        found = world.inquire(MINE)
        assert world.asked == [f"mine:1 through {HOME}"]
        assert found.foresight.why_not(without(MINE)).endswith("(docker pull mine:1)")
    world.images_world.engine.keep("mine:1", "content", {})
    found = world.inquire(MINE)
    assert world.asked == []
    assert found.foresight.why_not(without(MINE)) == ""


def test_an_unknown_answer_is_left_to_a_try_and_reported(world: World) -> None:
    world.registry = lambda host, reference: Heard(answer="unknown", why="not supported")
    for _ in range(2):
        found = world.inquire(ALPINE)
        assert len(world.asked) == 1
        assert answers(found)["registry docker.io"] == "unknown"
        assert found.foresight.why_not(without(ALPINE)) == ""


def test_without_an_engine_a_plan_says_what_is_not_known(world: World) -> None:
    world.engines.clear()
    found = world.inquire(ALPINE, SID, MINE)
    assert world.asked == ["sid"]
    assert answers(found) == {"engine": "unknown", "archive debian-sid": "yes", "registry docker.io": "unknown"}
    assert found.asked[0].why == "nobody is there"
    assert [found.foresight.why_not(without(image)) for image in (ALPINE, SID, MINE)] == ["", "", ""]
    assert found.engines == {}


@pytest.mark.parametrize(("second", "told"), [(UNREACHED, True), (YES, False)])
def test_if_the_usual_engine_is_gone_every_other_one_has_to_refuse(world: World, second: Heard, told: bool) -> None:
    world.engines = {"tcp://a": world.images_world.engine, "tcp://b": world.images_world.engine}
    world.registry = lambda host, reference: UNREACHED if host == "tcp://a" else second
    found = world.inquire(ALPINE, hosts=("tcp://a", "tcp://b"))
    assert sorted(world.asked) == ["alpine:3.22 through tcp://a", "alpine:3.22 through tcp://b"]
    assert bool(found.foresight.why_not(without(ALPINE))) is told


def test_a_failed_try_is_not_asked_about_and_a_new_image_asks_every_server_again(world: World) -> None:
    world.registry = lambda host, reference: UNREACHED
    with pytest.raises(Unavailable):
        world.images_world.images().provide(a_container(ALPINE, bwrap="none"))
    found = world.inquire(ALPINE)
    assert world.asked == []
    assert f"{UNREACHED.short}, just now" in found.foresight.why_not(without(ALPINE))
    world.inquire(ARCH)
    assert LockFile(world.images_world.cache).read().answers
    world.images_world.engine.registry["debian"] = "Debian"
    world.images_world.images().provide(a_container(bwrap="none"))
    assert not LockFile(world.images_world.cache).read().answers
    world.inquire(ARCH)
    assert len(world.asked) == 1


def test_a_bubblewrap_without_sources_is_reported(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = BwrapSpec(name="0.1.0", source="static", version="0.1.0", sha256={"source": "0" * 64})
    monkeypatch.setattr(
        bwrap_provider, "sources", lambda spec, cache: ("http://deb.example/bubblewrap_0.1.0.orig.tar.xz",)
    )
    found = world.inquire(bwraps=(spec,))
    assert answers(found)["sources 0.1.0"] == "no"
    assert "CODEXSANDBOX_ARCHIVES" in found.no_sources["0.1.0"]


def test_a_cache_that_cannot_be_written_is_no_reason_not_to_plan(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    world.images_world.cache = tmp_path / "file" / "cache"
    world.registry = lambda host, reference: UNREACHED
    assert "no registry answered" in world.inquire(ALPINE).foresight.why_not(without(ALPINE))


def test_a_base_that_was_pulled_by_hand_outweighs_a_failed_pull_and_not_a_failed_build(world: World) -> None:
    with pytest.raises(Unavailable):
        world.images_world.images().provide(a_container(ALPINE, bwrap="none"))
    engine = world.images_world.engine
    engine.keep("alpine:3.22", "content", {})
    assert world.inquire(ALPINE).foresight.why_not(without(ALPINE)) == ""
    engine.build_says = "ERROR: unable to select packages:\n"
    with pytest.raises(Unavailable):
        world.images_world.images().provide(a_container(ALPINE, bwrap="none"))
    assert re.search(r"package, just now\b", world.inquire(ALPINE).foresight.why_not(without(ALPINE)))


def test_one_engine_that_has_the_image_is_enough(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    has, lacks = world.images_world.engine, FakeEngine()
    has.registry["debian"] = "Debian"
    world.images_world.images().provide(a_container(bwrap="none"))
    for hosts in (("tcp://a", "tcp://b"), ("tcp://b", "tcp://a")):
        world.engines = {"tcp://a": has, "tcp://b": lacks}
        found = world.inquire(a_distro(), hosts=hosts)
        assert world.asked == []
        assert found.foresight.why_not(without(a_distro())) == ""


def test_another_proxy_is_another_question(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for proxy in ("http://a.example", "http://b.example"):
        monkeypatch.setenv("http_proxy", proxy)
        world.inquire(SID)
        assert "sid" in world.asked
    world.inquire(SID)
    assert world.asked == []


# ---- whoever hangs
def test_an_engine_that_is_not_there_is_named_with_its_words(world: World) -> None:
    found = availability_queries.silent_engines((HOME, "unix:///gone.sock"))
    assert list(found) == ["unix:///gone.sock"]
    assert found["unix:///gone.sock"].where == "unix:///gone.sock"


def test_an_engine_that_says_nothing_is_silent_after_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability_queries, "NEAR", 0.2)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "s"))
        deaf.listen()
        (fault,) = availability_queries.silent_engines((f"unix://{tmp_path / 's'}",)).values()
    assert "no answer within" in fault.why or "it hangs" in fault.why
    assert fault.next_step


def test_an_engine_that_misses_the_first_limit_is_asked_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []

    def engine(host: str, *, timeout: int) -> Any:
        tries.append(host)
        if len(tries) == 1:
            raise NotResponding("the container engine does not answer", where=host)
        return _Opened(world.images_world.engine)

    monkeypatch.setattr(availability_queries, "Engine", engine)
    assert availability_queries.silent_engines((HOME,), limit=30.0) == {}
    assert tries == [HOME, HOME]


@pytest.fixture(params=["silent", "slow"])
def hanging(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A socket where somebody accepts and never answers, or sends one byte after the other without an end."""
    path = tmp_path / "s"
    over = threading.Event()
    held: list[socket.socket] = []

    def serve(server: socket.socket) -> None:
        while True:
            try:
                held.append(server.accept()[0])
            except OSError:
                return
            if request.param == "slow":
                threading.Thread(target=drip, args=(held[-1],), daemon=True).start()

    def drip(one: socket.socket) -> None:
        try:
            one.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not over.wait(0.1):
                one.sendall(b"x")
        except OSError:
            return

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(16)
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        yield f"unix://{path}"
        over.set()
        server.shutdown(socket.SHUT_RDWR)
    for one in held:
        one.close()
    thread.join(10)


def test_an_engine_that_never_answers_holds_no_plan_up(
    hanging: str, images_world: ImagesWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", hanging)
    begun = time.monotonic()
    found = inquire([want(ALPINE)], (), images_world.cache, limit=1.0)
    assert time.monotonic() - begun < 30, "it answers never"
    assert answers(found) == {"engine": "unknown", "registry docker.io": "unknown"}
    assert found.foresight.why_not(want(ALPINE)) == ""


@pytest.mark.parametrize("kind", ["registry", "archive"])
def test_a_registry_or_an_archive_that_never_answers_is_not_there_for_now(
    world: World, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(availability_queries, "_ENGINES", 60.0)  # the engine has all the time that it wants
    never = threading.Event()

    def hangs(*_: object) -> Heard:
        never.wait()
        return YES

    world.registry, world.archive = (hangs, lambda suite: YES) if kind == "registry" else (lambda *_: UNREACHED, hangs)
    image = ALPINE if kind == "registry" else SID
    begun = time.monotonic()
    found = world.inquire(image, limit=1.0)
    assert time.monotonic() - begun < 30
    never.set()
    assert "in time" in found.foresight.why_not(without(image))
    (silent,) = [one for one in found.asked if one.kind == kind]
    assert silent.why.startswith("no answer within ")
    soon = ImageAvailability(world.images_world.cache, now=time.time() + 20 * 60)
    assert "in time" not in soon.why_not(without(image)), "nobody said it, so it is not believed for long"


def test_an_engine_whose_client_gives_up_just_before_the_limit_gets_the_same_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both limits are equal: which of them comes first differs from run to run."""

    def hangs(host: str, patience: float) -> bool:
        raise NotResponding(
            "the container engine does not answer", where=host, why="it hangs", next_step="restart the engine"
        )

    monkeypatch.setattr(availability_queries, "_greet", hangs)
    (fault,) = availability_queries.silent_engines((HOME,)).values()
    assert "no answer within" in fault.why
    assert "DOCKER_HOST=" in fault.next_step
