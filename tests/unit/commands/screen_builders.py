"""Screens of commands, made of fixed data: what the golden texts are compared with."""

import os
from collections.abc import Callable
from typing import Any, Final
from unittest import mock

import msgspec

from pytest_codexsandbox.commands import doctor_findings, generator_text, plan_text, selftest_table
from pytest_codexsandbox.harness.feasibility import CONTAINERS
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.artifact_status import ArtifactStatus
from pytest_codexsandbox.model.doctor_finding import DoctorFinding
from pytest_codexsandbox.model.plan_key import Key, NotPlanned
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.releases.download_estimate import Forecast
from pytest_codexsandbox.reports.terminal_style import Paint
from pytest_codexsandbox.selftest.fake import Fake
from pytest_codexsandbox.selftest.kill_rules import Fault, KillResult
from tests.unit.matrix.builders import cell, plan, promise
from tests.unit.reports import builders, generator_builders

PLAN: Final = plan(
    promise("start.is-on"),
    promise(),
    promise("process.alone", call=Call(copies=16), policies=("read-only",)),
    promise("dns.by-name", requires=("resolver:ours",)),
    cells=(cell("0.136.0"), cell("0.163.0")),
)
IDS: Final = tuple(one.id for one in PLAN.cells)
HEAD: Final = generator_text.Head(
    name="mytool", codex="0.163.0", confined="bubblewrap /usr/bin/bwrap", corpus=205, spec="mytool render @CONFIG@"
)


def shown_with(downloads: dict[str, Forecast], **changed: Any) -> plan_text.Shown:
    words: dict[str, Any] = {"plan": PLAN, "downloads": downloads, "seconds": dict.fromkeys(IDS, 4.0)}
    return plan_text.Shown(**(words | changed))


def case(*records: Record) -> generator_text.Case:
    case_line, claim = (
        generator_builders.told("mytool", generator_builders.CASES[0]),
        generator_builders.claimed("mytool", generator_builders.CASES[0]),
    )
    return generator_text.Case(
        name="01-placement-0", why="It broke a file.", records=records, case_line=case_line, claim=claim.claim
    )


def key(promise: str) -> Key:
    return next(one for one in generator_builders.keys("mytool") if one.promise == promise)


def _plan() -> str:
    return plan_text.as_text(
        shown_with(
            {"0.136.0": Forecast(megabytes=87, source="pypi"), "0.163.0": Forecast(why_not="install npm")},
            plan=msgspec.structs.replace(
                PLAN,
                not_planned=(
                    NotPlanned(what=CONTAINERS, why="the engine does not answer (unix:///a)", kind="unavailable"),
                    *(NotPlanned(what=f"cell-{number}", why="over the budget", kind="budget") for number in range(9)),
                ),
            ),
            tools={"ruler": Forecast(megabytes=9, source="npm"), "add-mcp": Forecast(why_not="it needs node")},
            stock=(
                ArtifactStatus(kind="image", name="debian-trixie (none)", ready=True),
                ArtifactStatus(kind="image", name="debian-sid (none)", ready=False, megabytes=60),
            ),
            asked=(
                PlanQuery(kind="engine", name="", where="unix:///b", answer="yes", has=("debian-trixie (none)",)),
                PlanQuery(kind="engine", name="", where="unix:///a", answer="unknown", why="no answer"),
                PlanQuery(kind="archive", name="debian-sid", answer="yes"),
                PlanQuery(kind="registry", name="docker.io", where="unix:///b", answer="no", why="no such host"),
            ),
        )
    )


def _doctor() -> str:
    findings = (
        DoctorFinding(what="codex", answer="yes", why="0.163.0, /usr/bin/codex", needed=True),
        DoctorFinding(
            what="read-only", answer="no", why="bwrap: no permissions", fix="codexsandbox diagnose -", needed=True
        ),
        DoctorFinding(what="docker", answer="no", why="the container engine does not answer", fix="DOCKER_HOST=…"),
        DoctorFinding(what="npm", answer="skipped", why="--offline"),
    )
    with mock.patch.dict(os.environ, COLUMNS="80"):
        return doctor_findings.as_text(findings)


def _selftest() -> str:
    """Returns the table and the closing lines for one good subject, one that is caught and one that survives."""
    fakes = (
        Fake(name="good", kind="good", wrong=""),
        Fake(name="leaks", kind="mutant", wrong="leaves IPv4 open", caught_by=("network.a",)),
        Fake(name="harmless", kind="mutant", wrong="changes nothing", caught_by=("network.b",)),
    )
    ids = ("network.a", "network.b")
    found = {
        "good": dict.fromkeys(ids, Verdict.CONFORMS),
        "leaks": {"network.a": Verdict.VIOLATES, "network.b": Verdict.CONFORMS},
        "harmless": {"network.a": Verdict.CONFORMS, "network.b": Verdict.NOT_APPLICABLE},
    }
    keys = {id: Key(cell="c", door="sandbox", policy=WORKSPACE_WRITE, promise=id) for id in ids}
    records = {
        fake: {keys[id]: Record(key=keys[id], verdict=one, reason="because") for id, one in verdicts.items()}
        for fake, verdicts in found.items()
    }
    promises = tuple(
        Promise(id=id, kind="boundary", severity="high", needs="sandbox", source="here", policies=(WORKSPACE_WRITE,))
        for id in ids
    )
    killing = KillResult(fakes=fakes, promises=promises, records=records)
    faults = (Fault(kind="survivor", who="harmless", why="network.b says not applicable"),)
    parts = (selftest_table.compact(killing), selftest_table.whole(killing))
    return "\n\n".join((*parts, selftest_table.closing(killing, faults, 1.0)))


def _generator_try() -> str:
    records = (
        generator_builders.found(key("generator.comments-stay"), "comment-lost"),
        builders.record(key("generator.second-run-changes-nothing")),
        builders.record(key("managed-block.one-balanced-pair"), Verdict.NOT_APPLICABLE, reason="it has no markers"),
    )
    return "\n".join(
        generator_text.screen(HEAD, [case(*records)], Paint(width=80, color=False, ascii=False), every=False)
    )


SCREENS: Final[dict[str, Callable[[], str]]] = {
    "plan": _plan, "doctor": _doctor, "selftest": _selftest, "generator-try": _generator_try,
}  # fmt: skip
