"""The journal of a run over many container axes."""

from pytest_codexsandbox.model.coverage import Coverage, Uncoverable
from pytest_codexsandbox.model.journal_lines import CellRow
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key, NotPlanned
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.reports import builders
from tests.unit.reports.bare_tools_builders import by_itself
from tests.unit.reports.builders import journal, keys_of, record, usual, violation

WIDE = {
    "distro": ("debian-bullseye", "debian-bookworm", "debian-trixie", "ubuntu-22.04", "ubuntu-24.04", "alpine-3.22"),
    "bwrap": ("distro", "none", "0.4.1", "0.8.0", "0.9.0", "0.8.0-setuid"),
    "profile": (
        "docker-default", "seccomp-unconfined", "seccomp-unconfined-systempaths", "no-new-privileges", "cap-drop-all",
        "sys-admin", "read-only-rootfs", "own-network", "synthetic-userns-enospc", "synthetic-mount",
    ),
    "user": ("root", "u1000", "u1000-nopasswd"),
    "codex": ("0.118.0", "0.128.0", "0.136.0", "0.145.0", "0.155.0", "0.163.0", "0.169.0"),
}  # fmt: skip


def pairs() -> ReadJournal:
    """84 cells of containers, picked by pairs; what is red has to do with a profile, a bubblewrap, a user."""
    cells = [contained(number) for number in range(84)]
    axes = {one.id: one.axes for one in cells}

    def state(key: Key) -> Record:
        its = axes[key.cell]
        if its["profile"] in ("docker-default", "synthetic-mount") and key.policy != "danger-full-access":
            if key.promise == "start.sandbox-is-on":
                return violation(key, "denied")
            return record(key, Verdict.BLOCKED, reason="the sandbox did not start", blocked_by="start.sandbox-is-on")
        if its["bwrap"] == "0.4.1" and key.promise == "protected.dot-git-stays-read-only":
            return violation(key)
        if its["user"] == "u1000-nopasswd" and key.promise == "sqlite.board-outside-refused":
            return violation(key)
        if its["distro"] == "alpine-3.22" and its["profile"] == "sys-admin":
            return record(key, Verdict.BROKEN, reason="the container ended before its first word")
        return usual(key)

    told = Coverage(
        strength=2,
        axes=WIDE,
        coverable=400,
        uncoverable=(
            Uncoverable(why="to root it is the same program", count=1, example="0.8.0-setuid + root"),
            Uncoverable(why="no registry answered", count=26, example="fedora-43 + distro"),
        ),
    )
    missing = (
        NotPlanned(what="fedora-43", why="no registry answered", kind="unavailable"),
        NotPlanned(what=f"{cells[0].id}0", why="not within --codex-budget 10m", kind="budget"),
    )
    keys = keys_of(cells, policies=("read-only", "workspace-write", "danger-full-access"))
    return journal(
        map(state, keys), cells=cells, coverage=told, not_planned=missing, exit=1, reasons=("1 some violated",)
    )


def contained(number: int) -> CellRow:
    steps = {"distro": number, "bwrap": number // 10, "profile": number, "user": number // 2, "codex": number // 6}
    axes = {axis: values[steps[axis] % len(values)] for axis, values in WIDE.items()}
    environment = "~".join((axes["distro"], f"bwrap-{axes['bwrap']}", axes["profile"], axes["user"]))
    return CellRow(
        id=f"{environment}~codex-{axes['codex']}",
        environment=environment,
        subject=axes["codex"],
        arch="x86_64",
        axes=axes | {"environment": environment, "engine": "docker", "kernel": "host"},
        synthetic=axes["profile"].startswith("synthetic-"),
    )


KINDS = builders.KINDS | {"pairs": pairs, "by-itself": by_itself}
