"""Case cache: runs of generators, Codex's claims about them, and what Codex enforces. Each is made once per worker."""

import hashlib
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

import msgspec

from pytest_codexsandbox.doors.claims import refused_words
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.generators import effective_policy
from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.codex_cwd import started
from pytest_codexsandbox.generators.deciding_key import with_cause, with_cause_of_acts, with_cause_of_loading
from pytest_codexsandbox.generators.effective_policy import Oracle
from pytest_codexsandbox.generators.file_store import FileStore
from pytest_codexsandbox.generators.managed_block import CaseNotApplicable
from pytest_codexsandbox.harness.generators.enforcement import Enforced, Enforcement
from pytest_codexsandbox.harness.generators.enforcement_key import (
    chooses_a_profile,
    deciding,
    spelled_out,
    with_settings_alone,
)
from pytest_codexsandbox.harness.generators.kept_settings import with_user_settings
from pytest_codexsandbox.harness.generators.path_mapping import meant, readable, written
from pytest_codexsandbox.harness.observation_cache import Kept, memoize
from pytest_codexsandbox.harness.worker_resources import WorkerResources
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet, policy_of
from pytest_codexsandbox.matrix.request_channels import UNTOLD
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.generator import (
    Case,
    CaseRun,
    Claim,
    Declaration,
    ExpectedPolicy,
    Files,
    Finding,
    GeneratedConfig,
    Intent,
    Mode,
    expected,
    is_silent,
)
from pytest_codexsandbox.model.journal_lines import ClaimLine, StoryLine
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.story_log import anonymous, told_files, told_runs, without_paths
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import WriteConfig

T = TypeVar("T")
LOADS: Final = "generator.config-loads"
ASKED: Final = Intent(roots=("@ROOT0@",), network=True)  # the most that a generator can be asked for
ORACLES: Final = ("read-only", "workspace-write", "danger-full-access")
TORN: Final = b"[[torn\n"
NO_FILE: Final = Case(id="no-file", why="the user has no file", config=None)


class CheckOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Findings, and their source: the id of a case run, a claim or a call."""

    findings: tuple[Finding, ...]
    by: str
    blocked_by: str = ""
    unconfined: bool = False  # generators ran unconfined, as the user allowed


class CaseRunnerProtocol(Protocol):
    """Runs generators, in private folders and confined."""

    def case_run(self, cell: Cell, case: Case, intent: Intent) -> CaseRun: ...
    def strained(self, kind: str, cell: Cell, case: str, intent: Intent) -> tuple[Finding, ...]: ...
    def leave(self, spec: EnvironmentSpec) -> None: ...
    def close(self) -> None: ...


class ClaimSource(Protocol):
    """Asks the real Codex of a cell how it reads files."""

    def text(self, cell: Cell, config: bytes) -> Claim: ...
    def before(self, cell: Cell, case_run: CaseRun, mode: Mode = "") -> Claim: ...
    def after(self, cell: Cell, case_run: CaseRun) -> Claim: ...
    def leave(self, spec: EnvironmentSpec) -> None: ...
    def close(self) -> None: ...


class GeneratorControls(Protocol):
    """Runs the control generators, whose answer is known, and reports on the confinement."""

    def outcome(self, cell: Cell) -> CheckOutcome: ...


class CaseCache:
    def __init__(
        self,
        resources: WorkerResources,
        writers: GeneratorSet,
        *,
        runner: CaseRunnerProtocol,
        claims: ClaimSource,
        controls: GeneratorControls,
        store: FileStore | None = None,
    ) -> None:
        """`store`: keeps what generators wrote beside the configuration; None keeps it in memory."""
        self._resources, self._writers, self._runner, self._claims = resources, writers, runner, claims
        self._controls, self._store = controls, store
        self._enforcement = Enforcement(resources, write=_there)
        self._kept: Kept = {}

    def leave(self, spec: EnvironmentSpec) -> None:
        """Ends what runs in an environment, before the environment ends."""
        self._runner.leave(spec)
        self._claims.leave(spec)

    def close(self) -> None:
        self._claims.close()
        self._runner.close()

    def writer(self, cell: Cell, policy: str) -> WriteConfig:
        """Returns the function that requests a policy from a door of this cell by the generator's configuration. Runs
        the generator now."""
        self._need(cell)
        intent = self._writers.intents(cell)[policy]
        if policy_of(self._expected(cell, intent)) != policy:
            raise HarnessError(
                f"for Codex {self._version(cell)} the generator's rows lead to another policy than {policy}",
                where=cell.id,
                why="the plan did not know the version of this build",
                next_step=f"--codex-bin PATH@{self._version(cell)}",
            )
        case_run = self._plain(cell, intent)
        return lambda world, policy: _there(cell, case_run, world)

    # ---- results for a generator trial
    def declaration(self, cell: Cell) -> Declaration:
        return self._writers.declaration(cell)

    def case_run(self, cell: Cell, case: str) -> tuple[CaseRun, str]:
        self._need(cell)
        return self._once(("story", cell.id, case), lambda: self._tell(cell, case))

    def loads(self, cell: Cell, case: str) -> CheckOutcome:
        case_run, by = self.case_run(cell, case)
        why = self._not_asked(cell, case_run)
        if not why and _declined(case_run):
            why = case_view.declined(case_run)  # the file is the user's own
        if why:
            return _skipped(effective_policy.LOADS, why, by)
        claim, by = self.claim(cell, case)
        if not claim.loads and not self._before(cell, case_run).loads:
            return _skipped(effective_policy.LOADS, "the user's own file does not load in this Codex either", by)
        return CheckOutcome(
            findings=with_cause_of_loading(effective_policy.loads(claim, self.oracle(cell)), case_run), by=by
        )

    def claims(self, cell: Cell, case: str) -> CheckOutcome:
        decided = self._asked(cell, case)
        if decided is not None:
            return decided
        claim, by = self.claim(cell, case)
        (expect, why), (case_run, _) = self.expect(cell, case), self.case_run(cell, case)
        says = with_cause(effective_policy.says(claim, expect, self.oracle(cell)), case_run)
        findings = (*says, *started(case_run, expect))
        return CheckOutcome(findings=_unless_open(findings, why), by=by)

    def enforces(self, cell: Cell, case: str) -> tuple[CheckOutcome, tuple[Observation, ...]]:
        case_run, by = self.case_run(cell, case)
        spoken = bool(refused_words(case_run.runs[-1].argv))
        decided = self._unjudged(cell, case_run, by) if spoken else self._asked(cell, case)
        if decided is not None:
            return decided, ()
        enforced, (expect, why) = self.enforced(cell, case), self.expect(cell, case)
        acts = with_cause_of_acts(enforced.findings, case_run)
        findings = _unless_open((*started(case_run, expect), *acts), why)
        return CheckOutcome(findings=findings, by=enforced.by), enforced.seen

    def strained(self, kind: str, cell: Cell, case: str) -> CheckOutcome:
        self._need(cell)

        def strain() -> CheckOutcome:
            findings = self._runner.strained(kind, cell, case, self._intent(cell))
            return CheckOutcome(findings=findings, by=f"strain-{kind}-{cell.subject.generator}-{case or 'once'}")

        return self._once(("strain", kind, cell.id, case), strain)

    def standing(self, cell: Cell) -> CheckOutcome:
        return self._once(("standing", cell.environment.id, cell.subject.label), lambda: self._controls.outcome(cell))

    def _need(self, cell: Cell) -> None:
        """Raises HarnessError where a control generator was misjudged or none ran: no result of this generator can be
        trusted."""
        found = self.standing(cell).findings
        wrong = [one for one in found if not (one.held and one.control_held)]
        if wrong or not found:
            why = "; ".join(f"{one.claim}: {one.saw}" for one in wrong[:3]) or "none was run"
            raise HarnessError(
                "the control generators were misjudged, so no result of this generator can be trusted",
                where=cell.id,
                why=why,
            )

    # ---- parts of these results
    def claim(self, cell: Cell, case: str) -> tuple[Claim, str]:
        return self._once(("claim", cell.id, case), lambda: self._claim(cell, case))

    def oracle(self, cell: Cell) -> Oracle:
        """Returns what a Codex in an environment says of known files. The generator has no part in it."""
        return self._once(("oracle", cell.environment.id, cell.subject.label), lambda: self._oracle(cell))

    def expect(self, cell: Cell, case: str) -> tuple[ExpectedPolicy, str]:
        """Returns the policy that must be in force after this case, and why it is unknown ("" if it is known). It is
        the requested policy; parts that the generator keeps stay as they were."""
        case_run, _ = self.case_run(cell, case)
        asked = self._wanted(cell, case_run)
        asked = msgspec.structs.replace(asked, roots=meant(asked.roots, case_run.world))
        if not asked.kept:
            return asked, ""
        return with_user_settings(asked, self._before(cell, case_run), lambda mode: self._before(cell, case_run, mode))

    def enforced(self, cell: Cell, case: str) -> Enforced:
        """Returns what Codex enforces for a case. Measured once for each expected policy and each set of facts that
        decide what Codex enforces."""
        (expect, _), (case_run, _) = self.expect(cell, case), self.case_run(cell, case)
        asked_there = not refused_words(case_run.runs[-1].argv)
        decides = deciding(self.claim(cell, case)[0], case_run) if asked_there else self._beside_words(cell, case_run)
        key = ("enforced", cell.id, decides, msgspec.json.encode(expect))
        return self._once(key, lambda: self._enforcement.of(cell, case_run, expect))

    # ---- inside
    def _asked(self, cell: Cell, case: str) -> CheckOutcome | None:
        """Returns an outcome with the reason why the policy of this case cannot be measured; None: it can."""
        case_run, by = self.case_run(cell, case)
        if decided := self._unjudged(cell, case_run, by, self._not_asked(cell, case_run)):
            return decided
        claim, by = self.claim(cell, case)
        return None if claim.loads else CheckOutcome(findings=(), by=by, blocked_by=LOADS)

    def _unjudged(self, cell: Cell, case_run: CaseRun, by: str, why: str = "") -> CheckOutcome | None:
        """Returns an outcome with the reason why no policy can be judged for this case run, by claim or by enforcement;
        None: it can."""
        what = "the policy is the requested one"
        why = why or self._no_end(case_run)
        if why or case_run.first.refused or _declined(case_run):
            return _skipped(what, why or case_view.declined(case_run), by)
        if self._silent(cell, case_run):
            return _skipped(what, f"its declaration does not mention {case_run.intent.platform}", by)
        asked = self._wanted(cell, case_run)
        if asked.refuses:
            return _skipped(what, "it had to decline and did not: generator.exit-and-refusal-agree is red", by)
        if "sandbox" in asked.kept and not self._before(cell, case_run).loads:
            return _skipped(what, "the user's own file does not load in this Codex: nothing was in force", by)
        loads = not refused_words(case_run.runs[-1].argv) and self.claim(cell, case_run.case.id)[0].loads
        if not loads and self._able(cell) and not self._before(cell, case_run).loads:
            return _skipped(what, "the user's own file does not load in this Codex either", by)
        return None

    def _beside_words(self, cell: Cell, case_run: CaseRun) -> tuple[object, ...]:
        """Returns the deciding facts of a run whose arguments no app-server takes. Codex is asked about the files and
        those arguments that it does take."""
        if not self._able(cell) or chooses_a_profile(case_run):
            return spelled_out(case_run)
        claim = self._claims.after(cell, with_settings_alone(case_run))
        return deciding(claim, case_run) if claim.loads else spelled_out(case_run)

    def _not_asked(self, cell: Cell, case_run: CaseRun) -> str:
        able = self._resources.programs.able(cell)
        if not able.app_server:
            return f"by probe: Codex {able.version} has no app-server to query"
        return self._no_end(case_run) or refused_words(case_run.runs[-1].argv)

    def _no_end(self, case_run: CaseRun) -> str:
        if case_run.first.ended == "exit":
            return ""
        return f"it did not end by itself ({case_run.first.ended}): {case_run.first.error}".rstrip(": ")

    def _able(self, cell: Cell) -> bool:
        return self._resources.programs.able(cell).app_server

    def _tell(self, cell: Cell, name: str) -> tuple[CaseRun, str]:
        version = self._version(cell)
        if why := self._writers.ruled_out(cell, name, version):
            raise CaseNotApplicable(why)
        case = self._writers.case(cell, name, version)
        case_run = _said(self._runner.case_run(cell, case, case.intent or self._intent(cell)))
        by = f"story-{cell.subject.generator}-{cell.subject.label}-{name}"
        line = StoryLine(
            id=by,
            cell=cell.id,
            generator=cell.subject.generator,
            case=name,
            wish=case_run.intent,
            before=told_files(case_run.before),
            runs=told_runs(case_run),
            confined=case_run.confined,
            told=self._writers.row(cell, case_run.intent, version) is not UNTOLD,
        )
        self._resources.events.emit(anonymous(line, case_run.world))
        return self._store.slim(case_run) if self._store else case_run, by

    def _plain(self, cell: Cell, intent: Intent) -> CaseRun:
        """Returns the run of a case in which the user has no file."""
        key = ("plain", cell.id, msgspec.json.encode(intent))
        return self._once(key, lambda: self._runner.case_run(cell, NO_FILE, intent))

    def _intent(self, cell: Cell) -> Intent:
        """Returns the first intent that this generator does not refuse: as much as possible, then what each policy
        needs."""
        intents = (ASKED, *self._writers.intents(cell).values())
        return next((intent for intent in intents if not self._expected(cell, intent).refuses), ASKED)

    def _expected(self, cell: Cell, intent: Intent) -> ExpectedPolicy:
        return self._writers.expected(cell, intent, self._version(cell))

    def _wanted(self, cell: Cell, case_run: CaseRun) -> ExpectedPolicy:
        """Returns the policy that the case run's own row expects. A generator without a request has a row that no plan
        knows."""
        if case_run.row is None:
            return self._expected(cell, case_run.intent)
        return expected(self._writers.declaration(cell), case_run.intent, case_run.row)

    def _version(self, cell: Cell) -> str:
        """Returns the version that the generator receives: a plan may not know that of a user's own build."""
        return self._resources.programs.version(cell)

    def _silent(self, cell: Cell, case_run: CaseRun) -> bool:
        row = self._writers.row(cell, case_run.intent, self._version(cell))
        return is_silent(self._writers.declaration(cell), case_run.intent, row)

    def _claim(self, cell: Cell, case: str) -> tuple[Claim, str]:
        case_run, told_by = self.case_run(cell, case)
        last = case_run.runs[-1]
        content = config_of(case_run, last.files)
        claim = self._claims.after(cell, case_run)
        by = f"claim-{told_by.removeprefix('story-')}"
        digest = "" if content is None else hashlib.sha256(content).hexdigest()
        bare = msgspec.structs.replace(claim, config={})
        line = ClaimLine(id=by, cell=cell.id, story=told_by, sha256=digest, claim=bare, argv=last.argv)
        self._resources.events.emit(anonymous(line, case_run.world))
        return claim, by

    def _before(self, cell: Cell, case_run: CaseRun, mode: Mode = "") -> Claim:
        """Returns the claim about the files from before the run. Kept by the files' content, for all cases and
        generators: a file may be a generator's own."""
        there = tuple(sorted(readable(case_run, case_run.before)))
        key = ("before", cell.environment.id, cell.subject.label, there, mode)
        return self._once(key, lambda: self._claims.before(cell, case_run, mode))

    def _oracle(self, cell: Cell) -> Oracle:
        claims = {mode: self._claims.text(cell, f'sandbox_mode = "{mode}"\n'.encode()) for mode in ORACLES}
        return effective_policy.oracle(claims, self._claims.text(cell, TORN))

    def _once(self, key: object, make: Callable[[], T]) -> T:
        return memoize(self._kept, key, make)


def _said(case_run: CaseRun) -> CaseRun:
    """Returns the case run with placeholders in its messages. This comes before any message is shortened: half a path
    is not found again."""
    said = [{name: getattr(run, name) for name in ("stdout", "stderr", "error", "reason")} for run in case_run.runs]
    shown = (without_paths(words, case_run.world) for words in said)
    runs = (msgspec.structs.replace(run, **words) for run, words in zip(case_run.runs, shown, strict=True))
    return msgspec.structs.replace(case_run, runs=tuple(runs))


def _there(cell: Cell, case_run: CaseRun, world: World) -> GeneratedConfig:
    """Returns the written configuration with the paths of a world. HarnessError where the generator did not end by
    itself."""
    last = case_run.runs[-1]
    if last.ended != "exit":
        why = last.error or last.stderr[-300:]
        raise HarnessError(f"{case_run.generator} did not end by itself", where=f"{last.ended} {last.code}", why=why)
    return written(case_run, last, world)


def _declined(case_run: CaseRun) -> bool:
    """Checks whether the generator refused and left the files untouched. An undeclared exit code counts too:
    generator.exit-and-refusal-agree judges that."""
    return case_view.refused(case_run.first) and case_view.untouched(case_run)


def config_of(case_run: CaseRun, files: Files) -> bytes | None:
    """Returns the content of the file that Codex would read, links followed; None where there is no file."""
    state = case_view.config(files, case_run.world)
    return state.content if state.kind == "file" else None


def _skipped(claim: str, why: str, by: str) -> CheckOutcome:
    return CheckOutcome(
        findings=(Finding(claim=claim, saw="", held=False, control="", control_held=False, skipped=why),), by=by
    )


def _unless_open(findings: tuple[Finding, ...], why: str) -> tuple[Finding, ...]:
    """Replaces findings that all hold by a skipped one while a part of the policy is unknown. A finding that does not
    hold is kept."""
    if not why or any(not (one.held and one.control_held) for one in findings):
        return findings
    return (Finding(claim="the kept settings hold", saw="", held=False, control="", control_held=False, skipped=why),)
