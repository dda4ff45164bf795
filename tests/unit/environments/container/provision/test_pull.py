"""A pull through an engine: its progress, its digest, and its refusals in words."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_codexsandbox.environments.container.provision.pull import bounded, pin, pull
from pytest_codexsandbox.errors import HarnessError, InputError, Unavailable
from pytest_codexsandbox.system.progress import Progress


class Api:
    timeout = 60

    def ping(self) -> bool:
        return True

    def inspect_image(self, reference: str) -> dict[str, Any]:
        return {"Id": "sha256:1", "RepoDigests": ["other@sha256:3", "debian@sha256:2"]}


class Pulls:
    """An engine that says these events."""

    host = "unix:///fake.sock"

    def __init__(self, *events: dict[str, Any], fault: Exception | None = None) -> None:
        self.api, self.events, self.fault = Api(), events, fault

    @contextmanager
    def asked(self, what: str) -> Iterator[None]:
        yield

    def __call__(self, *_: Any) -> Iterator[dict[str, Any]]:
        if self.fault is not None:
            raise self.fault
        yield from self.events


class Seen(Progress):
    def __init__(self) -> None:
        self.stages: list[tuple[str, int, int]] = []

    def stage(self, task: str, doing: str, done: int = 0, total: int = 0) -> None:
        self.stages.append((doing, done, total))


def pulled(monkeypatch: pytest.MonkeyPatch, engine: Pulls, watch: Progress | None = None) -> str:
    monkeypatch.setattr("pytest_codexsandbox.environments.container.provision.pull._events", engine)
    asked: Any = engine
    return pull(asked, "debian:bookworm", what="debian", watch=watch or Progress())


def test_the_registrys_digest_comes_back_and_layers_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    def layer(name: str, current: int) -> dict[str, Any]:
        return {"status": "Downloading", "id": name, "progressDetail": {"current": current, "total": 10_000_000}}

    seen = Seen()
    assert pulled(monkeypatch, Pulls(layer("a", 1), layer("b", 2), {"status": "done"}), seen) == "debian@sha256:2"
    assert seen.stages == [
        ("pulling 10 MB", 1, 10_000_000),
        ("pulling 20 MB", 3, 20_000_000),
        ("pulling 20 MB", 3, 20_000_000),
    ]


@pytest.mark.parametrize(
    ("said", "why", "next_step"),
    [
        ('Get "https://r/v2/": dial tcp: lookup r on 1.2.3.4:53: no such host', "no registry answered", "https_proxy"),
        ("net/http: request canceled while waiting (Client.Timeout exceeded)", "no registry answered", "https_proxy"),
        ("manifest for debian:nosuch not found: manifest unknown", "the registry has no such image", ""),
        (
            "pull access denied for x, repository does not exist or may require 'docker login'",
            "requires a login",
            "login",
        ),
        ("toomanyrequests: You have reached your pull rate limit", "no more pulls without a login", "docker login"),
        ("write /var/lib/docker/x: no space left on device", "the engine's disk is full", "docker system df"),
        ("something nobody has seen", "something nobody has seen", ""),
    ],
)
@pytest.mark.parametrize("late", [True, False])
def test_a_refusal_is_called_by_its_name(
    said: str, why: str, next_step: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Pulls({"error": said}) if late else Pulls(fault=HarnessError("the engine did not pull", why=said))
    with pytest.raises(Unavailable, match="debian:bookworm") as problem:
        pulled(monkeypatch, engine)
    assert why in problem.value.why
    assert next_step in problem.value.next_step


def test_an_engine_that_is_gone_is_no_refusal_of_a_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Pulls(fault=HarnessError("the engine did not pull", why="connection refused"))

    def gone() -> bool:
        raise HarnessError("the container engine does not answer")

    monkeypatch.setattr(engine.api, "ping", gone)
    with pytest.raises(HarnessError, match="did not pull"):
        pulled(monkeypatch, engine)


def test_a_pull_that_does_not_end_is_abandoned() -> None:
    closed: list[bool] = []

    def events() -> Iterator[dict[str, Any]]:
        try:
            while True:
                yield {}
        finally:
            closed.append(True)

    with pytest.raises(HarnessError, match="pull it") as problem:
        list(bounded(events(), "pull it", limit=0.01))
    assert "after 0 minutes" in problem.value.why
    assert closed


def test_an_image_without_a_registry_is_pinned_by_its_own_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Any = Pulls()
    monkeypatch.setattr(engine.api, "inspect_image", lambda reference: {"Id": "sha256:1", "RepoDigests": None})
    assert pin(engine, "debian:bookworm") == "sha256:1"


def test_a_name_that_is_none_reaches_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Any = Pulls()
    with pytest.raises(InputError):
        pull(engine, "--privileged", what="x", watch=Progress())
