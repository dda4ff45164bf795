"""Redaction: keeps values that look like credentials out of journals and reports.

The same rules work on text and on a line of JSON: no pattern can match a closing quote or half of an escape, so JSON
stays JSON. A rule is tried only where one of its hints occurs, because nearly every line has none.

A value of a variable with a secret's name is registered, so that it is replaced wherever it stands. It must have eight
characters, among them a digit or a capital letter: so no plain word of a journal is ever replaced. The path of a file
that is there, and a placeholder, are no secrets: a journal needs them to be read.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

MARK: Final = "[redacted]"
LONGEST: Final = 4096  # characters of a registered value
_KEY_OF = (
    r"(?:API|ACCESS|PRIVATE|SECRET|ENCRYPTION|SIGNING|MASTER|AUTH|ACCOUNT|DEPLOY|SERVICE|SSH)_?KEY"  # not SORT_KEY
)
_NAME = rf"[A-Za-z0-9_]*(?:{_KEY_OF}|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)"
_LOWER = r"(?:access_token|refresh_token|id_token|api_key|client_secret|password)"


def _word(first: str, rest: str) -> tuple[tuple[str, ...], str]:
    """Returns the rule of a word with these first characters, which are searched for before anything is compared.

    The word starts there: also right after an escape of JSON ("\\nghp_…" is a token at the start of a line).
    """
    start = rf"(?:(?<![A-Za-z0-9_-]{first})|(?<=\\[bfnrt]{first})|(?<=\\u00[01][0-9a-f]{first}))"
    return (first,), first + start + rest


_RULES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    _word("sk-", r"(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{16,}"),
    *(_word(f"gh{kind}_", r"[A-Za-z0-9]{16,}") for kind in "pousr"),
    _word("github_pat_", r"[A-Za-z0-9_]{16,}"),
    *(_word(first, r"(?=[\w-]*[0-9])[A-Za-z0-9_-]{20,}") for first in ("glpat-", "npm_", "hf_", "pypi-")),
    _word("xox", r"[abeoprs]-[A-Za-z0-9-]{10,}"),
    *(_word(first, r"[A-Z0-9]{16}") for first in ("AKIA", "ASIA")),
    _word("AIza", r"[A-Za-z0-9_-]{30,}"),
    _word("eyJ", r"[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    (("earer ", "asic ", "EARER "), r"(?<=[Ee]arer |EARER |[Bb]asic )(?=\S*[0-9])[A-Za-z0-9._~+/-]{16,}=*"),
    (("://",), r"(?<=://)[^\s/@\"\\:]*:[^\s/@\"\\]+(?=@)"),
    (("PRIVATE KEY",), r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^\"\\]|\\.)*?(?:-----END [A-Z ]*KEY-----|(?=\")|\Z)"),
)
_NAMED_HINTS: Final = ("KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "_token", "api_key", "client_secret", "password")
_NAMED: Final = (
    rf'("(?:{_NAME}|{_LOWER})"\s*:\s*")(?:[^"\\]|\\.)+(?=")',  # a member of a JSON object
    rf'(\\"(?:{_NAME}|{_LOWER})\\"\s*:\s*\\")[^"\\]+',  # … of an object that is itself text in JSON
    rf"((?<![A-Za-z0-9_])(?:{_NAME}|{_LOWER})=)[^\s\"'\\;&|,)]+",  # NAME=value
)

_FLAGS: Final = (  # --token VALUE, --token=VALUE; as words of a list in JSON or Python too
    ("-token", "-secret", "-passw", "-key", "-api", "-credential"),
    r"(?<![A-Za-z0-9_-])(--(?:[a-z]+-)*(?:token|secret|password|passwd|(?:api|access|private)-?key|credentials?)"
    r"(?:=|\s+|\\?[\"']\s*,\s*\\?[\"']))(?!-)[^\s\"'\\,;&|)]+",
)
_SECRET_NAME: Final = re.compile(rf"{_NAME}|{_LOWER}", re.IGNORECASE)
_REGISTRABLE: Final = re.compile(rf"(?!@[A-Z_]+@)(?=.*[0-9A-Z])[!-~]{{8,{LONGEST}}}")

_TEXT = [(hints, re.compile(pattern)) for hints, pattern in _RULES]
_TEXT_NAMED = [re.compile(pattern, re.DOTALL) for pattern in _NAMED]
_BYTES = [(hint.encode(), re.compile(pattern.encode())) for hints, pattern in _RULES for hint in hints]
_BYTES_NAMED = [re.compile(pattern.encode(), re.DOTALL) for pattern in _NAMED]
_TEXT_FLAGS = re.compile(_FLAGS[1])
_BYTES_FLAGS = re.compile(_FLAGS[1].encode())
_BYTES_FLAG_HINTS = tuple(hint.encode() for hint in _FLAGS[0])
_registered: dict[str, tuple[bytes, ...]] = {}  # value → its spellings in JSON; the longest first
_BYTES_HINTS = tuple(hint.encode() for hint in _NAMED_HINTS)
_ALL_HINTS = (*(hint for hint, _ in _BYTES), *_BYTES_HINTS, *_BYTES_FLAG_HINTS)


def register(variables: Mapping[str, str], *, is_there: Callable[[str], bool]) -> None:
    """Registers the values of variables that have a secret's name, for this process. `is_there`: checks whether a value
    is the path of something that exists."""
    for name, value in variables.items():
        secret = value not in _registered and _SECRET_NAME.fullmatch(name) and _REGISTRABLE.fullmatch(value)
        if secret and not is_there(value):
            _registered[value] = _spellings(value)
            ordered = sorted(_registered.items(), key=lambda pair: len(pair[0]), reverse=True)
            _registered.clear()
            _registered.update(ordered)


def _spellings(value: str) -> tuple[bytes, ...]:
    """Returns the value as it stands in JSON, and in JSON that is itself text in JSON."""
    once = json.dumps(value)[1:-1]
    return tuple(dict.fromkeys(text.encode() for text in (json.dumps(once)[1:-1], once)))


def redact(text: str) -> str:
    """Returns `text` with every value that looks like a credential, or is a registered one, replaced."""
    for value in _registered:
        text = text.replace(value, MARK)
    return redact_lookalikes(text)


def redact_words(words: Sequence[str]) -> tuple[str, ...]:
    """Redacts the words of a command. The word after a flag such as --token is its value."""
    flagged = (False, *(bool(_TEXT_FLAGS.fullmatch(f"{word} x")) for word in words))
    return tuple(
        MARK if after_flag and not word.startswith("-") else redact(word)
        for word, after_flag in zip(words, flagged, strict=False)
    )


def redact_lookalikes(text: str) -> str:
    """Returns `text` with every value that looks like a credential replaced. Registered values stay: a user's own test
    reads them in the output of its command, and may assert that they are not there."""
    for hints, pattern in _TEXT:
        if any(hint in text for hint in hints):
            text = pattern.sub(MARK, text)
    if any(hint in text for hint in _NAMED_HINTS):
        for pattern in _TEXT_NAMED:
            text = pattern.sub(rf"\1{MARK}", text)
    if any(hint in text for hint in _FLAGS[0]):
        text = _TEXT_FLAGS.sub(rf"\1{MARK}", text)
    return text


def cut_outside(text: str, at: int, *, forward: bool = False) -> int:
    """Returns the place to cut `text`: `at`, or the nearest one before it (or behind it) that splits no registered
    value. Half a value would never be recognised."""
    while found := _value_across(text, at):
        at = found[1] if forward else found[0]
    return at


def _value_across(text: str, at: int) -> tuple[int, int] | None:
    """Returns where a registered value begins and ends that a cut there would split."""
    for value in _registered:
        start = text.find(value, max(0, at - len(value) + 1), max(0, at + len(value) - 1))
        if start >= 0:
            return start, start + len(value)
    return None


def redact_bytes(data: bytes) -> bytes:
    """Redacts bytes that were typed in or printed, whatever their encoding."""
    return redact(data.decode("latin-1")).encode("latin-1")


def nameable(name: str) -> str:
    """Returns a name that no later redaction changes. A name in which something looks like a credential becomes a
    digest."""
    return name if redact(name) == name else f"redacted-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def redact_registered(data: bytes) -> bytes:
    """Replaces the registered values in JSON. Only the process of a test knows those of its calls."""
    for spellings in _registered.values():
        for spelled in spellings:
            data = data.replace(spelled, MARK.encode())
    return data


def may_hold(data: bytes) -> bool:
    """Checks whether encoded JSON has a hint of a credential. Without one, `redact_json` replaces registered values
    only."""
    return any(map(data.__contains__, _ALL_HINTS))


def redact_json(line: bytes) -> bytes:
    """Redacts a line of JSON in its encoded form."""
    line = redact_registered(line)
    for hint, pattern in _BYTES:
        if hint in line:
            line = pattern.sub(MARK.encode(), line)
    if any(hint in line for hint in _BYTES_HINTS):
        for pattern in _BYTES_NAMED:
            line = pattern.sub(rb"\1" + MARK.encode(), line)
    if any(hint in line for hint in _BYTES_FLAG_HINTS):
        line = _BYTES_FLAGS.sub(rb"\1" + MARK.encode(), line)
    return line
