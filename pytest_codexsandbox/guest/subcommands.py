"""Subcommands: distinguishes a start of work (a session, a server, a command in the sandbox) from all other calls.

The real Codex says which words are subcommands; without one, a list does. The module runs with the standard library of
Python 3.9 only.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import Callable, Final, List, Optional, Sequence  # noqa: UP035

VALUED: Final = (
    "-C",
    "--cd",
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
    "-m",
    "--model",
    "-i",
    "--image",
    "--local-provider",
    "--remote",
    "--remote-auth-token-env",
)
_QUESTIONS: Final = ("--version", "-V", "--help", "-h")
_WORK: Final = (
    "exec",
    "review",
    "resume",
    "fork",
    "agents",
    "queue",
    "sandbox",
    "app-server",
    "exec-server",
    "mcp-server",
    "remote-control",
)
_OTHERS: Final = (  # of releases 0.121 to 0.169; used where no Codex can be asked
    "mcp",
    "features",
    "login",
    "logout",
    "doctor",
    "completion",
    "update",
    "debug",
    "plugin",
    "help",
    "apply",
    "a",
    "cloud",
    "execpolicy",
    "archive",
    "delete",
    "unarchive",
    "migrate-rollouts",
    "responses-api-proxy",
    "stdio-to-uds",
)
_ALIASES: Final = {"e": "exec"}
_SANDBOXES: Final = ("landlock", "seatbelt")  # of `codex debug`: names of `codex sandbox` in earlier releases
_USAGE: Final = re.compile(rb"^Usage:[ \t]+codex([^\r\n]*)", re.MULTILINE)
_PATIENCE: Final = 10.0  # seconds for one line of help
Known = Callable[[str], str]
"""A word → the subcommand that it names, "" where it names none: then it is a prompt."""


def listed(word: str) -> str:
    """Looks a word up among the subcommands that are known here."""
    name = _ALIASES.get(word, word)
    return name if name in (*_WORK, *_OTHERS) else ""


def asked(codex: str) -> Known:
    """Asks this Codex for the help of the word; `listed` answers where Codex does not."""

    def known(word: str) -> str:
        if word == "help":
            return word
        # Codex makes a folder in its home at every call: this question must leave nothing there.
        env = {**os.environ, "CODEX_HOME": "/nonexistent/codexsandbox"}
        try:
            done = subprocess.run(
                ["codex", word, "--help"],
                executable=codex,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=env,
                timeout=_PATIENCE,
                check=False,
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            return listed(word)
        usage = _USAGE.search(done.stdout)
        if usage is None:
            return listed(word)
        words = usage.group(1).decode("utf-8", "replace").split()
        return words[0] if words and re.fullmatch(r"[a-z][a-z0-9-]*", words[0]) else ""

    return known


def positionals(argv: Sequence[str]) -> List[str]:  # noqa: UP006
    """Returns the words up to `--` that are neither options nor their values.

    After the first one, values of options may be among them, because a subcommand takes options of its own.
    """
    found = []
    rest = list(argv[: list(argv).index("--")] if "--" in argv else argv)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "-":
            found.append(word)
        elif word in VALUED and rest:
            rest.pop(0)
    return found


def is_question(argv: Sequence[str]) -> bool:
    """Checks for --help and --version. Behind `sandbox COMMAND` they are the command's own."""
    for place, word in enumerate(argv):
        if word == "--":
            return False
        if word in _QUESTIONS:
            before = positionals(argv[:place])
            return not (len(before) > 1 and before[0] == "sandbox")
    return False


def starts_work(argv: Sequence[str], known: Known = listed) -> bool:
    """Checks whether such a call makes Codex work, instead of asking or changing something."""
    if is_question(argv):
        return False
    words = positionals(argv)
    if not words:
        return True
    name, below = known(words[0]), words[1] if len(words) > 1 else ""
    if name == "app-server":
        return not below.startswith("generate-")
    if name == "debug":
        return below in _SANDBOXES
    return name == "" or name in _WORK


def why_refused(argv: Sequence[str]) -> Optional[str]:  # noqa: UP045
    """Returns why a call cannot be made here; None if it can."""
    words = positionals(argv)
    if is_question(argv) or not words:
        return None
    if words[0] == "update":
        return "the Codex of this cell stays the release that it is: `codex update` is not run"
    if words[0] == "login" and not set(argv[argv.index("login") + 1 :]) - {"--"}:
        return "`codex login` waits for a browser, and there is none: `codex login --with-api-key` needs none"
    return None
