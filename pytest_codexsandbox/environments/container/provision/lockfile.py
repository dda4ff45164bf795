"""Lock file: images.lock.json records which image fulfils which request, by the digest of its content.

An image's id is the digest of its content, so an entry is good on every engine that has the id, and on no other. An
image that an engine lost is made again from the same base, if that is available.
"""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from pytest_codexsandbox.errors import HarnessError, os_errors_as
from pytest_codexsandbox.system.locks import exclusive

NAME: Final = "images.lock.json"
_PATIENCE: Final = 30.0
T = TypeVar("T")


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """A base image from a provider."""

    name: str
    provider: str  # `pulled`, `bootstrapped`, `there`
    pin: str  # the registry's digest, or the archive's of the file system
    image: str  # its id
    tag: str  # our tag, on the engine
    made: str
    seconds: float = 0.0


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """An image that was made here."""

    name: str
    variant: str
    image: str
    base: str  # the pin of its base
    tag: str
    size: int
    made: str
    seconds: float = 0.0


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The last failed try to make an image."""

    name: str
    what: str
    why: str
    next_step: str
    short: str  # for plans
    when: float
    on_base: bool = False  # its base was there


class SourceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of a registry or an archive to a plan's question whether it is available."""

    ok: bool
    when: float
    short: str = ""  # for plans
    why: str = ""
    hung: bool = False


class Locked(msgspec.Struct, frozen=True, kw_only=True):
    """Content of the lock file, by digest of the request, then by engine."""

    version: int = 1
    bases: dict[str, dict[str, Base]] = {}
    images: dict[str, dict[str, Made]] = {}
    failures: dict[str, Failure] = {}  # by digest of the base
    answers: dict[str, SourceAnswer] = {}  # by question


class LockFile:
    def __init__(self, cache: Path) -> None:
        self.path = cache / NAME

    def read(self) -> Locked:
        """Returns the content. A file of another version, or a damaged one, pins nothing; images are then found by
        name.
        """
        try:
            found = msgspec.json.decode(self.path.read_bytes(), type=Locked)
        except (OSError, msgspec.MsgspecError):
            return Locked()
        return found if found.version == 1 else Locked()

    def change(self, change: Callable[[Locked], Locked]) -> None:
        """Changes the file under a lock, and replaces it in one step: a reader sees the old file or the new one."""
        next_step = "set CODEXSANDBOX_CACHE to a folder that you can write"
        with (
            os_errors_as(
                HarnessError, "the lock file of images cannot be written", where=self.path, next_step=next_step
            ),
            exclusive(self.path.with_name(f"{NAME}.lock"), "writes the lock file of images", patience=_PATIENCE),
        ):
            content = msgspec.json.format(msgspec.json.encode(change(self.read()), order="sorted"), indent=1)
            staging = self.path.with_name(f"{NAME}.{os.getpid()}")
            staging.write_bytes(content + b"\n")
            staging.replace(self.path)

    def keep_base(self, digest: str, engine: str, base: Base) -> None:
        def change(old: Locked) -> Locked:
            bases = {**old.bases, digest: {**old.bases.get(digest, {}), engine: base}}
            # A base arrived: a source that did not answer before may answer now, and is asked again.
            answers = {question: one for question, one in old.answers.items() if one.ok}
            return msgspec.structs.replace(old, bases=bases, answers=answers)

        self.change(change)

    def keep_image(self, digest: str, engine: str, made: Made, *, base_digest: str) -> None:
        def change(old: Locked) -> Locked:
            images = {**old.images, digest: {**old.images.get(digest, {}), engine: made}}
            failures = {key: one for key, one in old.failures.items() if key != base_digest}
            return msgspec.structs.replace(old, images=images, failures=failures)

        self.change(change)

    def keep_failure(self, digest: str, one: Failure) -> None:
        self.change(lambda old: msgspec.structs.replace(old, failures={**old.failures, digest: one}))

    def keep_answers(self, answers: Mapping[str, SourceAnswer], *, believed: float) -> None:
        """Adds answers, and drops those that are older than the new ones by more than `believed` seconds."""
        oldest = max((one.when for one in answers.values()), default=0.0) - believed

        def change(old: Locked) -> Locked:
            kept = {question: one for question, one in old.answers.items() if one.when >= oldest}
            return msgspec.structs.replace(old, answers={**kept, **answers})

        self.change(change)

    def forget(self, ids: set[str]) -> None:
        """Removes the entries of images that are gone from their engine."""

        def change(old: Locked) -> Locked:
            return msgspec.structs.replace(
                old,
                bases=_without(old.bases, lambda one: one.image in ids),
                images=_without(old.images, lambda one: one.image in ids),
            )

        self.change(change)


def _without(table: dict[str, dict[str, T]], gone: Callable[[T], bool]) -> dict[str, dict[str, T]]:
    kept = {digest: {engine: one for engine, one in row.items() if not gone(one)} for digest, row in table.items()}
    return {digest: row for digest, row in kept.items() if row}


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
