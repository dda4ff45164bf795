"""Run result: how a generator ended, with its own result if it wrote one, else what the stub `codex` recorded. Pure.

A generator wrote all of this, or could have. It is parsed strictly, and trusted no further.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from pytest_codexsandbox.generators.launches import work
from pytest_codexsandbox.guest.process_tree import MARK
from pytest_codexsandbox.model.command import CommandResult
from pytest_codexsandbox.model.generator import CodexLaunch, Declaration, Files, FileState, GeneratorRun
from pytest_codexsandbox.model.printed_text import text_of

SAID: Final = 64 * 1024  # bytes kept of each stream
RESULT_LIMIT: Final = 1024 * 1024
_MOST_LAUNCHES: Final = 20
_NOISE: Final = re.compile(rf"CXG_.*|CODEXSANDBOX_.*|{MARK}|PWD|OLDPWD|SHLVL|_")
_VALUED: Final = (
    "-c",
    "--config",
    "-s",
    "--sandbox",
    "-a",
    "--ask-for-approval",
    "-p",
    "--profile",
    "--add-dir",
    "--enable",
    "--disable",
)
_PLAIN: Final = ("--full-auto", "--approve-for-me", "--yolo", "--dangerously-bypass-approvals-and-sandbox")


class OwnResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result JSON that a generator may write."""

    files: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    env: dict[str, str] = {}
    unset: tuple[str, ...] = ()
    refused: bool = False
    reason: str = ""
    warnings: tuple[str, ...] = ()


def outcome(
    finished: CommandResult,
    result: FileState | None,
    launches: Sequence[bytes],
    *,
    declaration: Declaration,
    given: Mapping[str, str],
    folders: Sequence[str],
    files: Files,
    strayed: Sequence[str] = (),
) -> GeneratorRun:
    """Builds the record of a run. `given`: the environment that the generator ran in. `folders`: the private folders,
    by the paths that the generator sees."""
    answer, wrong = _told(result, folders)
    started, forged = _launches(launches)
    derived = _derived(started, given)
    if answer is not None and not answer.argv:
        answer = msgspec.structs.replace(answer, argv=derived.argv)
    elif answer is not None and derived.argv and answer.argv != derived.argv:  # what the stub recorded counts
        shown = shlex.join(derived.argv)[:200]
        answer, wrong = None, f"its result gives other arguments than its start of codex: {shown}"
    answer = answer or derived
    code = 137 if finished.ended == "lost" else finished.code
    cut = "it wrote more files than the limit" if "@…@" in files else ""
    return GeneratorRun(
        ended="signal" if finished.ended == "lost" else finished.ended,
        code=code,
        seconds=finished.seconds,
        stdout=said(finished.stdout),
        stderr=said(finished.stderr),
        error="; ".join(filter(None, (finished.error, wrong, forged, cut))),
        refused=answer.refused or (finished.ended == "exit" and code in declaration.refuse_exit),
        reason=answer.reason,
        argv=answer.argv,
        env=answer.env,
        unset=answer.unset,
        warnings=answer.warnings,
        told=result is not None and not wrong,
        launches=started,
        files=files,
        strayed=tuple(strayed),
        survivors=finished.survivors,
    )


def said(stream: bytes) -> str:
    """Decodes what a program printed: UTF-8, bounded, and no character cut in two. Other bytes are shown as `\\xff`."""
    return text_of(stream[:SAID], whole=len(stream) <= SAID)


def _told(result: FileState | None, folders: Sequence[str]) -> tuple[OwnResult | None, str]:
    """Returns the generator's own result, and what is wrong with it."""
    if result is None:
        return None, ""
    if result.kind != "file":
        return None, f"its result is a {result.kind}, not a file"
    if result.size > RESULT_LIMIT:
        return None, f"its result has {result.size} bytes, more than {RESULT_LIMIT}"
    try:
        answer = msgspec.json.decode(result.content, type=OwnResult)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        return None, f"its result is malformed: {problem}"
    outside = [path for path in answer.files if not any(path == top or path.startswith(f"{top}/") for top in folders)]
    if outside or any("/../" in f"{path}/" for path in answer.files):
        return None, f"its result names a file outside its folders: {(outside or answer.files)[0][:200]}"
    words = (*answer.argv, *answer.env, *answer.env.values(), *answer.unset)
    if any("\0" in word for word in words) or any(not name or "=" in name for name in (*answer.env, *answer.unset)):
        return None, "its result has words that no program accepts: a NUL, or a name with = in it"
    return answer, ""


def _launches(recorded: Sequence[bytes]) -> tuple[tuple[CodexLaunch, ...], str]:
    found: list[CodexLaunch] = []
    for one in recorded[:_MOST_LAUNCHES]:
        try:
            found.append(msgspec.json.decode(one, type=CodexLaunch))
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            return tuple(found), f"the record of a start of codex is damaged: {problem}"
    return tuple(found), ""


def _derived(launches: Sequence[CodexLaunch], given: Mapping[str, str]) -> OwnResult:
    """Derives a result from the last start of work. Other calls say nothing about Codex's arguments: the real Codex has
    answered them."""
    started = work(launches)
    if not started:
        return OwnResult()
    last = started[-1]
    changed = {
        name: value
        for name, value in last.env.items()
        if given.get(name) != value and not _NOISE.fullmatch(name) and name != "PATH"
    }
    gone = tuple(name for name in given if name not in last.env and not _NOISE.fullmatch(name))
    return OwnResult(argv=overrides(last.argv), env=changed, unset=gone)


def overrides(argv: Sequence[str]) -> tuple[str, ...]:
    """Returns the options of a start of Codex that decide what it may do."""
    found: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            break
        if word in _VALUED:
            value = next(words, None)
            found += [word] if value is None else [word, value]
        elif word in _PLAIN or word.partition("=")[0] in _VALUED or re.match(r"-[csap].", word):
            found.append(word)
    return tuple(found)


def as_files(seen: Mapping[str, Mapping[str, Any]]) -> Files:
    return {name: FileState(**one) for name, one in seen.items()}
