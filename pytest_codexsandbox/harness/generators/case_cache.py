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

    def story(self, cell: Cell, case: Case, wish: Intent) -> CaseRun: ...
    def strained(self, kind: str, cell: Cell, case: str, wish: Intent) -> tuple[Finding, ...]: ...
    def leave(self, spec: EnvironmentSpec) -> None: ...
    def close(self) -> None: ...


class ClaimSource(Protocol):
    """Asks the real Codex of a cell how it reads files."""

    def text(self, cell: Cell, config: bytes) -> Claim: ...
    def before(self, cell: Cell, story: CaseRun, mode: Mode = "") -> Claim: ...
    def after(self, cell: Cell, story: CaseRun) -> Claim: ...
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
        wish = self._writers.wishes(cell)[policy]
        if policy_of(self._expected(cell, wish)) != policy:
            raise HarnessError(
                f"for Codex {self._version(cell)} the generator's rows lead to another policy than {policy}",
                where=cell.id,
                why="the plan did not know the version of this build",
                next_step=f"--codex-bin PATH@{self._version(cell)}",
            )
        story = self._plain(cell, wish)
        return lambda world, policy: _there(cell, story, world)

    # ---- results for a generator trial
    def declaration(self, cell: Cell) -> Declaration:
        return self._writers.declaration(cell)

    def story(self, cell: Cell, case: str) -> tuple[CaseRun, str]:
        self._need(cell)
        return self._once(("story", cell.id, case), lambda: self._tell(cell, case))

    def loads(self, cell: Cell, case: str) -> CheckOutcome:
        story, by = self.story(cell, case)
        why = self._not_asked(cell, story)
        if not why and _declined(story):
            why = case_view.declined(story)  # the file is the user's own
        if why:
            return _skipped(effective_policy.LOADS, why, by)
        claim, by = self.claim(cell, case)
        if not claim.loads and not self._before(cell, story).loads:
            return _skipped(effective_policy.LOADS, "the user's own file does not load in this Codex either", by)
        return CheckOutcome(
            findings=with_cause_of_loading(effective_policy.loads(claim, self.oracle(cell)), story), by=by
        )

    def claims(self, cell: Cell, case: str) -> CheckOutcome:
        told = self._asked(cell, case)
        if told is not None:
            return told
        claim, by = self.claim(cell, case)
        (expect, why), (story, _) = self.expect(cell, case), self.story(cell, case)
        says = with_cause(effective_policy.says(claim, expect, self.oracle(cell)), story)
        findings = (*says, *started(story, expect))
        return CheckOutcome(findings=_unless_open(findings, why), by=by)

    def enforces(self, cell: Cell, case: str) -> tuple[CheckOutcome, tuple[Observation, ...]]:
        story, by = self.story(cell, case)
        spoken = bool(refused_words(story.runs[-1].argv))
        told = self._unjudged(cell, story, by) if spoken else self._asked(cell, case)
        if told is not None:
            return told, ()
        enforced, (expect, why) = self.enforced(cell, case), self.expect(cell, case)
        acts = with_cause_of_acts(enforced.findings, story)
        findings = _unless_open((*started(story, expect), *acts), why)
        return CheckOutcome(findings=findings, by=enforced.by), enforced.seen

    def strained(self, kind: str, cell: Cell, case: str) -> CheckOutcome:
        self._need(cell)

        def strain() -> CheckOutcome:
            findings = self._runner.strained(kind, cell, case, self._wish(cell))
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
        story, _ = self.story(cell, case)
        asked = self._wanted(cell, story)
        asked = msgspec.structs.replace(asked, roots=meant(asked.roots, story.world))
        if not asked.kept:
            return asked, ""
        return with_user_settings(asked, self._before(cell, story), lambda mode: self._before(cell, story, mode))

    def enforced(self, cell: Cell, case: str) -> Enforced:
        """Returns what Codex enforces for a case. Measured once for each expected policy and each set of facts that
        decide what Codex enforces."""
        (expect, _), (story, _) = self.expect(cell, case), self.story(cell, case)
        asked_there = not refused_words(story.runs[-1].argv)
        decides = deciding(self.claim(cell, case)[0], story) if asked_there else self._beside_words(cell, story)
        key = ("enforced", cell.id, decides, msgspec.json.encode(expect))
        return self._once(key, lambda: self._enforcement.of(cell, story, expect))

    # ---- inside
    def _asked(self, cell: Cell, case: str) -> CheckOutcome | None:
        """Returns an outcome with the reason why the policy of this case cannot be measured; None: it can."""
        story, by = self.story(cell, case)
        if told := self._unjudged(cell, story, by, self._not_asked(cell, story)):
            return told
        claim, by = self.claim(cell, case)
        return None if claim.loads else CheckOutcome(findings=(), by=by, blocked_by=LOADS)

    def _unjudged(self, cell: Cell, story: CaseRun, by: str, why: str = "") -> CheckOutcome | None:
        """Returns an outcome with the reason why no policy can be judged for this case run, by claim or by enforcement;
        None: it can."""
        what = "the policy is the requested one"
        why = why or self._no_end(story)
        if why or story.first.refused or _declined(story):
            return _skipped(what, why or case_view.declined(story), by)
        if self._silent(cell, story):
            return _skipped(what, f"its declaration does not mention {story.wish.platform}", by)
        asked = self._wanted(cell, story)
        if asked.refuses:
            return _skipped(what, "it had to decline and did not: generator.exit-and-refusal-agree is red", by)
        if "sandbox" in asked.kept and not self._before(cell, story).loads:
            return _skipped(what, "the user's own file does not load in this Codex: nothing was in force", by)
        loads = not refused_words(story.runs[-1].argv) and self.claim(cell, story.case.id)[0].loads
        if not loads and self._able(cell) and not self._before(cell, story).loads:
            return _skipped(what, "the user's own file does not load in this Codex either", by)
        return None

    def _beside_words(self, cell: Cell, story: CaseRun) -> tuple[object, ...]:
        """Returns the deciding facts of a run whose arguments no app-server takes. Codex is asked about the files and
        those arguments that it does take."""
        if not self._able(cell) or chooses_a_profile(story):
            return spelled_out(story)
        claim = self._claims.after(cell, with_settings_alone(story))
        return deciding(claim, story) if claim.loads else spelled_out(story)

    def _not_asked(self, cell: Cell, story: CaseRun) -> str:
        able = self._resources.programs.able(cell)
        if not able.app_server:
            return f"by probe: Codex {able.version} has no app-server to query"
        return self._no_end(story) or refused_words(story.runs[-1].argv)

    def _no_end(self, story: CaseRun) -> str:
        if story.first.ended == "exit":
            return ""
        return f"it did not end by itself ({story.first.ended}): {story.first.error}".rstrip(": ")

    def _able(self, cell: Cell) -> bool:
        return self._resources.programs.able(cell).app_server

    def _tell(self, cell: Cell, name: str) -> tuple[CaseRun, str]:
        version = self._version(cell)
        if why := self._writers.ruled_out(cell, name, version):
            raise CaseNotApplicable(why)
        case = self._writers.case(cell, name, version)
        story = _said(self._runner.story(cell, case, case.wish or self._wish(cell)))
        by = f"story-{cell.subject.generator}-{cell.subject.label}-{name}"
        told = StoryLine(
            id=by,
            cell=cell.id,
            generator=cell.subject.generator,
            case=name,
            wish=story.wish,
            before=told_files(story.before),
            runs=told_runs(story),
            confined=story.confined,
            told=self._writers.row(cell, story.wish, version) is not UNTOLD,
        )
        self._resources.events.emit(anonymous(told, story.world))
        return self._store.slim(story) if self._store else story, by

    def _plain(self, cell: Cell, wish: Intent) -> CaseRun:
        """Returns the run of a case in which the user has no file."""
        key = ("plain", cell.id, msgspec.json.encode(wish))
        return self._once(key, lambda: self._runner.story(cell, NO_FILE, wish))

    def _wish(self, cell: Cell) -> Intent:
        """Returns the first intent that this generator does not refuse: as much as possible, then what each policy
        needs."""
        wishes = (ASKED, *self._writers.wishes(cell).values())
        return next((wish for wish in wishes if not self._expected(cell, wish).refuses), ASKED)

    def _expected(self, cell: Cell, wish: Intent) -> ExpectedPolicy:
        return self._writers.expected(cell, wish, self._version(cell))

    def _wanted(self, cell: Cell, story: CaseRun) -> ExpectedPolicy:
        """Returns the policy that the case run's own row expects. A generator without a request has a row that no plan
        knows."""
        if story.row is None:
            return self._expected(cell, story.wish)
        return expected(self._writers.declaration(cell), story.wish, story.row)

    def _version(self, cell: Cell) -> str:
        """Returns the version that the generator receives: a plan may not know that of a user's own build."""
        return self._resources.programs.version(cell)

    def _silent(self, cell: Cell, story: CaseRun) -> bool:
        row = self._writers.row(cell, story.wish, self._version(cell))
        return is_silent(self._writers.declaration(cell), story.wish, row)

    def _claim(self, cell: Cell, case: str) -> tuple[Claim, str]:
        story, told_by = self.story(cell, case)
        last = story.runs[-1]
        content = config_of(story, last.files)
        claim = self._claims.after(cell, story)
        by = f"claim-{told_by.removeprefix('story-')}"
        digest = "" if content is None else hashlib.sha256(content).hexdigest()
        told = msgspec.structs.replace(claim, config={})
        line = ClaimLine(id=by, cell=cell.id, story=told_by, sha256=digest, claim=told, argv=last.argv)
        self._resources.events.emit(anonymous(line, story.world))
        return claim, by

    def _before(self, cell: Cell, story: CaseRun, mode: Mode = "") -> Claim:
        """Returns the claim about the files from before the run. Kept by the files' content, for all cases and
        generators: a file may be a generator's own."""
        there = tuple(sorted(readable(story, story.before)))
        key = ("before", cell.environment.id, cell.subject.label, there, mode)
        return self._once(key, lambda: self._claims.before(cell, story, mode))

    def _oracle(self, cell: Cell) -> Oracle:
        claims = {mode: self._claims.text(cell, f'sandbox_mode = "{mode}"\n'.encode()) for mode in ORACLES}
        return effective_policy.oracle(claims, self._claims.text(cell, TORN))

    def _once(self, key: object, make: Callable[[], T]) -> T:
        return memoize(self._kept, key, make)


def _said(story: CaseRun) -> CaseRun:
    """Returns the case run with placeholders in its messages. This comes before any message is shortened: half a path
    is not found again."""
    said = [{name: getattr(run, name) for name in ("stdout", "stderr", "error", "reason")} for run in story.runs]
    shown = (without_paths(words, story.world) for words in said)
    runs = (msgspec.structs.replace(run, **words) for run, words in zip(story.runs, shown, strict=True))
    return msgspec.structs.replace(story, runs=tuple(runs))


def _there(cell: Cell, story: CaseRun, world: World) -> GeneratedConfig:
    """Returns the written configuration with the paths of a world. HarnessError where the generator did not end by
    itself."""
    last = story.runs[-1]
    if last.ended != "exit":
        why = last.error or last.stderr[-300:]
        raise HarnessError(f"{story.generator} did not end by itself", where=f"{last.ended} {last.code}", why=why)
    return written(story, last, world)


def _declined(story: CaseRun) -> bool:
    """Checks whether the generator refused and left the files untouched. An undeclared exit code counts too:
    generator.exit-and-refusal-agree judges that."""
    return case_view.refused(story.first) and case_view.untouched(story)


def config_of(story: CaseRun, files: Files) -> bytes | None:
    """Returns the content of the file that Codex would read, links followed; None where there is no file."""
    state = case_view.config(files, story.world)
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
