"""Capability probe: reads what a Codex binary can do from its `--version`, its `--help`, and how it reads a setting.

No sandbox is started. An unknown word is a prompt to Codex, so `codex WORD --help` proves a command only by its own
`Usage:` line. From 0.134 on `codex sandbox linux` would run a program called `linux`, so it is run only where `codex
sandbox --help` lists it.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.errors import CodexSandboxError, InputError, os_errors_as
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.artefact import Run, last_line

PATIENCE: Final = 60.0
_VERSION: Final = re.compile(r"codex(?:-cli)? (\d+\.\d+\.\d+\S*)")
_LISTED: Final = re.compile(r"^  ([a-z][a-z-]*)(?:\s|$)", re.MULTILINE)
_FLAGS: Final = ("--permission-profile", "--permissions-profile")
_UNKNOWN_PROFILE: Final = ":codexsandbox-asks-whether-you-know-this-key"


def probe(binary: str, *, run: Run, home: Path | None = None) -> Capabilities:
    """Probes the binary. InputError when it is no Codex: hangs, prints garbage, dies, says no version."""
    with _asking(binary, run, home or cache_folder()) as ask:
        version = _version(binary, ask("--version"))
        shape, help_text = _shape(ask)
        config = shape != "none" and "--full-auto" not in help_text
        flag = next((flag for flag in _FLAGS if re.search(rf"{flag}\b", help_text)), "")
        words: dict[str, Any] = {"sandbox": shape, "workspace_write": "config" if config else "full-auto"}
        return Capabilities(
            version=version,
            full_access=config,
            permission_profile_flag=flag,
            bundled_bwrap=has_bwrap(binary),
            default_permissions=_knows_default_permissions(ask),
            app_server=ask.knows("app-server"),
            exec_server=ask.knows("exec-server"),
            mcp_server=ask.knows("mcp-server"),
            doctor=ask.knows("doctor"),
            shell_snapshot=_has_feature(ask, "shell_snapshot"),
            **words,
        )


def has_bwrap(binary: str) -> bool:
    """Checks whether a bubblewrap is where this binary looks for its own."""
    folder = Path(binary).resolve().parent
    return any((place / "codex-resources/bwrap").is_file() for place in (folder.parent, folder))


class _Ask:
    """Starts the binary with an environment built from nothing."""

    def __init__(self, binary: str, run: Run, home: Path) -> None:
        self._binary, self._run, self._home = binary, run, home
        path = str(home)
        self._env = {
            "HOME": path,
            "CODEX_HOME": path,
            "TMPDIR": f"{path}/tmp",
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }

    def __call__(self, *words: str) -> CommandResult:
        done = self._run(
            Command(
                argv=(self._binary, *words),
                cwd=str(self._home),
                env=self._env,
                timeout=PATIENCE,
                output_limit=1 << 20,
                why=f"codex {' '.join(words)}",
            )
        )
        said = "codex " + " ".join(words)
        if done.ended == "timeout":
            raise _no_codex(self._binary, f"`{said}` did not end within {done.seconds:.0f} s")
        if done.ended == "signal":
            raise _no_codex(self._binary, f"`{said}` died by signal {done.signal}")
        if done.ended != "exit":
            raise _no_codex(self._binary, done.error or f"`{said}` was not started")
        return done

    def knows(self, *words: str) -> bool:
        return _is_help_of(self(*words, "--help"), *words)


@contextmanager
def _asking(binary: str, run: Run, cache: Path) -> Iterator[_Ask]:
    """Yields the probe with a home of its own below the cache. The user's home is neither read nor written, and Codex
    refuses one in /tmp."""
    next_step = "set CODEXSANDBOX_CACHE to a folder that you may write to"
    with os_errors_as(CodexSandboxError, "the cache folder cannot be written", where=cache, next_step=next_step):
        (cache / "homes").mkdir(parents=True, exist_ok=True)
        home = Path(tempfile.mkdtemp(prefix=f"{os.getuid()}-", dir=cache / "homes"))
        (home / "tmp").mkdir()
    try:
        yield _Ask(binary, run, home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _version(binary: str, done: CommandResult) -> str:
    text = done.stdout.decode(errors="replace").strip()
    found = _VERSION.fullmatch(text)
    if done.exit != 0:
        raise _no_codex(binary, f"`codex --version` ended with {done.exit}: {last_line(done.stderr or done.stdout)}")
    if not found:
        raise _no_codex(binary, f"`codex --version` printed {text[:200]!r}, not `codex-cli 0.…`")
    return found[1]


def _shape(ask: _Ask) -> tuple[str, str]:
    """Returns how the binary takes a sandboxed command, and the help of that command."""
    top = ask("sandbox", "--help")
    if _is_help_of(top, "sandbox"):
        text = _text(top)
        if "linux" not in _LISTED.findall(text):
            return "sandbox", text
        return "sandbox-linux", _text(ask("sandbox", "linux", "--help"))
    landlock = ask("debug", "landlock", "--help")
    return ("debug-landlock", _text(landlock)) if _is_help_of(landlock, "debug", "landlock") else ("none", "")


def _knows_default_permissions(ask: _Ask) -> bool:
    """Checks whether the binary reads the key. A profile that does not exist is an error to releases that do (0.114+),
    and nothing to the others.

    `codex sandbox` itself heeds the key from 0.117 on; asking it would start a sandbox.
    """
    if not ask.knows("features"):
        return False
    done = ask("features", "list", "-c", f'default_permissions="{_UNKNOWN_PROFILE}"')
    return done.exit != 0 and "default_permissions" in _text(done)


def _has_feature(ask: _Ask, name: str) -> bool:
    """Checks whether the binary lists a feature, on or off. Early releases have no list. A feature that was taken out
    stays in the list as `removed`, and does nothing."""
    if not ask.knows("features"):
        return False
    listed = ask("features", "list")
    return listed.exit == 0 and re.search(rf"^{name}\s+(?!removed\b)\S", _text(listed), re.MULTILINE) is not None


def _is_help_of(done: CommandResult, *words: str) -> bool:
    return (
        done.exit == 0 and re.search(rf"^Usage: codex {' '.join(words)}\b(?!-)", _text(done), re.MULTILINE) is not None
    )


def _text(done: CommandResult) -> str:
    return (done.stdout + b"\n" + done.stderr).decode(errors="replace")


def _no_codex(binary: str, why: str) -> InputError:
    return InputError(
        "this program does not behave like Codex",
        where=binary,
        why=why,
        next_step=f"run it yourself: {binary} --version",
    )
