"""What a stub `codex` on PATH does: `PYTHON -I -S recorder.py FOLDER CODEX ARG…` writes down how it was started, then
becomes CODEX, or ends well where that is empty."""

from __future__ import annotations

import json
import os
import sys
from typing import Final

_WORDS: Final = 1000
_LONGEST: Final = 64 * 1024


def record(folder: str, argv: list[str]) -> None:
    os.makedirs(folder, exist_ok=True)
    words = {
        "argv": [_text(word) for word in argv[:_WORDS]],
        "env": {_text(name): _text(value) for name, value in list(os.environ.items())[:_WORDS]},
        "cwd": _text(_cwd()),
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


if __name__ == "__main__":
    _folder, _codex, *_argv = sys.argv[1:]
    record(_folder, _argv)
    if _codex:
        os.execv(_codex, ["codex", *_argv])
