"""Controller: writes the journal, prints the matrix and decides the exit code. Runs once, in the user's own process."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from pytest_codexsandbox import __version__
from pytest_codexsandbox.environments.host_facts import boot_id
from pytest_codexsandbox.environments.run_dirs import claim, remove_owned
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness import replay
from pytest_codexsandbox.harness.durations import Phase, spent
from pytest_codexsandbox.journal import exit_code
from pytest_codexsandbox.journal.store import JournalWriter
from pytest_codexsandbox.matrix.expectations import Applied
from pytest_codexsandbox.matrix.plan import as_line
from pytest_codexsandbox.model.journal_lines import (
    EndLine,
    EnvironmentLine,
    OtherFailures,
    ResultLine,
    RunLine,
    SubjectLine,
)
from pytest_codexsandbox.model.ledger import ReadJournal, count, never_written, settle
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.report_payload import Payload, get, put
from pytest_codexsandbox.model.verdict import RED
from pytest_codexsandbox.pytest_plugin import preparation
from pytest_codexsandbox.pytest_plugin.hook_calls import RecordHook
from pytest_codexsandbox.pytest_plugin.journal_readback import read_back, result_files
from pytest_codexsandbox.pytest_plugin.run import FOLDER, get_run, usage_errors
from pytest_codexsandbox.pytest_plugin.run_planner import FACTS
from pytest_codexsandbox.pytest_plugin.terminal_filter import count_as_failed
from pytest_codexsandbox.pytest_plugin.terminal_messages import notify, tell_last
from pytest_codexsandbox.pytest_plugin.work_units import index_of
from pytest_codexsandbox.pytest_plugin.worker_agreement import WorkerAgreement
from pytest_codexsandbox.pytest_plugin.worker_files import read_leaks, read_plan, remove_stop, write_stop
from pytest_codexsandbox.reports.installed_formats import load_formats
from pytest_codexsandbox.reports.writer import WrittenReport, reports
from pytest_codexsandbox.system.signals import undisturbed

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter  # pytest exports it only from 9.0 on

_NOTHING: Final = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


class Controller:
    def __init__(self, config: pytest.Config) -> None:
        self.config, self.run = config, get_run(config)
        self.began = time.monotonic()
        self.journal: JournalWriter | None = None
        self.plan: Plan | None = None
        self.records: list[Record] = []
        self.nodeids: dict[Key, str] = {}
        self.agreement = WorkerAgreement()
        self.leaks: tuple[str, ...] = ()
        self.environments: list[EnvironmentLine] = []
        self.notes: list[str] = []
        self.reasons: tuple[str, ...] = ()
        self.code: int | None = None  # the exit status, once it is settled
        self.interrupted = False
        self.ended = 0  # the exit status of pytest and other plugins
        self.applied: Applied | None = None
        self.seconds = 0.0
        self.fault = ""  # what is wrong with the journal, in the end
        self.done: ReadJournal | None = None  # as it was read back
        self.written: tuple[WrittenReport, ...] = ()
        self.unwritten: dict[str, None] = {}  # names of reports that could not be written, in order
        self.in_codex = 0.0
        self.phases: list[Phase] = []
        self.onlookers = RecordHook(config)

    # ---- before the first effect
    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Checks the request before workers start: in a worker a wrong option would be an internal error."""
        if self.config.getoption("tx", None):
            with usage_errors():
                self.run.base_plan()
                if self.run.only_shipped:  # else expectations may name the user's own tests, known later
                    _ = self.run.deviations

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        errors = session.testsfailed and not self.config.getoption("continue_on_collection_errors")
        if errors:  # a file of the user's own cannot be imported: pytest runs nothing, so nothing is begun
            return
        if self.run.plan is not None and not session.config.getoption("collectonly"):
            with usage_errors():
                self.begin(self.run.plan)

    def begin(self, plan: Plan) -> None:
        if self.journal is not None:
            return
        self.plan = plan
        self.run.user_promises |= {one.id: one for one in plan.promises if one.id not in self.run.promises}
        _ = self.run.deviations, self.run.worlds  # errors in either are raised before the first effect
        asked = self.run.settings
        load_formats(asked.reports)
        words = tuple(str(word) for word in self.config.invocation_params.args)
        self.journal = JournalWriter.open(
            self.run.folder,
            RunLine(
                id=self.run.folder.name,
                started=_now(),
                product=f"codexsandbox {__version__}",
                preset=plan.preset,
                invocation=("pytest", *words),
                strict=asked.strict,
                boot_id=boot_id(),
                pid=os.getpid(),
                places=self.run.places,
            ),
        )
        self.journal.write(as_line(plan, self.run.deviations, replay.digests(self.run.planner.parts.pairs)))
        self.journal.sync()
        self._need_whole(self.journal)
        claim(self.run.worlds)
        for one in plan.not_planned:
            if one.required:
                notify(self.config, f"not measured, and the run goes on without: {one.what}: {one.why}")
        self._have_subjects(plan)
        if self.run.generators:
            preparation.have_tools(self.config, plan, self.run.writers)
        preparation.have_environments(self.config, plan)

    def _need_whole(self, journal: JournalWriter) -> None:
        """Ends the run where the plan could not be written: without it there is no ledger, so nothing is measured."""
        if journal.fault:
            journal.close()
            self.journal = None
            raise InputError(
                "the journal cannot be written",
                where=str(journal.path),
                why=journal.fault,
                next_step="give a folder with free disk space: --codex-report-dir DIR",
            )

    def _have_subjects(self, plan: Plan) -> None:
        """Downloads each Codex. An unavailable one breaks its cells; a run without any ends here."""
        error = preparation.nothing_to_measure(plan, preparation.have_subjects(self.config, plan, self.run.resolver))
        if error is None:
            return
        if self.journal is not None:
            self._clean_up()
            self.journal.close()
            self.journal = None
        raise error

    # ---- with xdist, workers collect and write their plan into the run's folder
    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        with usage_errors():
            node.workerinput[FOLDER] = str(self.run.folder)
            if self.run.settings.active:
                node.workerinput[FACTS] = self.run.planner.encoded_facts()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        from pytest_codexsandbox.pytest_plugin.scheduler import EnvironmentScheduler

        return EnvironmentScheduler(config, log, share=index_of(self.run.cells, self.run.base_plan()).share)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        plan = read_plan(self.run.folder, node.gateway.id)
        if plan is None:
            return
        if self.plan is not None and plan.keys != self.plan.keys:
            self.agreement.faults.append(f"worker {node.gateway.id} collected another plan")
        with usage_errors():
            self.begin(plan)

    # ---- while items run
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        carried = get(report) or Payload()
        record = carried.record
        self.phases.append(Phase(report.nodeid, report.duration, carried.calls(), record.key if record else None))
        if self.journal is None:
            return
        for line in carried.all_lines():
            self.journal.write(line)
        for line in carried.lines:
            if isinstance(line, EnvironmentLine | SubjectLine):
                self.agreement.take(line)
        self.environments += [line for line in carried.lines if isinstance(line, EnvironmentLine)]
        if carried.lines:  # pytest keeps every report until the end
            put(report, msgspec.structs.replace(carried, lines=()))
        self.in_codex += carried.seconds_in_codex
        if record is not None:
            self.nodeids[record.key] = report.nodeid
            self.records.append(record)
            if self.config.hook.pytest_codexsandbox_record.get_hookimpls():
                self.onlookers.show(record)

    # ---- the end
    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Notes the interrupt before other plugins print: a second Ctrl-C keeps pytest from setting its status."""
        self.interrupted = True
        if self.journal is not None and self.config.getoption("tx", None):
            write_stop(self.run.folder)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Settles the results before pytest's closing screen, which shows them."""
        if self.journal is not None and self.plan is not None:
            changed = session.exitstatus  # by another plugin, perhaps to no number at all
            ended = int(exitstatus) or (int(changed) if isinstance(changed, int) else 1)
            ended = ended or (int(pytest.ExitCode.INTERRUPTED) if self.interrupted else 0)
            session.exitstatus = self._settle(self.journal, self.plan, ended)
        elif self.run.settings.active and int(exitstatus) in _NOTHING and not _only_looked(self.config):
            self.code = session.exitstatus = int(pytest.ExitCode.NO_TESTS_COLLECTED)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Removes what is left when another plugin's error kept the run from its end: the journal has no end then."""
        if self.journal is not None and self.code is None:
            self._clean_up()

    def end(self, given: object) -> object:
        """Returns the exit status that the screen and the journal name, whatever other plugins changed. A failure from
        elsewhere after a run that passed is written into the journal."""
        if self.code is None:
            began = self.journal is not None and given not in exit_code.PYTEST_OWN
            return tell_last(self.config, exit_code.NO_END) if began else given
        if self.code == 0 and given != 0 and self.journal is not None:
            self.code = self._conclude(self.journal, self._others(incomplete=self.fault, overruled=True))
            tell_last(self.config, self.reasons[0])
        return self.code

    def close(self) -> None:
        """Closes the journal. A second call does nothing."""
        if self.journal is not None:
            self.journal.close()

    def _settle(self, journal: JournalWriter, plan: Plan, exitstatus: int) -> int:
        self.leaks, self.ended = self._clean_up(), exitstatus
        self.applied = self._apply(journal, plan)
        self.seconds = time.monotonic() - self.began
        red = {key: one.reason for key, one in self.applied.records.items() if one.verdict in RED}
        count_as_failed(self.config, {self.nodeids[key]: why for key, why in red.items() if key in self.nodeids})
        with undisturbed():
            first = self._others(incomplete=journal.fault)
            self.code = self._conclude(journal, first)
            last = self._others(incomplete=self.fault)
            if last != first:  # the journal or a report could not be written: they have to name that as well
                self.code = self._conclude(journal, last)
        return self.code

    def _conclude(self, journal: JournalWriter, others: OtherFailures) -> int:
        """Writes the journal's last line, in place of an earlier one, and then the reports made of the journal."""
        assert self.plan is not None and self.applied is not None
        records, outcome = self.applied.records, self._outcome(others)
        journal.write_end(
            EndLine(
                finished=_now(),
                exit=outcome.code,
                reasons=outcome.reasons,
                counts=count(records.values()),
                leaks=self.leaks,
                seconds=self.seconds,
                seconds_in_codex=self.in_codex,
                cells=spent(self.plan, self.phases),
                others=others,
            )
        )
        self.done, misread = read_back(journal.path, records, self.run.fingerprints)
        self.fault = self.fault or journal.fault or misread
        self.reasons = outcome.reasons
        self.written = self._write_reports()
        self.unwritten |= {one.path.name: None for one in self.written if one.fault}
        return outcome.code

    def _write_reports(self) -> tuple[WrittenReport, ...]:
        asked, folder = self.run.settings, self.run.folder
        completed = result_files(self.config).complete(folder.name, self.done, self.reasons)
        if self.done is None:
            return tuple(completed)
        written = reports(load_formats(asked.reports), self.done, folder, run_dir=self._near(folder))
        return (*written, *completed)

    def _others(self, *, incomplete: str, overruled: bool = False) -> OtherFailures:
        """Returns the reasons for the exit code that only this process knows."""
        ended = self.ended
        return OtherFailures(
            pytest_code=ended if ended in exit_code.PYTEST_OWN else 0,
            tests=self._foreign(ended),
            overruled=overruled or ended not in (0, 1, *exit_code.PYTEST_OWN),
            disagreed=tuple(self.agreement.faults),
            incomplete=incomplete,
            never_run=len(never_written(self.applied.records)) if self.applied else 0,
            unwritten=tuple(self.unwritten),
            hooks=tuple(self.onlookers.faults),
        )

    def _outcome(self, others: OtherFailures) -> exit_code.ExitResult:
        assert self.plan is not None and self.applied is not None
        strict, seen = self.run.settings.strict, self.environments
        return exit_code.of_run(self.plan, self.applied, others, leaks=self.leaks, environments=seen, strict=strict)

    def _apply(self, journal: JournalWriter, plan: Plan) -> Applied:
        """Applies the expectations. Healed, expired or too broad ones are known at the end; they are results too."""
        states = settle(plan.keys, tuple(self.records), plan.not_applicable)
        applied = exit_code.settle(
            plan,
            self.records,
            self.run.deviations,
            versions=exit_code.versions(plan.cells, self.agreement.versions),
            today=datetime.now(UTC).date(),
        )
        self.notes += _first_of(applied.refused)
        for key, record in applied.records.items():
            if record.verdict is not states[key].verdict:
                last = msgspec.structs.replace(record, attempt=record.attempt + 1)
                journal.write(ResultLine.of(last))
                self.onlookers.show(last)
        return applied

    def _foreign(self, exitstatus: int) -> int:
        """Counts the user's own failed tests outside the matrix: pytest's own verdict on them is kept."""
        ours = sum(1 for record in self.records if record.verdict.value in ("violates", "broken", "stale"))
        failed = getattr(self.config.pluginmanager.getplugin("session"), "testsfailed", 0)
        return max(int(not failed), failed - ours) if exitstatus == 1 else 0  # else another plugin's code

    def _clean_up(self) -> tuple[str, ...]:
        """Closes this process's environments and removes the run's worlds. Returns the leaks of all processes."""
        self.run.close()
        remove_stop(self.run.folder)
        folder, leaks = self.run.worlds, read_leaks(self.run.folder)
        left = remove_owned(folder)
        is_there = os.path.lexists(folder)  # False also where the path cannot be read: nothing was made there
        return (*leaks, f"{folder} could not be removed: {'; '.join(left[:3])}") if is_there else leaks

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: "TerminalReporter", exitstatus: int) -> None:
        if self.journal is None or (int(exitstatus) == pytest.ExitCode.USAGE_ERROR and not self.records):
            return  # a usage error is shown alone, not below a screen of results that never ran
        if self.done is not None:
            self._print(terminalreporter, self.done)
        end = self.done.end if self.done is not None else None
        if end is None or end.reasons != self.reasons:  # the journal could not be written
            for place, reason in enumerate(self.reasons):
                word = "also" if place else "exit"
                terminalreporter.write_line(f"{word} {reason.replace(' ', ': ', 1)}", red=True)
        for word in (*self.agreement.faults, *self.notes):
            terminalreporter.write_line(word, yellow=True)

    def _print(self, terminalreporter: "TerminalReporter", done: ReadJournal) -> None:
        from pytest_codexsandbox.reports.terminal import render

        writer = terminalreporter._tw
        text = render(
            done,
            width=min(writer.fullwidth, 200),
            color=writer.hasmarkup,
            ascii=not _unicode(writer),
            verbosity=max(0, self.config.get_verbosity()),
            folder=self._near(self.run.folder),
        )
        terminalreporter.write_line("")
        for line in text.splitlines():
            terminalreporter.write_line(line)
        for one in self.written:
            line = f"report: {one.path} {one.fault}" if one.fault else f"report: {self._near(one.path)}"
            terminalreporter.write_line(line)

    def _near(self, path: Path) -> Path:
        """Returns the path as a user types it from the folder where pytest was called."""
        here = self.config.invocation_params.dir
        return path.relative_to(here) if path.is_relative_to(here) else path


def _first_of(refused: tuple[str, ...]) -> list[str]:
    """Returns the first refusal and the number of the others: they differ only in the deviation."""
    more = f" (and {len(refused) - 1} more likewise)" if len(refused) > 1 else ""
    return [f"{refused[0]}{more}"] if refused else []


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _unicode(writer: Any) -> bool:
    return "utf" in (getattr(writer._file, "encoding", "") or "").lower()


def _only_looked(config: pytest.Config) -> bool:
    return bool(config.getoption("collectonly"))
