"""Seccomp filters: system call filters that an engine gets as text, each with a mark of its own in it.

An engine may silently ignore a filter, or load another one. So each of our filters also answers one system call that no
kernel has had for a decade. The answers are four numbers made of the filter's own text. The agent makes that call
inside.
"""

import hashlib
import json
from typing import Any, Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.guest.syscall_answers import MARK, MARK_WORDS

_CALL: Final = "nfsservctl"
_LEAST, _MOST = 200, 4095  # no kernel has these errnos; above them no filter can answer


def marked(text: str, *, where: str) -> str:
    """Returns the filter with its mark."""
    profile = _parsed(text, where)
    rules = [_without(rule) for rule in profile["syscalls"]]
    for place, number in enumerate(_numbers(text)):
        args = [{"index": index, "value": value, "op": "SCMP_CMP_EQ"} for index, value in ((0, MARK), (1, place))]
        rules.append({"names": [_CALL], "action": "SCMP_ACT_ERRNO", "errnoRet": number, "args": args})
    return json.dumps({**profile, "syscalls": [rule for rule in rules if rule["names"]]})


def mark_of(text: str) -> str:
    """Returns what the agent reads back if that filter is in force."""
    return "-".join(map(str, _numbers(text)))


def _numbers(text: str) -> list[int]:
    digest = hashlib.sha256(text.encode()).digest()
    pieces = [int.from_bytes(digest[4 * place : 4 * place + 4], "big") for place in range(MARK_WORDS)]
    return [_LEAST + piece % (_MOST - _LEAST) for piece in pieces]


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        profile = json.loads(text)
    except ValueError as problem:
        raise InputError("a seccomp profile is not JSON", where=where, why=str(problem)) from problem
    if not isinstance(profile, dict) or "defaultAction" not in profile or not isinstance(profile.get("syscalls"), list):
        raise InputError("a seccomp profile needs a defaultAction and a list of syscalls", where=where)
    if not all(isinstance(rule, dict) and isinstance(rule.get("names"), list) for rule in profile["syscalls"]):
        raise InputError("every rule of a seccomp profile needs a list of names", where=where)
    return profile


def _without(rule: dict[str, Any]) -> dict[str, Any]:
    """Removes the rules for that system call, since a rule for all of its calls would override the mark's."""
    return {**rule, "names": [name for name in rule["names"] if name != _CALL]}
