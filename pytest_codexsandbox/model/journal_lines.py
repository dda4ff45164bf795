"""Journal lines. `journal_schema.py` of reports derives the published JSON Schema from these structs.

Results refer to environments, subjects and calls by id. A planned key without a result is `broken`; a journal without
`end` is an incomplete run. The reader (model.ledger) handles both, never the writer.
"""

from typing import Any, Final

import msgspec

from pytest_codexsandbox.model.bwrap_used import BwrapUsed
from pytest_codexsandbox.model.coverage import Coverage
from pytest_codexsandbox.model.deviation import Deviation
from pytest_codexsandbox.model.generator import Claim, Intent
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan_key import Key, NotPlanned
from pytest_codexsandbox.model.promise import Kind, Severity
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.story_log import LoggedRun, Told
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.model.suite_traits import SuiteTraits

SCHEMA: Final = 2  # of journals that are written; those of schema 1 are still read


class RunLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="run"):
    id: str
    started: str  # ISO 8601, UTC
    schema: int = 1  # as in a line that does not say it
    product: str = ""
    preset: str = ""
    invocation: tuple[str, ...] = ()
    strict: bool = False
    boot_id: str = ""
    pid: int = 0
    suite: str = "shipped"
    places: dict[str, str] = {}  # the run's own folders, the cache and the home: path → word that reports show


class PromiseRow(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of a promise that a report needs without importing the scenario."""

    id: str
    title: str
    kind: Kind
    severity: Severity
    needs: str
    source: str
    summary: str = ""
    requirement: str = ""
    suite: str = ""  # which suite asks it; "" in journals of earlier versions
    policies: tuple[str, ...] = ()  # under which it is asked, and
    cases: tuple[str, ...] = ()  # its cases: empty in journals of earlier versions, as is
    requires: tuple[str, ...] = ()  # what makes it n/a where it is missing
    asks: str = ""  # digest of its acts and its call: "" in journals of earlier versions
    asked: str = ""  # digest of the code that makes its rows, "" where they cannot be made again (harness.replay)


class CellRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    environment: str
    subject: str  # label
    axes: dict[str, str] = {}
    provenance: str = "host"
    synthetic: bool = False
    arch: str = ""
    as_version: str = ""
    release: str = ""  # that was asked for


class CaseRow(msgspec.Struct, frozen=True, kw_only=True):
    """Case of the corpus: the user's folders before a generator runs."""

    id: str
    group: str
    why: str  # what broke where


class GeneratorRow(msgspec.Struct, frozen=True, kw_only=True):
    """Generator that was requested."""

    name: str  # the axis value
    spec: str  # as it can be asked for again
    version: str = ""  # where its declaration names one
    rows: tuple[str, ...] = ()  # of its decision matrix, the first is the case row-01: why each row exists
    told: bool = True  # False: it does not receive the requested roots and network, and no row says what must be


class PlanLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="plan"):
    digest: str
    cells: tuple[CellRow, ...]
    promises: tuple[PromiseRow, ...]
    keys: tuple[Key, ...]
    not_applicable: dict[str, str] = {}  # str(key) → why data rules it out
    not_planned: tuple[NotPlanned, ...] = ()
    coverage: Coverage | None = None  # where cells were picked by pairs
    cases: tuple[CaseRow, ...] = ()  # the whole corpus, whichever cases the keys need
    generators: tuple[GeneratorRow, ...] = ()
    of_generators: tuple[str, ...] = ()  # every promise about generators, also those that were not selected
    suites: tuple[SuiteTraits, ...] = ()  # those that ask the promises; none in journals of earlier versions
    expectations: tuple[Deviation, ...] = ()  # the known deviations that may apply to this plan
    content: str = ""  # digest of what results are judged by (model.plan_content); "" in journals of earlier versions

    def suite_index(self) -> SuiteIndex:
        return SuiteIndex(self.suites, {promise.id: promise.suite for promise in self.promises})


class EnvironmentLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="environment"):
    id: str
    spec: str  # EnvironmentSpec.id
    facts: dict[str, Any]
    worker: str = ""


class SubjectLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="subject"):
    id: str
    label: str
    version: str
    digest: str
    source: str
    binary: str
    facts: dict[str, Any] = {}


class CallLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="call"):
    id: str
    environment: str
    subject: str
    cell: str
    observation: Observation
    repro: str = ""  # below the run's folder
    stdin_sha256: str = ""
    stdin: str = ""  # base64, bounded
    interrupt_after: float = 0.0
    timeout: float = 0.0
    control: bool = False
    bwrap_used: BwrapUsed | None = None  # what set up its sandbox, as it was seen from outside
    another_bwrap: str = ""  # where it was not the requested one: both of them
    full_access: bool = False  # a generator was asked for it, whatever the policy is called: no sandbox is missing


class StoryLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="story"):
    """Case run: the files that the generator found, and what it did in each run."""

    id: str
    cell: str
    generator: str
    case: str
    wish: Intent
    before: Told
    runs: tuple[LoggedRun, ...]
    confined: str = ""  # by what; "" it was not
    texts: dict[str, str] = {}  # sha256 → text, of files that no earlier line of this worker has (model.contents)
    lists: dict[str, Told] = {}  # digest → files, of lists that no earlier line has
    told: bool = True  # False: the generator does not receive roots and network, and no row says what must be


class ClaimLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="claim"):
    """Claim of the real Codex of a cell about the files of a case run."""

    id: str
    cell: str
    story: str
    sha256: str  # of the file; "" there was none
    claim: Claim
    argv: tuple[str, ...] = ()


class ResultLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="result"):
    cell: str
    door: str
    policy: str
    promise: str
    case: str = ""
    attempt: int = 1
    verdict: str
    direction: str = ""
    diagnosis: str = ""  # fingerprint id, "" = none
    environment: str
    subject: str
    record: Record

    @classmethod
    def of(cls, record: Record) -> "ResultLine":
        key = record.key
        return cls(
            cell=key.cell,
            door=key.door,
            policy=key.policy,
            promise=key.promise,
            case=key.case,
            attempt=record.attempt,
            verdict=record.verdict.value,
            direction=record.direction,
            diagnosis=record.diagnosis.fingerprint if record.diagnosis else "",
            environment=record.environment,
            subject=record.subject,
            record=record,
        )


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Time that a cell took, so that the next plan can estimate it."""

    cell: str
    environment: str
    subject: str
    seconds: float  # in which `calls` were made
    calls: int  # of Codex, controls not counted
    generator: str = ""
    stories: int = 0  # case runs of its generator, with Codex's claims about each
    story_seconds: float = 0.0
    strains: int = 0  # stress checks: they need other writers, strace, or an older shape
    strain_seconds: float = 0.0


class OtherFailures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Reasons for the exit code that no other line of the journal holds."""

    pytest_code: int = 0  # pytest's own
    tests: int = 0  # failed tests outside the matrix
    overruled: bool = False  # pytest or another plugin ended the run with a code of another meaning
    disagreed: tuple[str, ...] = ()
    incomplete: str = ""
    never_run: int = 0  # planned keys without a result
    unwritten: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()


class EndLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="end"):
    finished: str
    exit: int
    reasons: tuple[str, ...]  # every one that applies, the first decides `exit`
    counts: dict[str, int]
    seconds: float = 0.0
    seconds_in_codex: float = 0.0
    leaks: tuple[str, ...] = ()
    cells: tuple[Spent, ...] = ()
    others: OtherFailures | None = None  # None in journals of earlier versions


Line = RunLine | PlanLine | EnvironmentLine | SubjectLine | CallLine | StoryLine | ClaimLine | ResultLine | EndLine
