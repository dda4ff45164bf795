"""Registry ping: asks whether a registry, or a distribution's archive, answers at all. Downloads nothing."""

import math
import platform
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

import msgspec

from pytest_codexsandbox.environments.container.provision import bootstrap, image_request
from pytest_codexsandbox.environments.container.provision.build_errors import refusal
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.model.container import ImageSpec
from pytest_codexsandbox.model.plan_queries import Yes
from pytest_codexsandbox.system.download import NoAnswer, NotThere, NotTrusted, size_of

if TYPE_CHECKING:
    from pytest_codexsandbox.environments.container.engine import Engine

_USUAL: Final = "docker.io"  # of a name that names no registry, for Docker
_MIRRORS: Final = re.compile(r"^\s*(?:my\s+)?\$(?P<which>mirror|secmirror)\s*=\s*'(?P<address>https?://[^']+)'", re.M)
_MOST: Final = 1 << 20
_MAIN: Final = ("x86_64", "i386", "i686")  # what Ubuntu's first archive has; the rest is in its ports
_NEVER_IN_SECURITY: Final = ("sid", "unstable")


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to a question. `alone`: a no about the requested image only, not about the registry."""

    answer: Yes
    short: str = ""  # the cause alone, for plans
    why: str = ""
    alone: bool = False
    hung: bool = False  # a no for lack of an answer


YES: Final = Heard(answer="yes")


# ---- registries
def host_of(reference: str) -> str:
    """Returns the registry of a name, as engines read it: a first part that looks like a host is one."""
    first, slash, _ = reference.partition("/")
    return first if slash and (first == "localhost" or set(".:") & set(first)) else _USUAL


def registry(engine_host: str, reference: str, *, patience: float) -> Heard:
    """Asks through the engine, as a pull would: only the engine knows its proxy, its mirrors and its logins."""
    from pytest_codexsandbox.environments.container.engine import Engine  # its package may be missing

    name = image_request.reference(reference, where="a distribution")
    try:
        with Engine(engine_host, timeout=max(1, math.ceil(patience))) as engine, engine.asked(f"query {name}"):
            _ask(engine, name)
    except CodexSandboxError as problem:
        return _refused(problem.why)
    return YES


def _ask(engine: "Engine", name: str) -> None:
    if not engine.podman:
        engine.api.inspect_distribution(name)
        return
    # Podman has Docker's question in no version, and one of its own that it passes on in the same manner.
    asked = f"{engine.api.base_url}/v4.0.0/libpod/manifests/{quote(name, safe='/:@')}/json"
    answer = engine.api.get(asked, timeout=engine.api.timeout)
    engine.api._raise_for_status(answer)


def _refused(said: str) -> Heard:
    known = refusal(said)
    if known is None or "is not supported" in said:
        return Heard(answer="unknown", why=said)
    return Heard(answer="no", short=known.cause, why=said, alone=not known.whole)


# ---- archives
def archives(image: ImageSpec) -> tuple[str, ...]:
    """Returns the addresses that the bootstrap tool would use, the suite's own first; () if unknown here."""
    suite, named = image_request.suite(image), bootstrap.mirror(image)
    if named:
        return (f"{named.rstrip('/')}/dists/{suite}/",)
    usual = _usual(_vendor(image))
    if not usual:
        return ()
    more = "" if suite in _NEVER_IN_SECURITY else usual.get("secmirror", "")
    return (f"{usual['mirror']}/dists/{suite}/", *((f"{more}/dists/{suite}-security/",) if more else ()))


def archive(addresses: tuple[str, ...], *, suite: str, patience: float) -> Heard:
    """Checks that the first address has the suite, and that the others answer.

    The tool itself knows best whether the others have anything for the suite.
    """
    for place, address in enumerate(addresses):
        heard = _folder(address, suite, patience, needed=not place)
        if heard.answer != "yes":
            return heard
    return YES


def _folder(address: str, suite: str, patience: float, *, needed: bool) -> Heard:
    parts = urlsplit(address)
    if parts.scheme in ("file", "copy"):
        there = any((Path(parts.path) / name).is_file() for name in ("InRelease", "Release"))
        return YES if there else Heard(answer="no", short=f"its archive has no suite {suite}", why=address)
    for name in ("InRelease", "Release"):
        try:
            size_of(address + name, patience=patience)
        except NotThere as problem:
            why = f"{problem.where}: {problem.why}"
        except NotTrusted as problem:  # by us: the bootstrap tool has certificates of its own
            return Heard(answer="unknown", why=f"{problem.where}: {problem.why}")
        except CodexSandboxError as problem:
            reason = ": ".join(filter(None, (problem.where, problem.what, problem.why)))
            hung = isinstance(problem, NoAnswer)
            return Heard(answer="no", short="its archive could not be reached", why=reason, hung=hung)
        else:
            return YES
        if not needed:
            return YES
    return Heard(answer="no", short=f"its archive has no suite {suite}", why=why)


# ---- sources
def sources(addresses: tuple[str, ...], *, patience: float) -> Heard:
    """Checks whether one of the addresses has the sources."""
    whys: list[str] = []
    for address in addresses:
        try:
            size_of(address, patience=patience)
        except CodexSandboxError as problem:
            whys.append(": ".join(filter(None, (problem.where, problem.what, problem.why))))
        else:
            return YES
    return Heard(answer="no", short="no known archive has its sources", why="; ".join(whys))


def _vendor(image: ImageSpec) -> str:
    return (image.keyring or image.name).partition("-")[0]


def _usual(vendor: str) -> dict[str, str]:
    """Returns the default mirrors for Debian, Ubuntu and Ubuntu's ports, read from the tool's own text."""
    tool = shutil.which(bootstrap.TOOL)
    try:
        text = Path(tool).read_text(encoding="utf-8", errors="replace")[:_MOST] if tool else ""
    except OSError:
        return {}
    ports = vendor == "ubuntu" and platform.machine() not in _MAIN
    names = {"ubuntu-ports"} if ports else {vendor, f"{vendor}-security"}
    found: dict[str, str] = {}
    for one in _MIRRORS.finditer(text):
        if urlsplit(one["address"]).path.strip("/") in names:
            found.setdefault(one["which"], one["address"].rstrip("/"))
    return found if "mirror" in found else {}
