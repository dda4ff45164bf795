"""Pull: gets a base from a registry through the engine, which downloads with its own proxy and mirrors."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import docker.auth

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.environments.container.provision.build_errors import of_pull
from pytest_codexsandbox.errors import HarnessError, Unavailable
from pytest_codexsandbox.system.progress import Progress

SILENCE: Final = 180  # seconds without a word of the engine
LIMIT: Final = 1800.0


def pull(engine: Engine, reference: str, *, what: str, watch: Progress) -> str:
    """Pulls an image and returns its pin, by the registry's digest: `name@sha256:…`."""
    asked = image_request.reference(reference, where=what)
    repository, tag = _parted(asked)
    layers: dict[str, tuple[int, int]] = {}
    try:
        with engine.asked(f"pull {asked}"):
            for event in bounded(_events(engine, repository, tag), f"pull {asked}"):
                if "error" in event:
                    raise of_pull(asked, " ".join(str(event["error"]).split()))
                _progress(event, layers, what, watch)
    except Unavailable as problem:
        raise of_pull(asked, problem.why) if "cannot be pulled" not in problem.what else problem from problem
    except HarnessError as problem:
        if "hangs" in problem.why or not engine_answers(engine):
            raise
        raise of_pull(asked, problem.why) from problem
    return pin(engine, asked)


def _events(engine: Engine, repository: str, tag: str) -> Iterator[dict[str, Any]]:
    """Yields the events of a pull, as the SDK's own pull does, which has no time limit."""
    api = engine.api
    login = docker.auth.get_config_header(api, docker.auth.resolve_repository_name(repository)[0])
    answer = api._post(
        api._url("/images/create"),
        params={"tag": tag, "fromImage": repository},
        stream=True,
        timeout=SILENCE,
        headers={"X-Registry-Auth": login} if login else {},
    )
    with answer:
        api._raise_for_status(answer)
        yield from api._stream_helper(answer, decode=True)


def pin(engine: Engine, reference: str) -> str:
    """Returns the registry's digest of an image, or the image's own id without a registry."""
    with engine.asked(f"inspect the image {reference}"):
        found = engine.api.inspect_image(reference)
    repository = reference.partition("@")[0]
    digests = [str(one) for one in found.get("RepoDigests") or ()]
    name = _parted(repository)[0]
    named = [one for one in digests if one.partition("@")[0].endswith(name) or name.endswith(one.partition("@")[0])]
    return (named or digests or [str(found["Id"])])[0]


def engine_answers(engine: Engine) -> bool:
    try:
        with engine.asked("answer"):
            engine.api.ping()
    except (HarnessError, Unavailable):
        return False
    return True


@contextmanager
def patient(engine: Engine, seconds: int) -> Iterator[None]:
    """Allows a longer time between two events of the engine than for a simple answer."""
    before, engine.api.timeout = engine.api.timeout, seconds
    try:
        yield
    finally:
        engine.api.timeout = before


def bounded(events: Any, doing: str, limit: float = LIMIT) -> Iterator[dict[str, Any]]:
    """Yields the events within the time limit, then raises HarnessError; closes the connection, which stops the
    engine.
    """
    begun = time.monotonic()
    try:
        for event in events:
            if time.monotonic() - begun > limit:
                raise HarnessError(
                    f"the container engine did not {doing}", why=f"not finished after {limit / 60:.0f} minutes"
                )
            yield event
    finally:
        close = getattr(events, "close", None)
        if close is not None:
            close()


def _progress(event: dict[str, Any], layers: dict[str, tuple[int, int]], what: str, watch: Progress) -> None:
    sizes = event.get("progressDetail") or {}
    if event.get("status") == "Downloading" and sizes.get("total"):
        layers[str(event.get("id"))] = (int(sizes.get("current", 0)), int(sizes["total"]))
    done, total = (sum(column) for column in zip((0, 0), *layers.values(), strict=True)) if layers else (0, 0)
    watch.stage(what, f"pulling {total / 1e6:,.0f} MB" if total else "pulling", done, total)


def _parted(reference: str) -> tuple[str, str]:
    """Splits `host:5000/name:tag` into name and tag; a digest replaces a tag."""
    if "@" in reference:
        name, _, digest = reference.partition("@")
        return name, digest
    name, colon, tag = reference.rpartition(":")
    return (name, tag) if colon and "/" not in tag else (reference, "latest")
