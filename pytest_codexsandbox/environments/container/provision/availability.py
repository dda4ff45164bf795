"""Availability: whether an image can be obtained here, judged for plans, which start nothing.

It is judged by the data, by the installed tools, by what the engine has (without an engine, by the lock file), by why
the last try failed, and by the answers of registries and archives. availability_queries.py collects those answers.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.environments.container.provision import availability_questions, bootstrap, image_request
from pytest_codexsandbox.environments.container.provision.availability_questions import Question
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.environments.container.provision.lockfile import Failure, Locked, LockFile, SourceAnswer
from pytest_codexsandbox.model.container import ImageSpec
from pytest_codexsandbox.registry import data_folder

BELIEVED: Final = 24 * 3600.0  # seconds: after that a failed try says nothing about today
_A_NO: Final = 3600.0  # asking is cheap, and networks come back
_A_YES: Final = 600.0  # and for a source that did not answer


class EngineAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """Answers of the engines that were queried. `engines`: those that would make images; () if none answered."""

    engines: tuple[str, ...] = ()
    standing: dict[str, str] = {}  # by Wanted.what: `ready`, `begun` (its base is there), or nothing
    arch: str = ""


class ImageAvailability:
    """Availability of images at the time of its creation. `seen`: None if no engine was queried."""

    def __init__(self, cache: Path, *, now: float = 0.0, seen: EngineAnswers | None = None) -> None:
        self._cache, self._now, self._seen = cache, now or time.time(), seen or EngineAnswers()
        self._engines = self._seen.engines or (() if seen else (_usual_engine(),))
        self._locked: Locked = LockFile(cache).read()
        self._answers = {key: one for key, one in self._locked.answers.items() if self._is_fresh(one)}
        self._told: dict[ImageRequest, str] = {}

    def why_not(self, want: ImageRequest) -> str:
        """Returns why the image is unavailable; "" if it is present or can be tried."""
        if want not in self._told:
            self._told[want] = self._why_not(want)
        return self._told[want]

    def answered(self, question: Question) -> SourceAnswer | None:
        return self._answers.get(question.key)

    def learn(self, answers: Mapping[str, SourceAnswer]) -> None:
        """Adds answers that arrived later."""
        self._answers.update(answers)
        self._told.clear()

    def questions(self, want: ImageRequest) -> Iterator[Question]:
        """Yields the questions whose answers decide whether the image is available; none if that is known already."""
        if self._known(want) is None:
            image = want.image
            if image.pull:
                yield from (availability_questions.of_registry(image, engine) for engine in self._engines)
            if image.suite and self._lack(image) is None and (asked := availability_questions.of_archive(image)):
                yield asked

    def is_settled(self, want: ImageRequest) -> bool:
        """Checks whether availability is known without asking a registry or an archive."""
        return self._known(want) is not None

    def words(self, question: Question) -> str:
        """Returns why a question's answer was no; "" if it was yes or is missing."""
        answer = self._answers.get(question.key)
        return self._words(answer) if answer and not answer.ok else ""

    def ago(self, when: float) -> str:
        minutes = int(self._now - when) // 60
        return (
            f"{minutes // 60} hours ago" if minutes >= 120 else f"{minutes} minutes ago" if minutes > 1 else "just now"
        )

    # ---- inside
    def _why_not(self, want: ImageRequest) -> str:
        known = self._known(want)
        if known is not None:
            return known
        image = want.image
        pulled = self._not_pulled(image) if image.pull else None
        if pulled == "":
            return ""
        lack = self._lack(image) if image.suite or not pulled else None
        asked = availability_questions.of_archive(image) if image.suite and lack is None else None
        refused = self._answers.get(asked.key) if asked else None
        if image.suite and lack is None and (refused is None or refused.ok):
            return ""
        reasons = [pulled or "", str(lack or ""), self._words(refused) if refused else ""]
        return "; ".join(filter(None, reasons)) + (_again(image, "NAME") if pulled or refused else "")

    def _known(self, want: ImageRequest) -> str | None:
        """Returns why the image is unavailable, or "", as far as is known without asking; None if answers decide it."""
        image = want.image
        if not image.reference:
            if want.bubblewrap and not image.bubblewrap:
                return f"{image.name} has no bubblewrap of its own"
            if self._is_there(want, "ready"):
                return ""
            begun = self._is_there(want, "begun")
            failed = self._locked.failures.get(image_request.base_digest(image))
            if failed is not None and self._is_believed(failed, image) and not (begun and not failed.on_base):
                return f"{failed.short}, {self.ago(failed.when)}{_again(image, image.name)}"
            return "" if begun or self._is_kept(image) else None
        return None if self._engines and not self._is_there(want, "ready") else ""

    def _is_there(self, want: ImageRequest, how: str) -> bool:
        if self._seen.engines:
            return self._seen.standing.get(want.what) == how
        if how == "begun":
            return image_request.base_digest(want.image) in self._locked.bases
        return image_request.digest(want) in self._locked.images

    def _is_kept(self, image: ImageSpec) -> bool:
        return bool(image.suite) and bootstrap.archive(image, self._cache) is not None and self._lack(image) is None

    def _lack(self, image: ImageSpec) -> object:
        return bootstrap.lacking(image, self._cache, arch=self._seen.arch)

    def _not_pulled(self, image: ImageSpec) -> str:
        """Returns why no engine can pull the image; "" unless the answer to every engine was no."""
        found = [self._no(image, engine) for engine in self._engines]
        return self._words(found[0]) if found and found[0] and all(found) else ""

    def _no(self, image: ImageSpec, engine: str) -> SourceAnswer | None:
        keys = (availability_questions.of_registry(image, engine).key, availability_questions.image_key(image, engine))
        return next((one for key in keys if (one := self._answers.get(key)) and not one.ok), None)

    def _words(self, no: SourceAnswer) -> str:
        return f"{no.short} when queried {self.ago(no.when)}"

    def _is_believed(self, failed: Failure, image: ImageSpec) -> bool:
        """Checks whether a failure is recent enough. If a user has no command to try again, it expires sooner."""
        return 0 <= self._now - failed.when < (BELIEVED if _again(image, "") else _A_YES)

    def _is_fresh(self, one: SourceAnswer) -> bool:
        return 0 <= self._now - one.when < (_A_YES if one.ok or one.hung else _A_NO)


def _again(image: ImageSpec, name: str) -> str:
    """Returns the command that tries again; "" if there is none. Our own command knows only the shipped
    distributions.
    """
    if image.reference or not (data_folder("matrix") / "distros" / f"{image.name}.toml").is_file():
        return f" (docker pull {image.pull})" if image.pull else ""
    return f" (try again: codexsandbox images build {name})"


def _usual_engine() -> str:
    from pytest_codexsandbox.environments.container.engine import default_host  # its package may be missing

    return default_host()
