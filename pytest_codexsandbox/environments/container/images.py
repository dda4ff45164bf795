"""Images: cached, pulled, or bootstrapped from the distribution's archive; then one second stage for all.

A lock file pins each new image by its digest. So every run measures in the same image until a user asks for a newer
one. Many workers may want one image at once: one makes it, the others wait and say so.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.provision import bootstrap, image_request
from pytest_codexsandbox.environments.container.provision.build import build, give
from pytest_codexsandbox.environments.container.provision.build_errors import short
from pytest_codexsandbox.environments.container.provision.build_turns import turn
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.environments.container.provision.lockfile import Base, Failure, LockFile, Made, now
from pytest_codexsandbox.environments.container.provision.pull import pin, pull
from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, Unavailable
from pytest_codexsandbox.model.container import ContainerSpec, ImageSpec
from pytest_codexsandbox.system.progress import Progress

PROVIDERS: Final = ("pull", "bootstrap")
_first: dict[tuple[str, str], str] = {}  # of a user's own images: (engine, name) → the first image under that name
Standing = Literal["ready", "begun", ""]  # begun: its base is there


class Images:
    """Images of one engine. `update`: makes pinned images anew."""

    def __init__(
        self,
        engine: Engine,
        cache: Path,
        *,
        watch: Progress | None = None,
        providers: tuple[str, ...] = PROVIDERS,
        update: bool = False,
    ) -> None:
        self._engine, self._cache, self._watch = engine, cache.absolute(), watch or Progress()
        self._providers, self._update = providers, update
        self.lock = LockFile(cache)

    def close(self) -> None:
        self._engine.close()

    def provide(self, spec: ContainerSpec) -> str:
        """Returns the id of the image in which a container is to run."""
        return self.make(image_request.wanted(spec))

    def make(self, want: ImageRequest) -> str:
        if want.image.reference:
            return self._users_own(want.image)
        found = "" if self._update else self.cached(want)
        if found:
            return found
        if want.bubblewrap and not want.image.bubblewrap:
            raise Unavailable(
                f"{want.image.name} has no bubblewrap of its own", next_step="bwraps = none, or a version"
            )
        asked = time.time()
        base_digest = image_request.base_digest(want.image)
        with turn(self._cache, base_digest, want.what, self._watch):
            found = "" if self._update else self.cached(want)
            if found:
                return found
            failed = self.lock.read().failures.get(base_digest)
            if failed is not None and failed.when >= asked:  # the process with the turn before has just tried
                raise _again(failed)
            try:
                return self._made(want, base_digest)
            except Unavailable as problem:
                self._remember(want.image, base_digest, problem)
                raise

    def cached(self, want: ImageRequest) -> str:
        """Returns the id of an image that is ready; "" if none is. Costs one query."""
        image = self._locked(want)
        if not image and (image := self._named(want)):
            self._keep(want, image, base="", seconds=0.0)
        return image

    def seen(self, want: ImageRequest) -> str:
        """Returns the same as `cached`, but writes nothing to the lock file."""
        return self._locked(want) or self._named(want)

    def _locked(self, want: ImageRequest) -> str:
        locked = self.lock.read().images.get(image_request.digest(want), {})
        return next(
            (image for image in dict.fromkeys(made.image for made in locked.values()) if self._engine.image_id(image)),
            "",
        )

    def _named(self, want: ImageRequest) -> str:
        # The cache was cleared, or the engine is new to it: an image with our name and our label is the one. The
        # label alone is no proof: an image derived from another inherits it.
        image = self._engine.image_id(want.tag)
        return image if image and self._marks(image).get(image_request.DIGEST) == image_request.digest(want) else ""

    def _marks(self, image: str) -> Mapping[str, str]:
        with self._engine.asked(f"inspect the image {image}"):
            found = self._engine.api.inspect_image(image)
        return (found.get("Config") or {}).get("Labels") or {}

    def stands(self, want: ImageRequest) -> Standing:
        """Returns how much of an image the engine has. Makes nothing, and queries nothing but the engine."""
        image = want.image
        if image.reference:
            return "ready" if self._engine.image_id(image.reference) else ""
        if self.seen(want):
            return "ready"
        locked = self.lock.read().bases.get(image_request.base_digest(image), {})
        based = any(self._engine.image_id(base.tag) == base.image for base in locked.values())
        return "begun" if based or (image.pull and self._engine.image_id(image.pull)) else ""

    def size(self, image: str) -> int:
        with self._engine.asked(f"inspect the image {image}"):
            return int(self._engine.api.inspect_image(image).get("Size", 0))

    def arch(self) -> str:
        """Returns the engine's architecture, as the kernel calls it."""
        arch = str(self._engine.about().get("Architecture", ""))
        return {"amd64": "x86_64", "arm64": "aarch64"}.get(arch, arch)

    # ---- inside
    def _users_own(self, image: ImageSpec) -> str:
        """Returns the id of a user's own image. Fails if its name changed to another image during the run."""
        found = self._had_or_pulled(image)
        first = _first.setdefault((self._engine.host, image.reference), found)
        if found != first:
            raise HarnessError(
                "this image was replaced during the run",
                where=image.reference,
                why=f"it was {first[:19]}, and is {found[:19]} now: it was rebuilt or pulled again",
                next_step="run again",
            )
        return found

    def _had_or_pulled(self, image: ImageSpec) -> str:
        found = self._engine.image_id(image.reference)
        if found:
            return found
        if not image.pull:
            raise Unavailable(
                f"there is no image {image.reference}",
                where=self._engine.host,
                next_step=f"docker pull {image.reference}",
            )
        with turn(self._cache, image_request.base_digest(image), image.reference, self._watch):
            pull(self._engine, image.pull, what=image.name, watch=self._watch)
        return self._engine.image_id(image.reference)

    def _made(self, want: ImageRequest, base_digest: str) -> str:
        begun = time.monotonic()
        base = self._base(want, base_digest)
        image = build(self._engine, want, base.tag, watch=self._watch, afresh=self._update)
        seconds = time.monotonic() - begun
        made = self._keep(want, image, base=base.pin, seconds=seconds)
        came_to = f"{base.provider}, packages added, {made.size / 1e6:,.0f} MB in {seconds:.0f} s"
        self._watch.end(want.what, f"image {want.what}: {came_to}")
        return image

    def _remember(self, image: ImageSpec, base_digest: str, problem: Unavailable) -> None:
        """Records a failure for waiting processes and for plans, unless the user allowed only some of the image's
        providers.
        """
        could = {name for name, word in zip(PROVIDERS, (image.pull, image.suite), strict=True) if word}
        if could <= set(self._providers):
            one = Failure(
                name=image.name,
                what=problem.what,
                why=problem.why,
                next_step=problem.next_step,
                when=time.time(),
                on_base=base_digest in self.lock.read().bases,
                short="; ".join(dict.fromkeys(short(reason) for reason in _reasons(problem))),
            )
            self.lock.keep_failure(base_digest, one)

    def _keep(self, want: ImageRequest, image: str, *, base: str, seconds: float) -> Made:
        made = Made(
            name=want.image.name,
            variant=want.variant,
            image=image,
            base=base,
            tag=want.tag,
            size=self.size(image),
            made=now(),
            seconds=round(seconds, 1),
        )
        self.lock.keep_image(
            image_request.digest(want), self._engine_name(), made, base_digest=image_request.base_digest(want.image)
        )
        return made

    def _base(self, want: ImageRequest, digest: str) -> Base:
        locked = self.lock.read().bases.get(digest, {})
        if not self._update:
            for base in locked.values():
                if self._engine.image_id(base.tag) == base.image:
                    return base
        begun = time.monotonic()
        provider, pinned, tag = self._provided(want, tuple(locked.values()))
        base = Base(
            name=want.image.name,
            provider=provider,
            pin=pinned,
            image=self._engine.image_id(tag),
            tag=tag,
            made=now(),
            seconds=round(time.monotonic() - begun, 1),
        )
        self.lock.keep_base(digest, self._engine_name(), base)
        return base

    def _provided(self, want: ImageRequest, locked: tuple[Base, ...]) -> tuple[str, str, str]:
        """Returns the provider of a base, its pin, and our tag. An image that another engine has is pulled by its
        pin.
        """
        image, reasons = want.image, []
        pinned = "" if self._update else next((one.pin for one in locked if one.provider == "pulled"), "")
        bootstrapped = not self._update and not pinned and bootstrap.archive(image, self._cache) is not None
        if "pull" in self._providers and image.pull and not bootstrapped:
            try:
                return self._pulled(want, pinned or image.pull)
            except Unavailable as problem:
                reasons.append(problem)
        if "bootstrap" in self._providers and image.suite:
            try:
                return self._bootstrapped(want)
            except Unavailable as problem:
                reasons.append(problem)
        raise _neither(image, reasons)

    def _pulled(self, want: ImageRequest, reference: str) -> tuple[str, str, str]:
        there = "" if self._update else self._engine.image_id(reference)
        if there:
            provider, pinned = "already present", pin(self._engine, reference)
        else:
            self._watch.stage(want.what, "querying the registry")
            provider, pinned = "pulled", pull(self._engine, reference, what=want.what, watch=self._watch)
        tag = image_request.base_tag(want.image, pinned)
        repository, _, name = tag.rpartition(":")
        with self._engine.asked(f"tag the image {reference}"):
            self._engine.api.tag(pinned if there == "" else reference, repository, name)
        return provider, pinned, tag

    def _bootstrapped(self, want: ImageRequest) -> tuple[str, str, str]:
        self._watch.stage(want.what, "bootstrapping from its archive")
        archive, digest = bootstrap.have(want.image, self._cache, arch=self.arch(), again=self._update)
        tag = image_request.base_tag(want.image, digest)
        if not self._engine.image_id(tag):
            give(self._engine, archive, tag, what=want.what, watch=self._watch)
        return "bootstrapped", digest, tag

    def _engine_name(self) -> str:
        """Returns the engine's name in the lock file; Podman reports another ID at each query."""
        about = self._engine.about()
        named = f"{self._engine.host} {about.get('Name', '')}"
        return named if self._engine.podman else str(about.get("ID") or self._engine.host)


class NoImageProvider(Unavailable):
    """No provider could make the image."""

    reasons: tuple[Unavailable, ...] = ()


def _neither(image: ImageSpec, reasons: list[Unavailable]) -> Unavailable:
    if len(reasons) == 1:
        return reasons[0]
    if not reasons:
        return Unavailable(f"{image.name} is not available", why="the run may query neither a registry nor an archive")
    why = "; ".join(f"{one.what}: {one.why}" for one in reasons)
    problem = NoImageProvider(
        f"{image.name} is not available here", why=why, next_step=reasons[-1].next_step or reasons[0].next_step
    )
    problem.reasons = tuple(reasons)
    return problem


def _reasons(problem: Unavailable) -> tuple[Unavailable, ...]:
    return problem.reasons if isinstance(problem, NoImageProvider) else (problem,)


def _again(failed: Failure) -> CodexSandboxError:
    return Unavailable(failed.what, why=failed.why, next_step=failed.next_step)
