"""`codexsandbox diagnose --json`: the causes of a text or of a journal, for programs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from pytest_codexsandbox.diagnosis.choices import choices
from pytest_codexsandbox.model.record import Diagnosis, Record


def of_text(found: Iterable[Diagnosis]) -> str:
    """Returns the causes, the most specific first; an empty list if none is recognised."""
    return _document({"causes": [cause(one) for one in found]})


def of_journal(run: str, faults: Iterable[str], groups: Iterable[tuple[Diagnosis, Sequence[Record]]]) -> str:
    """Returns the causes, the worst first. `faults`: errors of the run itself."""
    causes = [{**cause(diagnosis), **_checks(records)} for diagnosis, records in groups]
    return _document({"run": run, "faults": list(faults), "causes": causes})


def cause(diagnosis: Diagnosis) -> dict[str, Any]:
    """Returns one cause. `first` is the fix to try first; `unsafe` gives up the sandbox."""
    return {
        "fingerprint": diagnosis.fingerprint,
        "blames": diagnosis.verdict,
        "said": diagnosis.quote,
        "cause": diagnosis.cause,
        **msgspec.to_builtins(choices(diagnosis)),
        "advice": diagnosis.remedy,
        "see": diagnosis.link,
    }


def _checks(records: Sequence[Record]) -> dict[str, Any]:
    first = records[0]
    return {
        "verdict": first.verdict.value,
        "direction": first.direction,
        "saw": first.reason,
        "repro": first.repro,
        "checks": [str(record.key) for record in records],
    }


def _document(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False)
