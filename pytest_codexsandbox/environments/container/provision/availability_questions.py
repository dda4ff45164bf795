"""Availability questions: what a plan asks registries and archives. Pure, but reads where this machine's tools look."""

import hashlib
import urllib.request
from typing import Final

import msgspec

from pytest_codexsandbox.environments.container.provision import registry_ping
from pytest_codexsandbox.environments.container.provision.registry_ping import Heard
from pytest_codexsandbox.model.container import ImageSpec
from pytest_codexsandbox.model.plan_queries import Kind
from pytest_codexsandbox.system import environ

_SILENT_REGISTRY: Final = "no registry answered in time"
_SILENT_ARCHIVE: Final = "its archive did not answer in time"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a registry or an archive. `key`: identifies the answer, by which it is kept."""

    key: str
    kind: Kind
    name: str
    where: str
    engine: str = ""
    reference: str = ""  # of an image
    addresses: tuple[str, ...] = ()  # of an archive
    suite: str = ""  # "": the addresses are of sources, and one that has them is enough
    of_image: str = ""  # the key of an answer that is about the image alone
    kept: bool = True  # the answer, for other plans
    silence: str = ""  # the meaning of no answer; "": none

    def asked(self, patience: float) -> Heard:
        if self.reference:
            return registry_ping.registry(self.engine, self.reference, patience=patience)
        if self.suite:
            return registry_ping.archive(self.addresses, suite=self.suite, patience=patience)
        return registry_ping.sources(self.addresses, patience=patience)


def of_registry(image: ImageSpec, engine: str) -> Question:
    """Returns one question for all images from a registry, by the first of them.

    A user's own image is asked for by its own name, because the registry may not have it.
    """
    host, of_image = registry_ping.host_of(image.pull), image_key(image, engine)
    if image.reference:
        return Question(
            key=of_image,
            kind="image",
            name=image.pull,
            where=engine,
            engine=engine,
            reference=image.pull,
            kept=False,
            silence=_SILENT_REGISTRY,
        )
    return Question(
        key=f"registry {host} through {engine}",
        kind="registry",
        name=host,
        where=engine,
        engine=engine,
        reference=image.pull,
        of_image=of_image,
        silence=_SILENT_REGISTRY,
    )


def image_key(image: ImageSpec, engine: str) -> str:
    return f"image {image.pull} through {engine}"


def of_archive(image: ImageSpec) -> Question | None:
    """Returns the question to the distribution's archive; None if its address is unknown here."""
    addresses = registry_ping.archives(image)
    if not addresses:
        return None
    return Question(
        key=_key("archive", addresses),
        kind="archive",
        name=image.name,
        where=addresses[0],
        addresses=addresses,
        suite=image.suite,
        silence=_SILENT_ARCHIVE,
    )


def of_sources(version: str, addresses: tuple[str, ...]) -> Question:
    """Returns the question about the sources, without a meaning of silence: several archives may be slow together."""
    return Question(key=_key("sources", addresses), kind="sources", name=version, where="", addresses=addresses)


def _key(kind: str, addresses: tuple[str, ...]) -> str:
    """Returns the key of a question; it includes the proxies, which may change the answer."""
    inputs = [*addresses, *sorted(environ.settled(urllib.request.getproxies).items())]
    return f"{kind} {addresses[0].partition('://')[2]} {hashlib.sha256(repr(inputs).encode()).hexdigest()[:12]}"
