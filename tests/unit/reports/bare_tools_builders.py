"""The journal of a run whose environments told what bubblewrap and `unshare` say there without Codex."""

import msgspec

from pytest_codexsandbox.diagnosis.explain import with_bare_tools
from pytest_codexsandbox.model.journal_lines import CellRow, EnvironmentLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Diagnosis, Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.reports.builders import HOSTILE, PROMISES, journal, keys_of, usual, violation

BARE = {  # profile → the words of bwrap, of bwrap with a network of its own, of unshare
    "docker-default": ("bwrap: No permissions to create new namespace, likely because the kernel does not allow it",)
    * 2
    + ("unshare: unshare failed: Operation not permitted",),
    "synthetic-rtm-newaddr": ("ok", "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "ok"),
    "odd": (HOSTILE, "bwrap: the moon is full", ""),
    "open": ("ok", "ok", "ok"),
    "roomy": ("ok", "ok", "ok"),
    "untold": (),
}


def as_written() -> ReadJournal:
    """Six environments: in one no sandbox starts, as is known; in one only with the network on; in one for a reason
    that nobody knows; two are alike; of one nobody asked."""
    cells = [_cell_of(profile) for profile in BARE]
    profiles = {one.id: one.axes["profile"] for one in cells}
    words = {
        "docker-default": Diagnosis(
            fingerprint="userns-not-permitted",
            quote="No permissions to create new namespace",
            verdict="sandbox",
            cause="The kernel refuses a user namespace. "
            "Checked directly, this environment refuses a user namespace (EPERM).",
        ),
        "synthetic-rtm-newaddr": Diagnosis(
            fingerprint="loopback-newaddr-refused",
            quote="loopback: Failed RTM_NEWADDR: Operation not permitted",
            cause="The loopback gets no address.",
            verdict="sandbox",
        ),
        "odd": Diagnosis(fingerprint="", cause="No known fingerprint fits.", quote=HOSTILE),
    }

    def state(key: Key) -> Record:
        profile = profiles[key.cell]
        if key.promise != "start.sandbox-is-on" or profile not in words or key.policy == "danger-full-access":
            return usual(key)
        if profile == "synthetic-rtm-newaddr" and key.policy == "workspace-write-network":
            return usual(key)
        seen = violation(key, "denied", diagnosis=words[profile], reason=words[profile].quote)
        if profile != "docker-default":
            return seen
        return msgspec.structs.replace(seen, verdict=Verdict.EXPECTED, deviation="no-userns", reason="as is known")

    policies = ("workspace-write", "workspace-write-network", "danger-full-access")
    keys = keys_of(cells, promises=PROMISES[:2], policies=policies)
    made = journal(map(state, keys), cells=cells, exit=1, reasons=("1 some violated",))
    lines = tuple(_tried_in(line) for line in made.environments)
    return msgspec.structs.replace(made, environments=lines)


def _cell_of(profile: str) -> CellRow:
    axes = {"distro": "debian-12", "bwrap": "distro", "profile": profile, "user": "u1000", "codex": "0.163.0"}
    place = f"debian-12~bwrap-distro~{profile}~u1000"
    return CellRow(
        id=f"{place}~codex-0.163.0",
        environment=place,
        subject="0.163.0",
        axes=axes,
        arch="x86_64",
        synthetic=profile.startswith("synthetic-"),
    )


def _tried_in(line: EnvironmentLine) -> EnvironmentLine:
    said = BARE[line.spec.split("~")[2]]
    if not said:
        return line
    bare = {name: words for name, words in zip(("bwrap", "bwrap-net", "unshare"), said, strict=True) if words}
    answers = {"userns": "EPERM"} if "docker" in line.spec else {}
    return msgspec.structs.replace(line, facts=line.facts | {"bare": bare} | ({"answers": answers} if answers else {}))


def by_itself() -> ReadJournal:
    """As reports get it: with what the words mean."""
    return with_bare_tools(as_written())
