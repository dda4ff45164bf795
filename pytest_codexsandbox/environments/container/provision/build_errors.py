"""Build errors: describes what fails while an image is made: what happened, the tool's own message, and what to do."""

import re
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, Unavailable
from pytest_codexsandbox.model.command import CommandResult
from pytest_codexsandbox.model.container import ImageSpec

_NO_ROOM: Final = re.compile(r"no space left on device|not enough free space|disk quota exceeded|enospc", re.I)
_UNREACHED: Final = re.compile(
    r"temporary failure resolving|could not resolve|no such host|connection (?:refused|timed out|reset)"
    r"|could not connect|unable to connect|network is unreachable|no route to host|i/o timeout|tls handshake timeout"
    r"|bad address|server misbehaving|context deadline exceeded|request canceled|failed to resolve|proxyconnect|\bEOF$",
    re.I,
)
_NO_SUITE: Final = re.compile(r"does not have a release file|404  ?not found|no longer has a release file", re.I)
_NO_KEY: Final = re.compile(r"no_pubkey|is not signed|couldn't be verified|could not be verified", re.I)
_TOO_OLD: Final = re.compile(r"external solver|unknown compression|unsupported .*compression|invalid option", re.I)
_EXPIRED: Final = re.compile(r"is expired|not valid yet", re.I)
_NO_PACKAGE: Final = re.compile(
    r"unable to locate package|no match for argument|unable to select packages|target not found"
    r"|not found in package names|has no installation candidate|no provider of",
    re.I,
)
_NOT_THERE: Final = re.compile(r"manifest .*unknown|not found|does not exist|no such image", re.I)
_LIMITED: Final = re.compile(r"toomanyrequests|rate limit", re.I)
_LOGIN: Final = re.compile(r"access denied|\bdenied:|unauthorized|authentication required|no basic auth", re.I)
_UNTRUSTED: Final = re.compile(r"x509:|server gave HTTP response to HTTPS client", re.I)
# A proxy's own answer, and that of a registry that is out of order.
_NO_WAY: Final = re.compile(
    r"\": (?:forbidden|proxy authentication required|bad gateway|service unavailable|gateway timeout)$"
    r"|unexpected (?:http )?status(?: code)?:? 5\d\d",
    re.I,
)
_PROXY: Final = "check the network; a proxy is taken from https_proxy"
_CERTIFICATE: Final = "install it for the engine: /etc/docker/certs.d/REGISTRY/ca.crt"
_MARKS: Final = ("E: ", "W: ", "Err:")
# Lines about the tool itself, printed after the line with the cause.
_FRAME: Final = re.compile(r"mmdebstrap failed to run|setup failed: E:|apt-get .*-o|env --unset|command failed: /")
PRUNE: Final = "codexsandbox images prune --all, or set CODEXSANDBOX_CACHE to a folder on another disk"


def of_bootstrap(image: ImageSpec, done: CommandResult, staging: Path, *, limit: float) -> CodexSandboxError:
    said = done.stderr.decode("utf-8", "replace")
    what = f"{image.name} cannot be bootstrapped from its archive"
    why = tail(said, marks=_MARKS)
    marked = "\n".join(line for line in said.splitlines() if line.startswith(_MARKS)) or said
    if done.ended == "timeout" or done.exit in (124, 137):
        return Unavailable(what, why=f"not finished after {limit / 60:.0f} minutes: {tail(said)}", next_step=_PROXY)
    if done.ended != "exit":
        return HarnessError(what, why=done.error or f"mmdebstrap was ended by signal {done.signal}: {why}")
    for form, cause, next_step in (
        (_NO_ROOM, f"the disk is full at {staging.parent}", PRUNE),
        (_NO_SUITE, f"its archive has no suite {image.suite} at the queried address", _mirror_hint(image)),
        (_UNREACHED, "its archive could not be reached", f"{_PROXY}; another archive: {_mirror_hint(image)}"),
        (_NO_KEY, "its archive is signed by an unknown key", f"renew {image.keyring_package}"),
        (
            _EXPIRED,
            "the dates of its archive's Release file have run out",
            "expired = true in its data file, or another mirror",
        ),
        (_NO_PACKAGE, "its archive has no such package", "see the distribution's data file"),
        (_TOO_OLD, "the tools of this machine are too old for this suite", "use a newer mmdebstrap, apt and dpkg"),
    ):
        if form.search(said if form is _NO_ROOM else marked):
            return Unavailable(what, why=f"{cause}: {why}", next_step=next_step)
    return Unavailable(what, why=f"mmdebstrap ended with {done.exit}: {why or 'it printed nothing'}")


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A registry's refusal. `whole`: it refuses every request from here, not only this image."""

    cause: str
    next_step: str
    whole: bool


def refusal(said: str) -> Refusal | None:
    """Returns the refusal that these words mean; None if they are unknown."""
    for form, cause, next_step, whole in (
        (_NO_ROOM, "the engine's disk is full", "docker system df; codexsandbox images prune --all", True),
        (_LIMITED, "the registry accepts no more pulls without a login for now", "docker login, or try later", True),
        (_UNTRUSTED, "the engine does not trust the registry's certificate", _CERTIFICATE, True),
        (_UNREACHED, "no registry answered", _PROXY + ", which the engine must know itself", True),
        (_NO_WAY, "a proxy or firewall before the registry blocks the request", _PROXY, True),
        (_LOGIN, "the registry has no such image, or requires a login", "docker login", False),
        (_NOT_THERE, "the registry has no such image", "", False),
    ):
        if form.search(said):
            return Refusal(cause=cause, next_step=next_step, whole=whole)
    return None


def of_pull(reference: str, said: str) -> Unavailable:
    what = f"{reference} cannot be pulled"
    known = refusal(said)
    if known is None:
        return Unavailable(what, why=f"the engine could not pull it: {said}")
    return Unavailable(what, why=f"{known.cause}: {said}", next_step=known.next_step)


def of_build(what: str, said: str, failed: str) -> CodexSandboxError:
    """Returns the error of a build. `failed`: the engine's last message; `said`: the output of the commands."""
    head = f"the image {what} cannot be built"
    why = tail(said, marks=("E: ", "Err:", "error:", "ERROR", "Error:")) or failed
    for form, cause, next_step in (
        (_NO_ROOM, "the engine's disk is full", "docker system df; codexsandbox images prune --all"),
        (_NO_PACKAGE, "its archive has no such package", "see `packages` in the distribution's data file"),
        (_NO_SUITE, "its archive no longer has it", "codexsandbox images build --update NAME"),
        (
            _UNREACHED,
            "its archive could not be reached from a container",
            f"{_PROXY}; do containers have a network?",
        ),
    ):
        if form.search(said) or form.search(failed):
            return Unavailable(head, why=f"{cause}: {why}", next_step=next_step)
    return Unavailable(
        head, why=f"a command failed: {why}; {failed}" if failed not in why else f"a command failed: {why}"
    )


def short(problem: Unavailable) -> str:
    """Returns the cause alone, for plans, without the tool's message, its addresses and lookups."""
    return problem.why.partition(": ")[0] or problem.what


def tail(text: str, *, marks: tuple[str, ...] = ()) -> str:
    """Returns the last significant lines."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    picked = [line for line in lines if line.startswith(marks)] if marks else []
    telling = [line for line in picked if not _FRAME.search(line)]
    return " · ".join(line[:200] for line in dict.fromkeys((telling or picked or lines)[-2:]))[:300]


def _mirror_hint(image: ImageSpec) -> str:
    return f"CODEXSANDBOX_MIRROR_{image.name.partition('-')[0].upper()}=https://…"
