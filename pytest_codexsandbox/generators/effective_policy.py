"""Effective policy: compares what the real Codex says about a generator's files with what was requested. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from pytest_codexsandbox.model.generator import Claim, ExpectedPolicy, Finding

STRICTNESS: Final = ("danger-full-access", "workspace-write", "read-only")
LOADS: Final = "the real Codex starts a thread with the file"


class Oracle(msgspec.Struct, frozen=True, kw_only=True):
    """Says whether this Codex's answers can be trusted: it must report test files correctly and refuse a torn one."""

    held: bool
    words: str


def loads(claim: Claim, oracle: Oracle) -> tuple[Finding, ...]:
    return (
        Finding(
            claim=LOADS,
            saw="it does" if claim.loads else claim.error,
            held=claim.loads,
            control=oracle.words,
            control_held=oracle.held,
            direction="" if claim.loads else "denied",
            reason="" if claim.loads else "does-not-load",
        ),
    )


def says(claim: Claim, expect: ExpectedPolicy, oracle: Oracle) -> tuple[Finding, ...]:
    """Returns a finding for the mode, for network and roots under a mode that has them, and for approvals if
    requested."""
    return tuple(_rows(claim, expect, oracle))


def _rows(claim: Claim, expect: ExpectedPolicy, oracle: Oracle) -> Iterator[Finding]:
    yield _row(
        oracle,
        f"Codex says that it enforces {expect.sandbox}",
        saw=f"it says {claim.sandbox or 'nothing'}",
        held=claim.sandbox == expect.sandbox,
        leak=_looser(claim.sandbox, expect.sandbox),
        reason="another-mode",
    )
    if claim.sandbox == expect.sandbox and expect.network is not None and expect.sandbox != "danger-full-access":
        yield _row(
            oracle,
            f"Codex says that the network is {_on(expect.network)}",
            saw=f"it says {_on(claim.network)}",
            held=claim.network is expect.network,
            leak=bool(claim.network),
            reason="another-network",
        )
    if claim.sandbox == expect.sandbox == "workspace-write" and expect.roots is not None:
        yield from _roots(claim, expect.roots, oracle)
    if expect.approval:
        yield _row(
            oracle,
            f"Codex says that approvals are {expect.approval!r}",
            saw=f"it says {claim.approval!r}",
            held=claim.approval == expect.approval,
            leak=claim.approval == "never",
            reason="another-approval",
        )


def _roots(claim: Claim, wanted: tuple[str, ...], oracle: Oracle) -> Iterator[Finding]:
    missing = [root for root in wanted if not lies_in(root, claim.roots)]
    more = [root for root in claim.roots if not lies_in(root, wanted)]
    yield _row(
        oracle,
        f"Codex grants {_listed(wanted)} beside the workspace",
        saw=f"it grants {_listed(claim.roots)}",
        held=not missing,
        leak=False,
        reason="root-missing",
    )
    yield _row(
        oracle,
        "Codex grants no other folder",
        saw=f"it grants {_listed(more)} as well" if more else "it does not",
        held=not more,
        leak=True,
        reason="root-too-many",
    )


def lies_in(root: str, others: Iterable[str]) -> bool:
    """Checks whether a folder is granted by others. A granted folder includes its content; "/" includes every
    placeholder."""
    return any(
        root == other or root.startswith(f"{other.rstrip('/')}/") or (other == "/" and root.startswith("@"))
        for other in others
    )


def _row(oracle: Oracle, claim: str, *, saw: str, held: bool, leak: bool, reason: str) -> Finding:
    return Finding(
        claim=claim,
        saw=saw,
        held=held,
        control=oracle.words,
        control_held=oracle.held,
        direction="" if held else "leak" if leak else "denied",
        reason="" if held else reason,
    )


def _looser(one: str, other: str) -> bool:
    known = one in STRICTNESS and other in STRICTNESS
    return known and STRICTNESS.index(one) < STRICTNESS.index(other)


def _on(network: bool | None) -> str:
    return {True: "on", False: "off", None: "not reported"}[network]


def _listed(roots: tuple[str, ...] | list[str]) -> str:
    return ", ".join(roots) or "nothing"


def oracle(claims: dict[str, Claim], torn: Claim) -> Oracle:
    """Builds the oracle. `claims`: mode → what Codex says about a test file that requests it. `torn`: what it says
    about a file that cannot be parsed."""
    right = {mode: claim.loads and claim.sandbox == mode for mode, claim in claims.items()}
    held = len(right) > 1 and all(right.values()) and not torn.loads and bool(torn.error)
    answer = ", ".join(f"{mode}: {claim.sandbox or claim.error or 'nothing'}" for mode, claim in claims.items())
    refused = "it refuses a truncated one" if not torn.loads else "it accepts a truncated one"
    return Oracle(held=held, words=f"for the control files this Codex reports {answer}; {refused}")
