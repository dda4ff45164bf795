"""Redaction: keeps values that look like credentials out of journals and reports.

The same rules work on text and on a line of JSON: no pattern can match a closing quote or half of an escape, so JSON
stays JSON. A rule is tried only where one of its hints occurs, because nearly every line has none.
"""

import hashlib
import re
from typing import Final

MARK: Final = "[redacted]"
# A word starts here: also right after an escape of JSON ("\nghp_…" is a token at the start of a line).
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt])|(?<=\\u00[01][0-9a-f]))"
_NAME = r"[A-Za-z0-9_]*(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)"
_LOWER = r"(?:access_token|refresh_token|id_token|api_key|client_secret|password)"
_RULES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("sk-",), _START + r"sk-(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{16,}"),
    (("gh", "github_pat_"), _START + r"(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,})"),
    (("glpat-", "npm_", "hf_", "pypi-"), _START + r"(?:glpat-|npm_|hf_|pypi-)(?=[\w-]*[0-9])[A-Za-z0-9_-]{20,}"),
    (("xox",), _START + r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    (("AKIA", "ASIA", "AIza"), _START + r"(?:(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,})"),
    (("eyJ",), _START + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
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

_TEXT = [(hints, re.compile(pattern)) for hints, pattern in _RULES]
_TEXT_NAMED = [re.compile(pattern, re.DOTALL) for pattern in _NAMED]
_BYTES = [(tuple(hint.encode() for hint in hints), re.compile(pattern.encode())) for hints, pattern in _RULES]
_BYTES_NAMED = [re.compile(pattern.encode(), re.DOTALL) for pattern in _NAMED]
_BYTES_HINTS = tuple(hint.encode() for hint in _NAMED_HINTS)


def redact(text: str) -> str:
    """Returns `text` with every value that looks like a credential replaced."""
    for hints, pattern in _TEXT:
        if any(hint in text for hint in hints):
            text = pattern.sub(MARK, text)
    if any(hint in text for hint in _NAMED_HINTS):
        for pattern in _TEXT_NAMED:
            text = pattern.sub(rf"\1{MARK}", text)
    return text


def redact_bytes(data: bytes) -> bytes:
    """Redacts bytes that were typed in or printed, whatever their encoding."""
    return redact(data.decode("latin-1")).encode("latin-1")


def nameable(name: str) -> str:
    """Returns a name that no later redaction changes. A name in which something looks like a credential becomes a
    digest."""
    return name if redact(name) == name else f"redacted-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def redact_json(line: bytes) -> bytes:
    """Redacts a line of JSON in its encoded form."""
    for hints, pattern in _BYTES:
        if any(hint in line for hint in hints):
            line = pattern.sub(MARK.encode(), line)
    if any(hint in line for hint in _BYTES_HINTS):
        for pattern in _BYTES_NAMED:
            line = pattern.sub(rb"\1" + MARK.encode(), line)
    return line
