"""Codex stub: the `codex` on a generator's PATH: `PYTHON -I -S codex_stub.py FOLDER WORKS CODEX ARG…`.

Records how it was called. A call that starts no work becomes CODEX, so that the generator gets Codex's own answer. A
start of work becomes CODEX if WORKS is 1, and otherwise ends with success. The stub runs with only the files beside it:
the standard library of Python 3.9.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pytest_codexsandbox.guest.subcommands import asked, listed, starts_work, why_refused
else:  # started as a file: the files beside it are modules
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from subcommands import asked, listed, starts_work, why_refused

_WORDS: Final = 1000
_LONGEST: Final = 64 * 1024
_REFUSED: Final = 1
_NO_CODEX: Final = 127  # as a shell exits for a missing program


def record(folder: str, argv: list[str], *, work: bool) -> None:
    os.makedirs(folder, exist_ok=True)
    words = {
        "argv": [_text(word) for word in argv[:_WORDS]],
        "env": {_text(name): _text(value) for name, value in list(os.environ.items())[:_WORDS]},
        "cwd": _text(_cwd()),
        "work": work,
    }
    number = len(os.listdir(folder))
    partial = os.path.join(folder, f".{os.getpid()}")
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(words, file)
    os.rename(partial, os.path.join(folder, f"{number:04}-{os.getpid()}.json"))


def _text(word: str) -> str:
    return word[:_LONGEST].encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def main(folder: str, works: str, codex: str, *argv: str) -> int:
    work = starts_work(argv, asked(codex) if codex else listed)
    record(folder, list(argv), work=work)
    if work:
        if works == "1":
            os.execv(codex, ["codex", *argv])
        return 0
    refused = why_refused(argv)
    if refused is not None:
        print(f"codexsandbox: {refused}", file=sys.stderr)
        return _REFUSED
    if codex:
        os.execv(codex, ["codex", *argv])
    print("codexsandbox: this generator has no Codex, so it cannot be called", file=sys.stderr)
    return _NO_CODEX


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
