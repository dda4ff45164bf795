"""`codexsandbox remedies` on a screen, and for programs."""

import shlex
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from pytest_codexsandbox.commands.remedies_selection import Choice
from pytest_codexsandbox.diagnosis.bubblewrap_family import listed as families_listed
from pytest_codexsandbox.diagnosis.match import fingerprints
from pytest_codexsandbox.diagnosis.remedies import ORDER, Proof, Remedy, proved_with
from pytest_codexsandbox.diagnosis.remedy_text import ANYWHERE, Where, price, shown
from pytest_codexsandbox.harness.remedy_proof import ProofResult
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.reports.escape import visible
from pytest_codexsandbox.reports.headlines import plural

_WIDTH: Final = 100
FILTER_FILE: Final = "seccomp.json"  # what the text of a remedy calls it
IMAGE: Final = "IMAGE"
IN_A_VM: Final = "it changes the kernel or the host, is proved only in a VM, and is never applied here"
_TURNS: Final = {
    "green": "helps",
    "no sandbox": "then there is no sandbox",
    "no better": "does not help",
}
_AFTER: Final = {
    "green": "green", "no sandbox": "no sandbox is requested", "no better": "still red",
    "leak": "no sandbox is on, and one was requested", "": "",
}  # fmt: skip
_STATES: Final = {"as recorded": "as recorded", "differs": "NOT AS RECORDED", "not told": "NOT PROVED"}


# ---- what is known
def listed(choices: Sequence[Choice]) -> Iterator[str]:
    """Lists remedies by cause; a remedy for several causes is described in full at the first."""
    known = {one.id: one.cause for one in fingerprints()}
    explained: set[str] = set()
    for cause in dict.fromkeys(cause for choice in choices for cause in choice.causes):
        yield cause
        yield from _wrapped("  ", known.get(cause, ""))
        for choice in choices:
            if cause in choice.causes:
                yield ""
                yield from _remedy(choice, cause, again=choice.remedy.name in explained)
                explained.add(choice.remedy.name)
        yield ""
    yield from _wrapped("", _counted(choices))


def _remedy(choice: Choice, cause: str, *, again: bool) -> Iterator[str]:
    remedy = choice.remedy
    head = f"  {remedy.name}  ({remedy.kind}): {_outcome(remedy, cause)}"
    yield from _wrapped("", f"{head}; above" if again else head, indent="    ")
    if not again:
        yield from _wrapped("    do      ", remedy.do)
        yield from _wrapped("    price   ", price(remedy, where_named(choice)))
        if words := remedy.docker_run(FILTER_FILE, IMAGE):
            yield f"    paste   {shlex.join(words)}"
        yield from _wrapped("    also    ", remedy.also) if remedy.also else ()
    if remedy.shown:
        yield from _wrapped("    proved  ", remedy.shown)
    for proof in remedy.proofs_for(cause):
        imitated = "; that imitates it" if cause in proof.imitates else ""
        head = "    proved  " if proof.turns == "green" else "    tried   "
        yield from _wrapped(head, arrow(proof, synthetic=_is_synthetic(proof)) + imitated)
    if not remedy.is_tried:
        yield from _wrapped("    host    ", IN_A_VM)


def where_named(choice: Choice) -> Where:
    """Returns the facts of the named profile: its /proc decides the price of a remedy there."""
    return Where(masked=SHIPPED.profile(choice.profile).masked_paths) if choice.profile else ANYWHERE


def _outcome(remedy: Remedy, cause: str) -> str:
    """Returns the effect on this cause, by family of bubblewrap: `helps with bubblewrap before 0.12; …`."""
    proofs = remedy.proofs_for(cause)
    if not proofs:
        return _TURNS[remedy.turns] if remedy.shown else shown(remedy, cause)[1]
    families: dict[str, dict[str, None]] = {}
    for proof in sorted(proofs, key=lambda one: ORDER.index(one.turns)):
        families.setdefault(proof.turns, {})[proof.family] = None
    return "; ".join(f"{_TURNS[turns]} with {families_listed(found)}" for turns, found in families.items())


def arrow(proof: Proof | ProofResult, *, synthetic: bool) -> str:
    return f"{proof.before.words}{' (synthetic)' if synthetic else ''} → {proof.after.words}"


def _is_synthetic(proof: Proof) -> bool:
    return SHIPPED.profile(proof.before.profile).synthetic


def _counted(choices: Sequence[Choice]) -> str:
    tried = [choice.remedy for choice in choices if choice.proofs]
    helps = sum(one.turns == "green" for one in tried)
    host = sum(not choice.remedy.is_tried for choice in choices)
    rest = len(choices) - len(tried) - host
    parts = [f"{len(tried)} tried in containers, of which {helps} make the sandbox start"] if tried else []
    parts += [f"{host} would change the kernel or the host"] if host else []
    parts += [f"{rest} not proved for this"] if rest else []
    again = f" Tried with {proved_with().words}; --prove tries it here." if tried else ""
    return f"{_remedies(len(choices))}: {', '.join(parts)}.{again}"


def _remedies(count: int) -> str:
    return "1 remedy" if count == 1 else f"{count} remedies"


# ---- what was found here
def here_line(here: Mapping[str, str]) -> str:
    return "\n".join(_wrapped("", ", ".join(f"{name} {value}" for name, value in here.items())))


def outcome_lines(one: ProofResult) -> Iterator[str]:
    """Yields the two places of a proof, then the result on either side."""
    yield from _wrapped(f"{one.remedy}  ", arrow(one, synthetic=one.synthetic))
    if one.state == "not told":
        yield from _wrapped(f"    {_STATES[one.state]}: ", visible(one.why))
        return
    recorded = "" if one.state == "as recorded" else f" (recorded: {_AFTER[one.recorded]})"
    still = f": {one.still or 'not recognised'}" if one.found == "no better" else ""
    yield from _wrapped("    before  ", f"red: {', '.join(filter(None, one.causes))}")
    yield from _wrapped("    after   ", f"{_AFTER[one.found]}{still}; {_STATES[one.state]}{recorded}")


def host_lines(remedies: Sequence[Remedy]) -> Iterator[str]:
    for one in remedies:
        shown = f" (shown {one.shown})" if one.shown else ""
        yield one.name
        yield from _wrapped("    not applied: ", IN_A_VM + shown)


def closing(outcomes: Sequence[ProofResult], host: Sequence[Remedy], unshown: Sequence[str], seconds: float) -> str:
    count = {state: sum(one.state == state for one in outcomes) for state in _STATES}
    parts = [
        f"{count['as recorded']} of {plural(len(outcomes), 'proof')} as recorded" if outcomes else "nothing was proved"
    ]
    parts += [f"{count['differs']} NOT AS RECORDED"] if count["differs"] else []
    parts += [f"{count['not told']} not proved here"] if count["not told"] else []
    parts += [f"{_remedies(len(host))} not applied"] if host else []
    parts += [f"nothing failed here for {', '.join(unshown)}: not proved for that"] if unshown else []
    return "\n".join(_wrapped("", f"{'; '.join(parts)}; {seconds:.0f} s"))


# ---- for programs
def listed_json(choices: Sequence[Choice]) -> dict[str, Any]:
    return {"proved_with": msgspec.to_builtins(proved_with()), "remedies": [_as_data(choice) for choice in choices]}


def _as_data(choice: Choice) -> dict[str, Any]:
    one = choice.remedy
    proofs = [
        {**msgspec.to_builtins(proof), "family": proof.family, "synthetic": _is_synthetic(proof)}
        for proof in choice.proofs
    ]
    return {
        "name": one.name,
        "do": one.do,
        "kind": one.kind,
        "causes": list(choice.causes),
        "price": price(one, where_named(choice)),
        "turns": one.turns,
        "shown": one.shown,
        "changes_host": not one.is_tried,
        "proofs": proofs,
        "filter": one.filter,
        "docker_run": list(one.docker_run(FILTER_FILE, IMAGE)),
    }


def proved_json(
    outcomes: Sequence[ProofResult], host: Sequence[Remedy], unshown: Sequence[str], here: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "here": dict(here),
        "outcomes": msgspec.to_builtins(outcomes),
        "not_applied": [one.name for one in host],
        "not_shown_for": list(unshown),
    }


def _wrapped(head: str, text: str, *, indent: str = "") -> list[str]:
    width = max(60, min(_WIDTH, shutil.get_terminal_size().columns))
    return textwrap.wrap(
        text, width, initial_indent=head, subsequent_indent=indent or " " * min(len(head), 12), break_on_hyphens=False
    )
