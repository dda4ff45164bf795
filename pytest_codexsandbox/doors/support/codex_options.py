"""Codex options: selects the words of a generator's start that any subcommand of Codex accepts. Pure.

The TUI and `codex exec` accept `-s read-only`; there it overrides every `-c`. Another subcommand gets the equivalent
setting instead. A word without an equivalent setting cannot be tested there.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.option_words import cut

SETTINGS: Final = ("-c", "--config", "--enable", "--disable")
_STANDS_FOR: Final = {
    "-s": "sandbox_mode",
    "--sandbox": "sandbox_mode",
    "-a": "approval_policy",
    "--ask-for-approval": "approval_policy",
}
_APPROVAL: Final = ("-a", "--ask-for-approval")
_VALUED: Final = ("-p", "--profile", "--add-dir")
_BYPASS: Final = ("--dangerously-bypass-approvals-and-sandbox", "--yolo")
_EVERYTHING: Final = ("-c", 'sandbox_mode="danger-full-access"', "-c", 'approval_policy="never"')


def settings_of(words: Sequence[str], *, door: str) -> tuple[str, ...]:
    """Returns the settings that these words stand for. Unavailable names the first word without an equivalent
    setting.
    """
    rest = list(words)
    taken: list[str] = []
    last: list[str] = []
    while rest:
        word = rest.pop(0)
        name, equals, value = cut(word)
        if word in _BYPASS:
            last += _EVERYTHING
        elif name not in (*SETTINGS, *_STANDS_FOR) or not (rest or equals):
            raise Unavailable(
                f"the door {door} accepts only settings ({', '.join(SETTINGS)}), not {word!r}",
                next_step="the door exec accepts every option of `codex exec`",
            )
        elif name in SETTINGS:
            taken += [word] if equals else [word, rest.pop(0)]
        else:
            last += ["-c", f"{_STANDS_FOR[name]}={_string(value if equals else rest.pop(0))}"]
    return (*taken, *last)


def exec_words(words: Sequence[str], *, door: str) -> tuple[str, ...]:
    """Returns words for `codex exec`, which takes every option about permissions except the one about approvals.

    That option becomes a setting.
    """
    options: list[str] = []
    for name, taken in _taken(words):
        valued = len(taken) > 1 or name != taken[0]
        options += settings_of(taken, door=door) if name in _APPROVAL and valued else taken
    return tuple(options)


def settings_alone(words: Sequence[str]) -> tuple[str, ...]:
    """Returns the words that any subcommand accepts; leaves out the others."""
    known = (*SETTINGS, *_STANDS_FOR, *_BYPASS)
    return settings_of([word for name, taken in _taken(words) if name in known for word in taken], door="")


def _taken(words: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields each option by its name, with its value."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, _ = cut(word)
        valued = name in (*SETTINGS, *_STANDS_FOR, *_VALUED) and not equals and bool(rest)
        yield name, (word, rest.pop(0)) if valued else (word,)


def no_settings(words: Sequence[str], *, door: str) -> str:
    """Returns why this door cannot take these words; "" if it can."""
    try:
        settings_of(words, door=door)
    except Unavailable as problem:
        return f"{problem.what}: {problem.next_step}"
    return ""


def _string(word: str) -> str:
    """Quotes a word as a TOML literal string, without its single quotes.

    A word with quotes is no valid mode; Codex refuses it with its own message.
    """
    return "'" + word.replace("'", "") + "'"
