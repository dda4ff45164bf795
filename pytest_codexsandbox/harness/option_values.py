"""Option values: parses the option texts that `pytest` and `codexsandbox plan` have in common. Pure."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.budget import Budget
from pytest_codexsandbox.matrix.suggestions import did_you_mean

_PAIRS: Final = {"2": 2, "3": 3, "all": 0}
_TIME: Final = re.compile(r"(?:(?P<h>\d{1,4})h)?(?:(?P<m>\d{1,5})m)?(?:(?P<s>\d{1,6})s)?")
_SECONDS: Final = {"h": 3600, "m": 60, "s": 1}
_HOST: Final = re.compile(r"(?:unix:///[^\s,]+|ssh://[^\s,-][^\s,]*|tcp://[^\s,-][^\s,]*)")


def lines(given: Iterable[str]) -> tuple[str, ...]:
    """Returns the values of an option that may be given several times, without blank ones."""
    return tuple(text.strip() for text in given if text.strip())


def words(given: Iterable[str], *, option: str) -> tuple[str, ...]:
    """Returns the names in comma-separated lists, each once. Refuses an empty name."""
    found = [word.strip() for line in lines(given) for word in line.split(",")]
    if "" in found:
        raise InputError(
            f"an empty name in {option}", why="two commas, or one at an end", next_step="pytest --codex-matrix --help"
        )
    return tuple(dict.fromkeys(found))


def pairs(text: str | None) -> int | None:
    """Returns how many axis values are combined. 0: every combination; None: the option is not given."""
    if text is None:
        return None
    if text.strip() not in _PAIRS:
        raise InputError(
            f"{text!r} is not a number of values",
            where="--codex-pairs",
            why="2 covers every pair of values, 3 every triple, all every combination",
        )
    return _PAIRS[text.strip()]


def keep_runs(text: str | None, *, where: str) -> int | None:
    """Returns how many runs stay; None if the option is not given."""
    if text is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,5}", str(text).strip()):
        raise InputError(f"{text!r} is not a number of runs", where=where, why="1 or more: the last run always stays")
    return int(text)


def budget(text: str | None) -> Budget | None:
    if text is None:
        return None
    found = _TIME.fullmatch(text.strip())
    seconds = sum(int(found[unit] or 0) * each for unit, each in _SECONDS.items()) if found else 0
    if not seconds:
        raise InputError(f"{text!r} is not a duration", where="--codex-budget", why="as in 90s, 10m or 1h30m")
    return Budget(seconds=seconds, text=text.strip())


def hosts(words: Sequence[str]) -> tuple[str, ...]:
    for word in words:
        if not _HOST.fullmatch(word):
            raise InputError(
                f"{word!r} is not the address of an engine",
                where="--codex-docker-hosts",
                why="as in unix:///var/run/docker.sock, ssh://user@host or tcp://host:2376",
            )
    return tuple(words)


def check_formats(asked: Iterable[str], known: Collection[str], *, where: str) -> None:
    """Refuses a name that is not an installed report format."""
    for name in asked:
        if name not in known:
            raise InputError(f"there is no report format {name!r}", where=where, why=did_you_mean(name, known))
