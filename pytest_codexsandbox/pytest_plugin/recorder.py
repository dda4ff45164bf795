"""Recorder: makes a record of each pytest report. The judge decides, and the report shows the verdict without
credentials."""

import base64
import hashlib
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from pytest_codexsandbox.diagnosis.explain import diagnose
from pytest_codexsandbox.diagnosis.judge import Outcome, basis_of, judge_basis
from pytest_codexsandbox.errors import CodexSandboxError, InputError
from pytest_codexsandbox.harness.event_sink import Pending
from pytest_codexsandbox.harness.user_command import FAILS_OUTSIDE, failed_by_itself, never_ran, wrong_test
from pytest_codexsandbox.matrix.expectation_files import LOST_CAPABILITY
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.private_paths import HOME, PrivatePaths
from pytest_codexsandbox.model.record import Basis, Diagnosis, Record
from pytest_codexsandbox.model.redact import redact
from pytest_codexsandbox.model.report_payload import Payload, put
from pytest_codexsandbox.model.result_properties import properties
from pytest_codexsandbox.model.verdict import RED, Verdict
from pytest_codexsandbox.pytest_plugin.collection import KEY
from pytest_codexsandbox.pytest_plugin.fixtures import FAULT, LOST, NOT_APPLICABLE, TRIAL
from pytest_codexsandbox.pytest_plugin.run import PytestRun, get_run
from pytest_codexsandbox.pytest_plugin.terminal_filter import TOLD
from pytest_codexsandbox.pytest_plugin.worker_files import is_stopped
from pytest_codexsandbox.suite_protocols import SuiteTrial

USER: Final = "user"  # the suite of a user's own tests
_LONGEST: Final = 4000  # characters of a message
RECORD: Final = pytest.StashKey[Record]()
# A machine that fails is never a finding about Codex.
MACHINE_FAULTS: Final = (CodexSandboxError, OSError, MemoryError, TimeoutError)


class ReportRedactor:
    """Redacts a report of pytest as soon as it is made: before other plugins, such as allure-pytest, copy from it."""

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if item.stash.get(KEY, None) is not None:
            _redact(report)
        return report


class Recorder:
    """Records results. Registered in every process that runs items."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.run = config, get_run(config)
        self._masks: dict[tuple[bool, tuple[str, ...]], PrivatePaths] = {}  # compiled once for each set of worlds

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        key = item.stash.get(KEY, None)
        if key is None:
            return report
        record = self._record(item, call, report, key)
        if record is not None:
            if TRIAL in item.stash:
                item.stash[TRIAL].is_judged = True
            record = self._finish(item, record)
            _set_properties(item, report, record)
            item.stash[RECORD] = record
            traceback = report.longrepr
            show(report, record)
            if record.suite == USER and report.failed and report.when == "call" and not _is_ours(call):
                report.longrepr = traceback or report.longrepr  # pytest explains a user's own assertion better
            setattr(report, TOLD, record.suite != USER)
            _redact(report)
            self._attach(item, record)
        events = self.run.events
        if record is not None or events.pending.lines:
            pending, events.pending = events.pending, Pending()
            lines, seconds = tuple(pending.lines), pending.seconds_in_codex
            put(report, Payload(lines=lines, record=record, seconds_in_codex=seconds))
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        done = yield
        if self.run.is_worker and is_stopped(self.run.folder):
            item.session.shouldstop = "the run was interrupted"
        return done

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self.run.close()

    def pytest_unconfigure(self) -> None:
        self.run.close()

    # ---- inside
    def _record(
        self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport, key: Key
    ) -> Record | None:
        untried = item.stash.get(FAULT, None) if report.when == "setup" else None
        fault = untried if untried is not None else call.excinfo.value if call.excinfo else None
        message = _message(fault) if fault is not None else ""
        if report.when == "setup":
            if report.passed:
                return None
            lost = item.stash.get(LOST, "")
            if lost:
                return lost_capability(key, lost)
            ruled_out = item.stash.get(NOT_APPLICABLE, "")
            if report.skipped and ruled_out:
                return Record(key=key, verdict=Verdict.NOT_APPLICABLE, reason=ruled_out, basis=Basis(how="ruled-out"))
            trial = item.stash.get(TRIAL, None)
            if trial is not None and report.skipped:
                return self._judge(trial, key, "failed", message)
            return _faulty(key, message or "the test could not be set up", trial)
        if report.when == "call":
            trial = item.stash.get(TRIAL, None)
            if trial is None:
                return _faulty(key, "the test ran without the harness's own fixture")
            if isinstance(fault, InputError) and _suite(key) == USER:
                why = f"; {fault.why}" if fault.why else ""
                wrong = wrong_test(key, f"{_line_of(item, call)}: {fault.what}{why}", fault.next_step)
                return msgspec.structs.replace(wrong, calls=_calls(trial))
            if isinstance(fault, MACHINE_FAULTS):
                return _faulty(key, message, trial)
            if _suite(key) == USER and not trial.rows and not report.skipped:
                return msgspec.structs.replace(never_ran(key, message), calls=_calls(trial))
            if report.failed and _suite(key) == USER:
                trial.rows += failed_by_itself(trial.rows, trial.outside, title=trial.promise.title, message=message)
            return self._judge(trial, key, report.outcome, message)
        if report.failed:
            return _faulty(key, f"after the test: {message}", item.stash.get(TRIAL, None))
        return None

    def _judge(self, trial: SuiteTrial, key: Key, outcome: Outcome, message: str) -> Record:
        basis = basis_of(trial, outcome=outcome, message=message)
        result = judge_basis(trial.promise, basis, trial.rows, seen=trial.seen, started=trial.started)
        blocked = result.verdict is Verdict.BLOCKED
        return Record(
            key=key,
            verdict=result.verdict,
            direction=result.direction,
            reason=result.reason,
            evidence=tuple(trial.rows),
            diagnosis=trial.started.diagnosis if blocked else None,
            calls=_calls(trial),
            blocked_by=result.blocked_by,
            basis=basis,
        )

    def _finish(self, item: pytest.Item, record: Record) -> Record:
        run, key, trial = self.run, record.key, item.stash.get(TRIAL, None)
        record = self._masks_of(trial).of(record)
        run.attempts[key] = run.attempts.get(key, 0) + 1
        changes: dict[str, Any] = {"attempt": run.attempts[key], "worker": run.worker, "suite": _suite(key)}
        cell = run.cells_by_id.get(key.cell)
        if cell is not None:
            spec = cell.environment
            changes |= {"provenance": spec.provenance, "synthetic": spec.synthetic, "arch": spec.arch}
            if trial is not None:
                changes |= {
                    "environment": run.environment_ids[cell.id],
                    "subject": cell.subject.label,
                }
        record = msgspec.structs.replace(record, **changes)
        if trial is not None and record.verdict in RED | {Verdict.BLOCKED} and record.diagnosis is None:
            record = msgspec.structs.replace(record, diagnosis=_why(run, trial, record))
        if record.verdict is Verdict.VIOLATES:
            version = run.measurement.resources.programs.version(cell) if cell is not None and trial is not None else ""
            record = run.cover(key, record, version)
        found = record.diagnosis.fingerprint if record.diagnosis else ""
        shows = record.verdict in (Verdict.VIOLATES, Verdict.EXPECTED, Verdict.BLOCKED) or found == FAILS_OUTSIDE
        if trial is not None and shows:
            record = msgspec.structs.replace(record, repro=self._write_repro(trial, record))
        return record

    def _masks_of(self, trial: SuiteTrial | None) -> PrivatePaths:
        """Returns the replacement of the paths of a trial's worlds and of the run."""
        seen = (*trial.seen, *trial.control) if trial is not None else ()
        worlds = {one.world.id: one.world for one in seen if one.world is not None}
        shows_home = trial is not None and trial.shows_home
        key = (shows_home, tuple(worlds))
        if key not in self._masks:
            places = {path: word for path, word in self.run.places.items() if not (shows_home and word == HOME)}
            self._masks[key] = PrivatePaths(worlds.values(), places)
        return self._masks[key]

    def _write_repro(self, trial: SuiteTrial, record: Record) -> str:
        """Writes the repro script of the suite. Where the folder cannot be written, only the script is missing."""
        script = self.run.measurement.runner_of(record.key).repro(trial, record)
        if not script:
            return ""
        target = self.run.folder / repro_name(record.key)
        try:
            target.parent.mkdir(mode=0o700, exist_ok=True)
            target.write_text(redact(script), encoding="utf-8")
        except OSError:
            return ""
        return str(repro_name(record.key))

    def _attach(self, item: pytest.Item, record: Record) -> None:
        if self.config.pluginmanager.hasplugin("allure_listener"):
            from pytest_codexsandbox.pytest_plugin.allure import attach

            cell = self.run.cells_by_id.get(record.key.cell)
            attach(item, record, axes=cell.axes if cell else {}, run=self.run.folder.name)


def _set_properties(item: pytest.Item, report: pytest.TestReport, record: Record) -> None:
    """Adds the result's fields to the properties of pytest's reports. Removes those of an earlier attempt."""
    earlier = item.stash.get(RECORD, None)
    gone = set(properties(earlier).items()) if earlier is not None else set()
    kept = [pair for pair in item.user_properties if pair not in gone]
    item.user_properties[:] = [*kept, *properties(record).items()]
    report.user_properties = list(item.user_properties)


def lost_capability(key: Key, reason: str) -> Record:
    """Returns the record of a lost capability, known from the binary's probe and from what releases were measured to
    do. No deviation covers it."""
    cause = Diagnosis(
        fingerprint=LOST_CAPABILITY,
        cause=f"A capability was lost: {reason}.",
        verdict="sandbox",
        remedy="`codexsandbox capabilities --codex-bin PATH` shows what the build reports about itself.",
    )
    basis = Basis(how="lost")
    return Record(key=key, verdict=Verdict.VIOLATES, direction="denied", reason=reason, diagnosis=cause, basis=basis)


def _faulty(key: Key, reason: str, trial: SuiteTrial | None = None) -> Record:
    """Returns the record of a test that a fault of the machine or of the harness ended. `trial`: what it had so far."""
    rows, calls = (tuple(trial.rows), _calls(trial)) if trial is not None else ((), ())
    return Record(key=key, verdict=Verdict.BROKEN, reason=reason, evidence=rows, calls=calls, basis=Basis(how="fault"))


def _calls(trial: SuiteTrial) -> tuple[str, ...]:
    """Returns the ids of the calls of a trial. A call that no result names shows that an attempt is missing."""
    return tuple(dict.fromkeys(seen.id for seen in (*trial.seen, *trial.control)))


def repro_name(key: Key) -> Path:
    """Returns a short name, so that the line to paste is one line on a narrow terminal. The script itself says what it
    shows."""
    digest = base64.b32encode(hashlib.sha256(str(key).encode()).digest()[:5]).decode().lower()
    topic = "".join(sign for sign in key.promise.partition(".")[0] if sign.isalnum())
    return Path("repro") / f"{topic[:10]}-{digest}.sh"


def show(report: pytest.TestReport, record: Record) -> None:
    """Makes pytest's own outcome say what the record says, and never more."""
    if record.verdict in RED:
        report.outcome = "failed"
        report.longrepr = record_text(record)
    elif record.verdict is Verdict.EXPECTED:
        report.outcome = "skipped"
        report.wasxfail = f"known deviation {record.deviation}"
    elif record.verdict in (Verdict.BLOCKED, Verdict.NOT_APPLICABLE):
        report.outcome = "skipped"
        report.longrepr = (report.location[0], report.location[1] or 0, f"{record.verdict.value}: {record.reason}")
    else:
        report.outcome = "passed"
        report.longrepr = None


def record_text(record: Record) -> str:
    lines = [f"{record.verdict.value}{f' ({record.direction})' if record.direction else ''}: {record.reason}"]
    for row in record.evidence:
        if not (row.held and row.control_held):
            lines += [f"  promised  {row.claim}", f"  saw       {row.saw}", f"  control   {row.control or 'none'}"]
    if record.diagnosis is not None:
        lines += [f"  because   {record.diagnosis.cause}"]
        lines += [f"  try       {record.diagnosis.remedy}"] if record.diagnosis.remedy else []
        lines += [f"  way       {way}" for way in record.diagnosis.ways]
    return "\n".join(lines)


def _redact(report: pytest.TestReport) -> None:
    """Removes credentials from what pytest shows by itself: tracebacks and captured output of tests."""
    report.sections = [(name, redact(text)) for name, text in report.sections]
    shown = report.longrepr
    if isinstance(shown, tuple):
        report.longrepr = (shown[0], shown[1], redact(shown[2]))
    elif shown is not None and redact(str(shown)) != str(shown):
        report.longrepr = redact(str(shown))


def _message(fault: BaseException) -> str:
    """Returns an error with its type; one of codexsandbox on one line, without it."""
    if not isinstance(fault, CodexSandboxError):
        return f"{type(fault).__name__}: {fault}"[:_LONGEST]
    return "; ".join(" ".join(line.split()) for line in str(fault).splitlines())[:_LONGEST]


def _line_of(item: pytest.Item, call: pytest.CallInfo[None]) -> str:
    """Returns the line of the user's own file in which the error happened."""
    entries = call.excinfo.traceback if call.excinfo is not None else ()
    lines = [entry.lineno + 1 for entry in entries if Path(str(entry.path)) == item.path]
    return f"{item.nodeid.partition('::')[0]}:{lines[-1]}" if lines else item.nodeid


def _is_ours(call: pytest.CallInfo[None]) -> bool:
    """Checks whether codexsandbox raised the error. Its message says what is wrong; a traceback would show the plugin's
    own lines."""
    return call.excinfo is not None and isinstance(call.excinfo.value, CodexSandboxError)


def _suite(key: Key) -> str:
    return USER if key.promise.startswith("user.") else "shipped"


def _why(run: PytestRun, trial: SuiteTrial, record: Record) -> Diagnosis | None:
    named = run.suite_index.of(record.key).names_faults
    return diagnose(record, trial.seen, _facts(run, trial), fingerprints=run.fingerprints, named=named)


def _facts(run: PytestRun, trial: SuiteTrial) -> dict[str, Any]:
    resources, cell = run.measurement.resources, run.measurement.cache.cells[trial.key.cell]
    version = resources.programs.version(cell)
    try:
        profile = cell.environment.profile if cell.environment.container else ""
        return {**resources.pool.facts(cell.environment), "codex": version, "profile": profile}
    except CodexSandboxError:  # the environment is not open, so its facts explain nothing
        return {"codex": version}
