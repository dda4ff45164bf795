"""World flaws: errors that a bad fake Codex makes with odd names, links, variables, its memory of calls, and hooks.

fake_call.py and restraint.py ask here. Each word in `flaws` breaks one thing:

    when:SITUATION:FLAW (the flaw, in this situation only; `unconfined`: no sandbox at all)
                                  SITUATION: odd (the working folder's name), variables (one of the caller's switches
                                  the sandbox off), second (and later calls in one CODEX_HOME), stdin-null,
                                  stdin-closed, stdin-terminal
    odd:lost (`/` as working folder, where that folder's name is odd)
    odd:root-widened, linked:widened (grants the parent of a root with a space, of a folder reached through a link)
    environment:dropped, environment:secrets-lost, environment:token (the token of auth.json is added),
    environment:pager (what `codex exec` adds for tools is added)
    git-link:dies, git-link:named (no command runs where .git is a link: unexplained; or with its name, as Codex does)
    snapshot:open, snapshot:none, snapshot:unkept (`codex exec` starts the user's shell without a sandbox; or starts
                                  none; or keeps no snapshot)
    git:called (Codex calls git in the workspace, without a sandbox and with the repository's settings)
    words:utf-8 (arguments are read as UTF-8, and what is none is replaced)

The file runs beside the fake Codex: standard library only, Python 3.9 or newer.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable

_ODD = re.compile(r"[^\w./~+@:=-]", re.ASCII)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_TRUSTED = "trusted"
_OFF = {"CODEX_SANDBOX": "off", "CODEX_UNSAFE_ALLOW_NO_SANDBOX": "1"}
_TOKEN = re.compile(r'"OPENAI_API_KEY": *"([^"]+)"')


def is_odd(path: str) -> bool:
    """Checks whether a path has a sign that a shell, a pattern or a format would take for its own."""
    return _ODD.search(path) is not None


def in_force(flaws: Iterable[str], *, folder: str, stdin: str) -> frozenset[str]:
    """Returns the flaws of this call: those that it has anyway, and those of the situations that it is in."""
    there, more = set(flaws), {f"stdin-{stdin}"}
    if is_odd(os.path.realpath(folder or os.getcwd())):
        more.add("odd")
    if any(os.environ.get(name) == value for name, value in _OFF.items()):
        more.add("variables")
    if any(flaw.startswith("when:second:") for flaw in there) and _was_here():
        more.add("second")
    cut = (flaw.split(":", 2) for flaw in there if flaw.startswith("when:"))
    return frozenset(there | {flaw for _, situation, flaw in cut if situation in more})


def _was_here() -> bool:
    """Checks whether an earlier call left its mark in CODEX_HOME, and leaves one."""
    mark = os.path.join(os.environ.get("CODEX_HOME", "/nowhere"), _TRUSTED)
    found = os.path.exists(mark)
    if not found and os.path.isdir(os.path.dirname(mark)):
        os.close(os.open(mark, os.O_CREAT | os.O_WRONLY, 0o600))
    return found


def more_roots(flaws: Iterable[str], roots: list[str]) -> list[str]:
    """Returns the folders that are granted beside the roots, by one of the flaws."""
    there, found = set(flaws), []
    if "odd:root-widened" in there:
        found += [os.path.dirname(root) for root in roots if " " in root]
    called = os.environ.get("PWD", "")
    if "linked:widened" in there and os.path.islink(called):
        found.append(os.path.realpath(os.path.dirname(called)))
    return found


def variables(flaws: Iterable[str]) -> dict[str, str]:
    """Returns the command's variables."""
    there, made = set(flaws), dict(os.environ)
    if "environment:dropped" in there:
        made = {key: made[key] for key in ("PATH", "HOME", "TMPDIR") if key in made}
    if "environment:secrets-lost" in there:
        made = {key: value for key, value in made.items() if not _SECRET.search(key)}
    if "environment:token" in there:
        made["CODEX_ACCESS_TOKEN"] = _token()
    if "environment:pager" in there:
        made.update(PAGER="cat", SHLVL="1")
    return made


def _token() -> str:
    try:
        with open(os.path.join(os.environ.get("CODEX_HOME", ""), "auth.json"), encoding="utf-8") as file:
            found = _TOKEN.search(file.read())
    except OSError:
        return "none"
    return found[1] if found else "none"


def refuse_link(flaws: Iterable[str], folder: str) -> None:
    """Ends the call where `.git` of the folder is a link, by one of the flaws."""
    there, link = set(flaws), os.path.join(folder, ".git")
    if there & {"git-link:dies", "git-link:named"} and os.path.islink(link):
        why = f"cannot enforce sandbox read-only path {link}" if "git-link:named" in there else "cannot start"
        os.write(2, f"Error: {why}\n".encode())
        raise SystemExit(1)


def call_git(flaws: Iterable[str]) -> None:
    if "git:called" in set(flaws):
        subprocess.run(["git", "status"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)


def take_snapshot(flaws: Iterable[str], *, outside: str) -> None:
    """Starts the user's shell, as `codex exec` does to learn its variables. What it made outside is gone afterwards,
    unless that is the flaw."""
    there = set(flaws)
    if "snapshot:none" in there:
        return
    before = set(os.listdir(outside))
    read = ["sh", "-lc", "export -p"]
    ended = subprocess.run(read, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    if "snapshot:unkept" not in there:
        folder = os.path.join(os.environ.get("CODEX_HOME", ""), "shell_snapshots")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "snapshot.sh"), "wb") as file:
            file.write(ended.stdout)
    if "snapshot:open" not in there:
        for name in set(os.listdir(outside)) - before:
            os.unlink(os.path.join(outside, name))


def as_utf_8(words: list[str]) -> list[str]:
    return [os.fsencode(word).decode("utf-8", "replace") for word in words]
