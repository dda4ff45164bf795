"""README matrix: a reduced journal of a real run with one red cell, shown as on a terminal of 80 columns."""

import gzip
import re
import shlex
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from pytest_codexsandbox.harness.replay import read
from pytest_codexsandbox.model.journal_lines import (
    CallLine,
    EndLine,
    EnvironmentLine,
    Line,
    PlanLine,
    ResultLine,
    RunLine,
    SubjectLine,
)
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.observation import Link, ProcReading
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports.terminal import render

KEPT: Final = Path(__file__).resolve().parents[1] / "tests" / "golden" / "readme" / "journal.ndjson.gz"
BEGIN: Final = "<!-- matrix: begin -->"
END: Final = "<!-- matrix: end -->"
WORDS: Final = (
    "pytest",
    "--codex-matrix=incident-hermes",
    "--codex-release",
    "installed",
    "--codex-only",
    "sqlite.granted-folder-works,sqlite.sibling-database-refused",
)
_FACTS: Final = ("arch", "distro", "distro_version", "distro_name", "uid")


def text() -> str:
    """Returns head, matrix, legend, counts and the red block; notes and selections below them are left out."""
    screen = render(kept(), width=80, color=False, ascii=False)
    head, rest = screen.split("\nlegend", 1)
    legend = ("legend" + rest).split("\nsandbox:", 1)[0].rstrip()
    _, _, below = rest.partition("\n\nF ")
    red = "F " + below.split("\n\n", 1)[0].rstrip()
    return f"$ {_command()}\n{head.rstrip()}\n\n{legend}\n\n{red}"


def _command() -> str:
    """Returns the command in lines of at most 80 columns, ready to paste."""
    first, rest = shlex.join(WORDS[:4]), shlex.join(WORDS[4:])
    return f"{first} \\\n    {rest}"


def put(readme: str, matrix: str) -> str:
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"README.md has no {BEGIN} … {END}")
    return f"{before}{BEGIN}\n```\n{matrix}\n```\n{END}{after}"


def kept() -> ReadJournal:
    """Returns the run as it was kept. It cannot be judged again: `keep` took one that was, and left out its rows."""
    lines = msgspec.json.Decoder(Line).decode_lines(gzip.decompress(KEPT.read_bytes()))
    found = {kind: tuple(line for line in lines if isinstance(line, kind)) for kind in {type(line) for line in lines}}
    return ReadJournal(
        run=found[RunLine][0],
        plan=found[PlanLine][0],
        environments=found[EnvironmentLine],
        subjects=found[SubjectLine],
        calls=found[CallLine],
        records=tuple(line.record for line in found[ResultLine]),
        end=found[EndLine][0],
    )


def keep(journal: Path) -> None:
    """Keeps what the closing screen needs of a run, without paths, environments and outputs of its machine."""
    found = read(journal)
    if found.contradicted or found.not_rejudged:
        raise ValueError(f"{journal} cannot be judged again: run once more")
    lines = b"".join(msgspec.json.encode(line) + b"\n" for line in small(found))
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_bytes(gzip.compress(lines, mtime=0))


def small(journal: ReadJournal) -> list[Line]:
    run = replace(journal.run, invocation=WORDS, boot_id="", pid=0, places={})
    results = [ResultLine.of(_result(record)) for record in journal.records]
    end = [journal.end] if journal.end is not None else []
    return [
        run,
        _plan(journal.plan),
        *map(_environment, journal.environments),
        *map(_subject, journal.subjects),
        *(_call(number, call) for number, call in enumerate(journal.calls) if not call.control),
        *results,
        *end,
    ]


def _plan(plan: PlanLine) -> PlanLine:
    return replace(
        plan,
        content="",
        promises=tuple(replace(row, summary="", source="", asked="") for row in plan.promises),
        generators=tuple(replace(row, spec=row.name, rows=()) for row in plan.generators),
    )


def _environment(line: EnvironmentLine) -> EnvironmentLine:
    kernel = re.match(r"[\d.]+", str(line.facts.get("kernel", "")))
    facts = {name: line.facts[name] for name in _FACTS if name in line.facts}
    return replace(line, facts=facts | {"kernel": kernel[0] if kernel else ""})


def _subject(line: SubjectLine) -> SubjectLine:
    return replace(line, binary="codex", facts={})


def _call(number: int, line: CallLine) -> CallLine:
    seen = replace(
        line.observation,
        id=f"c{number}",
        nonce="",
        argv=(),
        cwd="",
        env={},
        stdout="",
        stderr="",
        error="",
        rows={},
        before={},
        after={},
        arrivals=(),
        survivors=(),
        litter=(),
        world=None,
        given={},
        readings=tuple(map(_reading, line.observation.readings[:1])),
    )
    used = line.bwrap_used and replace(line.bwrap_used, path=_last(line.bwrap_used.path))
    return replace(line, id=seen.id, observation=seen, stdin="", stdin_sha256="", repro="", bwrap_used=used)


def _reading(reading: ProcReading) -> ProcReading:
    return replace(reading, chain=tuple(map(_link, reading.chain)), namespaces={}, hand_namespaces={}, uid_map="")


def _link(link: Link) -> Link:
    return replace(link, exe=_last(link.exe))


def _last(path: str) -> str:
    """Returns the last two parts of a path, without the machine's folders."""
    return "/" + "/".join(Path(path).parts[-2:])


def _result(record: Record) -> Record:
    """Keeps everything that the block of a red result shows, and only the verdict of other results."""
    if record.verdict is Verdict.VIOLATES:
        return replace(record, calls=(), repro="repro/sqlite.sh", worker="", basis=None)
    return replace(record, evidence=(), calls=(), diagnosis=None, reason="", repro="", worker="", basis=None)
