"""P1: the exit code matches what the generator did."""

import shlex
from collections.abc import Iterator
from typing import Final

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.codex_toml import Path, comparable, leaves, read
from pytest_codexsandbox.generators.checks.findings import (
    CheckFault,
    Control,
    all_hold,
    as_findings,
    difference,
    listed,
    skipped,
)
from pytest_codexsandbox.generators.checks.idempotence import configurations
from pytest_codexsandbox.generators.checks.ownership import written_alone
from pytest_codexsandbox.generators.launches import answered, work
from pytest_codexsandbox.model.generator import (
    CONFIG,
    CaseRun,
    Declaration,
    ExpectedPolicy,
    Files,
    Finding,
    GeneratorRun,
    expected,
    is_silent,
)

CLAIM = "exit 0 means done; a refusal changes nothing and states its reason"
_LONGEST: Final = 120  # characters shown of one call of Codex


def agrees(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    if case_run.first.ended != "exit":
        return skipped(CLAIM, case_view.not_asked(case_run))
    saw = _told(case_run, declaration)
    return as_findings(
        CLAIM, discord(case_run, declaration), control=_control(case_run, declaration), saw=saw, direction="wrong-claim"
    )


def _told(case_run: CaseRun, declaration: Declaration) -> str:
    run = case_run.first
    if case_view.refused(run):
        return f"it declined with {run.code}, {case_view.left(case_run)}, and printed: {_reason(run)[:160]}"
    return f"exit 0, and {_done(case_run, run, declaration) or 'everything was already as requested'}"


def discord(case_run: CaseRun, declaration: Declaration) -> Iterator[CheckFault]:
    run = case_run.first
    if run.error:
        yield CheckFault(reason="result-malformed", saw=run.error)
    yield from _refusal(case_run, run, declaration) if case_view.refused(run) else _success(case_run, run, declaration)


def _refusal(case_run: CaseRun, run: GeneratorRun, declaration: Declaration) -> Iterator[CheckFault]:
    touched = changed(case_run.before, run.files, case_run.world)
    if touched:
        diff = difference(case_view.text_before(case_run), case_view.config(run.files, case_run.world).content)
        yield CheckFault(
            reason="declined-and-wrote", saw=f"exit {run.code}, and {listed(touched)} was changed", diff=diff
        )
    if declaration.refuse_exit and run.code not in declaration.refuse_exit and not (run.told and run.refused):
        declared = listed([str(code) for code in declaration.refuse_exit])
        yield CheckFault(reason="undeclared-exit", saw=f"exit {run.code}; its declaration has {declared} for a refusal")
    if not _reason(run):
        yield CheckFault(reason="no-reason", saw=f"exit {run.code}, without a reason")
    if _is_ordinary(case_run) and not wanted(case_run, declaration).refuses:
        saw = f"nothing in the user's files prevents it, but it declined: {_reason(run)[:160]}"
        yield CheckFault(reason="declines-nothing", saw=saw)


def _is_ordinary(case_run: CaseRun) -> bool:
    """Checks for a file that holds nothing, or only what most users write."""
    return case_run.case.ordinary or (not case_view.text_before(case_run).strip() and not case_run.case.link)


def _reason(run: GeneratorRun) -> str:
    return run.reason or run.stderr.strip() or run.stdout.strip()


def _success(case_run: CaseRun, run: GeneratorRun, declaration: Declaration) -> Iterator[CheckFault]:
    if wanted(case_run, declaration).refuses and not is_silent(declaration, case_run.intent, case_run.row):
        saw = f"exit 0 on {case_run.intent.platform!r}, where its declaration says that it declines"
        yield CheckFault(reason="should-have-declined", saw=saw)
    if not _done(case_run, run, declaration) and not already(case_run):
        yield CheckFault(reason="did-nothing", saw=f"exit 0; {_nothing(case_run, run)}")


def _nothing(case_run: CaseRun, run: GeneratorRun) -> str:
    """Returns the places that were inspected, and what the generator did there."""
    other = case_view.other_files(case_run.before, run.files)
    only = f"no configuration of Codex was changed, only {listed(other)} was written"
    files = only if other else "no file was changed"
    calls = [shlex.join(("codex", *one.argv))[:_LONGEST] for one in answered(run.launches)]
    called = f"; the real Codex was called ({listed(calls)}), and changed nothing either" if calls else ""
    return f"{files}, and no argument was given{called}"


def wanted(case_run: CaseRun, declaration: Declaration) -> ExpectedPolicy:
    return expected(declaration, case_run.intent, case_run.row)


def _done(case_run: CaseRun, run: GeneratorRun, declaration: Declaration) -> str:
    """Returns what the run did, in a few words."""
    touched = changed(case_run.before, run.files, case_run.world)
    if touched:
        return f"{listed(touched)} was written"
    if run.argv:
        return f"arguments were given: {shlex.join(run.argv)[:_LONGEST]}"
    started = work(run.launches)
    for launch in started:
        if launch.argv[1:]:
            return f"Codex was started: {shlex.join(('codex', *launch.argv))[:_LONGEST]}"
    if run.env or run.unset:
        return "an environment was given"
    # A launcher that sets no policy does nothing but start Codex.
    return "Codex was started" if started and "sandbox" in wanted(case_run, declaration).kept else ""


def changed(before: Files, after: Files, world: dict[str, str]) -> list[str]:
    """Returns the configuration files whose content, mode, kind, owner, links or target changed."""
    one, other = configurations(before, world), configurations(after, world)
    return [path for path in sorted(one.keys() | other.keys()) if _facts(one.get(path)) != _facts(other.get(path))]


def _facts(state: object) -> tuple[object, ...]:
    return tuple(getattr(state, name, None) for name in ("kind", "content", "size", "mode", "target", "uid", "links"))


def already(case_run: CaseRun) -> bool:
    """Checks whether the user's file already holds every key that the generator writes, with the same value."""
    asked = leaves(read(written_alone(case_run) or b"").data)
    there = leaves(read(case_view.text_before(case_run)).data)
    return bool(asked) and all(_alike(path, value, there) for path, value in asked.items())


def _alike(path: Path, value: object, there: dict[Path, object]) -> bool:
    return path in there and comparable(there[path]) == comparable(value)


def _control(case_run: CaseRun, declaration: Declaration) -> Control:
    """Repeats the check with one more byte in a file that should be untouched, and with nothing done under exit 0."""
    quiet = msgspec.structs.replace(
        case_run.first, files=case_run.before, argv=(), env={}, unset=(), launches=(), error=""
    )
    path = case_view.resolved(case_run.before, CONFIG, case_run.world)
    state = case_run.before.get(path, case_view.MISSING)
    more = msgspec.structs.replace(state, kind="file", content=state.content + b"\n", size=state.size + 1)
    declined = msgspec.structs.replace(quiet, refused=True, code=quiet.code or 1, reason="because")
    wrote = msgspec.structs.replace(declined, files={**case_run.before, path: more})
    idle = msgspec.structs.replace(quiet, refused=False, code=0)
    tries = [
        ("an extra byte despite a refusal", "declined-and-wrote", wrote),
        ("a refusal without a reason", "no-reason", _mute(declined)),
        *([] if already(case_run) else [("exit 0 with nothing done", "did-nothing", idle)]),
    ]
    return all_hold(
        Control(f"{what} is noticed", word in _words(case_run, run, declaration)) for what, word, run in tries
    )


def _mute(run: GeneratorRun) -> GeneratorRun:
    return msgspec.structs.replace(run, reason="", stdout="", stderr="")


def _words(case_run: CaseRun, run: GeneratorRun, declaration: Declaration) -> set[str]:
    other = msgspec.structs.replace(case_run, runs=(run,))
    return {fault.reason for fault in discord(other, declaration)}
