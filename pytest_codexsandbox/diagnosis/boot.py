"""Judges a boot check: the state of the sandbox and two requests in, one finding with its exit code out. Pure."""

from typing import Final

import msgspec

from pytest_codexsandbox.diagnosis.choices import choices
from pytest_codexsandbox.diagnosis.match import match
from pytest_codexsandbox.model.policy import NETWORK, POLICIES
from pytest_codexsandbox.model.record import Diagnosis
from pytest_codexsandbox.model.sandbox_state import SandboxState

OK: Final = 0
UNKNOWN: Final = 10  # as in a run: the harness cannot tell
NO_START: Final = 20
NOT_ON: Final = 21
REFUSED: Final = 22
NOT_RESOLVED: Final = 23
FAILS_OUTSIDE: Final = 24
CODES: Final = {
    OK: "a sandbox starts, and the request got 200 inside it",
    UNKNOWN: "the check could not tell: the control call failed, or a call gave no result",
    NO_START: "the sandbox does not start",
    NOT_ON: "the policy is not in force: no sandbox, one where full access was requested, or another mode",
    REFUSED: "the request fails in the sandbox and works outside it",
    NOT_RESOLVED: "the host name resolves outside the sandbox and not inside it",
    FAILS_OUTSIDE: "the request fails outside the sandbox too",
}
_NETWORK_OFF: Final = "the policy {policy} keeps the network off"
_NETWORK_ON: Final = "add `network_access = true` under [sandbox_workspace_write] of config.toml"
_RESOLVER: Final = "; where it is there, compare /etc/resolv.conf and /etc/hosts inside and outside"
_SERVICE: Final = "start the service or correct the URL, then check again"
_CERTIFICATE: Final = "name the file of the certificate authority in SSL_CERT_FILE (not below /tmp), then check again"
_SHOW: Final = "codexsandbox diagnose -   (paste Codex's output)"


class BootAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one request. `known` is False if the program printed no result."""

    known: bool = False
    status: int = 0
    stage: str = ""
    error: str = ""
    text: str = ""

    @property
    def works(self) -> bool:
        return self.status == 200

    @property
    def words(self) -> str:
        if not self.known:
            return "no result"
        return f"HTTP {self.status}" if self.status else ": ".join(filter(None, (self.stage, self.error, self.text)))


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One line if all is well; else what failed, why, and what to do."""

    code: int
    what: str
    cause: str = ""
    fix: str = ""
    fingerprint: str = ""


def judge_boot(
    started: SandboxState,
    *,
    policy: str,
    url: str = "",
    inside: BootAnswer | None = None,
    outside: BootAnswer | None = None,
    writes: bool | None = None,
) -> Finding:
    """Judges the start first, then the mode, then the request. `writes`: the workspace could be written."""
    wanted = "on" if POLICIES[policy].sandboxed else "off"
    if started.state == "failed":
        return _not_started(started)
    if started.state == "unknown":
        return Finding(
            code=UNKNOWN, what="could not determine whether a sandbox started", cause=started.why, fix=_again()
        )
    if started.state != wanted:
        return _not_on(started, wanted)
    if writes is not None and writes != POLICIES[policy].writes_workspace:
        return _another_mode(policy, writes=writes)
    state = f"a sandbox starts ({started.by})" if wanted == "on" else "commands run with full access, as asked"
    if inside is None or outside is None:
        return Finding(code=OK, what=state)
    return _request(state, policy=policy, url=url, inside=inside, outside=outside)


def _not_started(started: SandboxState) -> Finding:
    known = started.diagnosis
    return Finding(
        code=NO_START,
        what=f"the sandbox does not start: {started.why}",
        cause=known.cause if known else "no fingerprint fits",
        fix=_fix(known),
        fingerprint=known.fingerprint if known else "",
    )


def _not_on(started: SandboxState, wanted: str) -> Finding:
    if wanted == "on":
        return Finding(
            code=NOT_ON,
            what="commands run without a sandbox",
            cause=started.why,
            fix='set sandbox_mode = "workspace-write"; to check full access on purpose: --policy danger-full-access',
        )
    return Finding(
        code=NOT_ON,
        what="a sandbox is on, and full access was requested",
        cause=started.why,
        fix="--policy workspace-write, or look for default_permissions in config.toml: it overrides sandbox_mode",
    )


def _another_mode(policy: str, *, writes: bool) -> Finding:
    mode = POLICIES[policy].mode
    seen = "can write" if writes else "cannot write"
    return Finding(
        code=NOT_ON,
        what=f"the policy {policy} is not in force: a sandboxed command {seen} in its workspace",
        cause="config.toml sets another sandbox_mode or none, or Codex could not read it and uses its defaults",
        fix=f'set sandbox_mode = "{mode}" in config.toml, or ask with --policy for the mode that you want',
    )


def _request(state: str, *, policy: str, url: str, inside: BootAnswer, outside: BootAnswer) -> Finding:
    if inside.known and inside.works:
        return Finding(code=OK, what=f"{state}, and {url} answers 200 inside it")
    if not (inside.known and outside.known):
        where = "sandbox" if outside.known else "control call outside the sandbox"
        return Finding(
            code=UNKNOWN,
            what=f"the request to {url} gave no result",
            cause=f"its program did not run to its end in the {where}",
            fix=_again(),
        )
    if not outside.works:
        return Finding(
            code=FAILS_OUTSIDE,
            what=f"{url} does not answer 200 outside the sandbox either: {outside.words}",
            cause="the service, the name or the network of this machine; the sandbox is not the cause",
            fix=_CERTIFICATE if "CERTIFICATE" in outside.text else _SERVICE,
        )
    return _only_inside(policy, url=url, inside=inside)


def _only_inside(policy: str, *, url: str, inside: BootAnswer) -> Finding:
    code = NOT_RESOLVED if inside.stage == "resolve" else REFUSED
    what = f"{url} answers 200 outside the sandbox, and inside it fails: {inside.words}"
    asked = POLICIES[policy]
    if asked.sandboxed and not asked.network:
        return Finding(
            code=code,
            what=what,
            cause=_NETWORK_OFF.format(policy=policy),
            fix=f"{_NETWORK_ON}, or ask for --policy {NETWORK}",
        )
    known = match(f"{inside.error} {inside.text}")
    return Finding(
        code=code,
        what=what,
        cause=_cause(inside, known),
        fix=_inside_fix(inside),
        fingerprint=known.fingerprint if known else "",
    )


def _cause(inside: BootAnswer, known: Diagnosis | None) -> str:
    if inside.status:
        return "another answer than outside: a proxy or a filter stands between the sandbox and the service"
    if inside.error == "EPERM":
        return "the sandbox refuses sockets: the network is off although the policy asks for it"
    if inside.stage == "resolve":
        return "the sandbox does not reach the resolver, or sees another /etc/resolv.conf or /etc/hosts"
    return known.cause if known else "no fingerprint fits"


def _inside_fix(inside: BootAnswer) -> str:
    if inside.stage == "resolve":
        return _NETWORK_ON + _RESOLVER
    if inside.error == "EPERM":
        return _NETWORK_ON
    return _SHOW


def _fix(known: Diagnosis | None) -> str:
    if known is None:
        return _SHOW
    return choices(known).first or _SHOW


def _again() -> str:
    return "codexsandbox doctor   (it names what this machine lacks)"
