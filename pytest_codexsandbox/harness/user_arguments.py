"""User arguments: checks what a test passes to `codex_sandbox`. Names each wrong argument before anything runs, with
what to type."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.model.act import PLACEHOLDERS, Given
from pytest_codexsandbox.model.policy import POLICIES, WORKSPACE_WRITE

RUN: Final = "codex_sandbox.run()"
_WORD: Final = re.compile(r"@([A-Za-z0-9_]+)@")
_OPEN: Final = re.compile(r"@([A-Z0-9_]+)(?=/|$)")  # its second @ is missing


def check_run(argv: Sequence[Any], *, given: Any, looks: Any, stdin: Any, env: Any, timeout: Any) -> None:
    """Raises InputError for the first argument that `run` cannot take."""
    _check_argv(argv)
    _check_list("looks", looks, str, 'looks=["@WORKSPACE@/made"]')
    _check_list("given", given, Given, 'given=[Given(kind="file", path="@WORKSPACE@/made", content="x")]')
    if not isinstance(stdin, bytes):
        raise _wrong("stdin", f"is {_kind(stdin)}, not bytes", next_step='stdin=b"text", or stdin=text.encode()')
    if env is not None and not (isinstance(env, Mapping) and all(isinstance(one, str) for one in _members(env))):
        raise _wrong("env", "is no mapping of texts to texts", next_step='env={"NAME": "value"}')
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
        raise _wrong("timeout", f"is {timeout!r}, no number of seconds", next_step="timeout=20.0")
    _check_words("argv", argv)
    _check_words("env", (env or {}).values())
    _check_words("given", (text for one in given for text in (one.path, one.content)))
    _check_words("looks", looks)
    _check_paths("looks", looks)
    _check_paths("given", (one.path for one in given))


def policies_of(args: Sequence[Any], kwargs: Mapping[str, Any], *, test: str) -> tuple[str, ...]:
    """Returns the policies that the marker `codex` names. Raises InputError for arguments that it does not take."""
    strange = next((name for name in kwargs if name != "policies"), "")
    named = args if args else kwargs.get(strange or "policies", (WORKSPACE_WRITE,))
    words = [str(word) for word in ([named] if isinstance(named, str) or not isinstance(named, Iterable) else named)]
    unknown = next((word for word in words if word not in POLICIES), "")
    if args:
        wrong = f"takes no word without a name: {args[0]!r}"
    elif strange:
        wrong = f"has no word {strange!r}"
    elif unknown:
        wrong = f"names a policy that does not exist: {unknown!r}"
    elif isinstance(named, str):
        wrong = f"has {named!r} as policies, which is a text and not a list"
    elif not words:
        wrong = "names no policy"
    else:
        return tuple(words)
    meant = [next(iter(get_close_matches(word, POLICIES, n=1)), WORKSPACE_WRITE) for word in words or [WORKSPACE_WRITE]]
    typed = "".join(f'"{word}", ' for word in dict.fromkeys(meant))
    raise InputError(
        f"the marker `codex` {wrong}",
        where=test,
        why=did_you_mean(unknown, POLICIES) if unknown else "",
        next_step=f"@pytest.mark.codex(policies=({typed.rstrip() if len(meant) == 1 else typed.rstrip(', ')}))",
    )


def check_look(path: str, looks: Iterable[str]) -> None:
    """Raises InputError where the run did not look at `path`."""
    there = sorted(looks)
    if path in there:
        return
    near = get_close_matches(path, there, n=1)
    raise InputError(
        f"{path!r} was not looked at in this run",
        where="codex_sandbox.look()",
        why=f"this run looked at {', '.join(there) or 'nothing'}",
        next_step=f"look(seen, {near[0]!r})" if near else f"codex_sandbox.run(…, looks=[{path!r}])",
    )


def _check_argv(argv: Sequence[Any]) -> None:
    if not argv:
        raise InputError(f"{RUN} needs a command", next_step='codex_sandbox.run("true")')
    if len(argv) == 1 and isinstance(argv[0], list | tuple):
        typed = f"codex_sandbox.run({_quoted(map(str, argv[0]))})"
        raise _wrong("argv", "is one list; the words are separate arguments", next_step=typed)
    for number, word in enumerate(argv, start=1):
        if not isinstance(word, str):
            raise _wrong("argv", f"has {_kind(word)} as word {number}: {word!r}", next_step=f"str({word!r})")
    if len(argv) == 1 and _is_a_line(argv[0]):
        raise _wrong(
            "argv",
            f"is one text with blanks: {argv[0]!r}; no shell splits it",
            next_step=f'codex_sandbox.run({_split(argv[0])}), or run it by a shell: run("sh", "-c", {argv[0]!r})',
        )


def _is_a_line(word: str) -> bool:
    """Checks whether one argument is a whole command line. A path may hold blanks; a bare name never does, and no path
    goes on with an option."""
    words = word.split()
    return len(words) > 1 and ("/" not in word or any(one.startswith("-") for one in words[1:]))


def _split(line: str) -> str:
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    return _quoted(words)


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' if '"' not in word and "\\" not in word else repr(word) for word in words)


def _check_list(name: str, value: Any, kind: type, example: str) -> None:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise _wrong(name, f"is {_kind(value)}, not a list", next_step=example)
    for number, one in enumerate(value, start=1):
        if not isinstance(one, kind):
            raise _wrong(name, f"has {_kind(one)} at place {number}: {one!r}", next_step=example)


def _check_words(name: str, texts: Iterable[str]) -> None:
    for text in texts:
        for word in _WORD.findall(text):
            wrong = word not in PLACEHOLDERS and (word.isupper() or _near(word))
            if wrong:
                raise _unknown(name, text, word)


def _check_paths(name: str, paths: Iterable[str]) -> None:
    for path in paths:
        opened = _OPEN.match(path)
        if opened:
            raise _unknown(name, path, opened[1])
        if not path.startswith(("@", "/")):
            raise _wrong(name, f"has a relative path: {path!r}", next_step=f"{name} with '@WORKSPACE@/{path}'")


def _unknown(name: str, text: str, word: str) -> InputError:
    near = _near(word)
    typed = text.replace(f"@{word}@", f"@{near}@").replace(f"@{word}/", f"@{near}@/") if near else ""
    return InputError(
        f"{RUN}: {name} has the unknown placeholder @{word}{'@' if f'@{word}@' in text else ''}: {text!r}",
        why=did_you_mean(word.upper(), PLACEHOLDERS, limit=len(PLACEHOLDERS)),
        next_step=repr(typed) if typed else "",
    )


def _near(word: str) -> str:
    return next(iter(get_close_matches(word.upper(), PLACEHOLDERS, n=1, cutoff=0.7)), "")


def _wrong(name: str, what: str, *, next_step: str) -> InputError:
    return InputError(f"{RUN}: {name} {what}", next_step=next_step)


def _members(env: Mapping[Any, Any]) -> list[Any]:
    return [*env.keys(), *env.values()]


def _kind(value: Any) -> str:
    name = {"str": "text"}.get(type(value).__name__, type(value).__name__)
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"
