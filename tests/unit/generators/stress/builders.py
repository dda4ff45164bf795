"""Lines as strace writes them, calls as they are read, and reasons of what did not hold."""

from typing import Any

from pytest_codexsandbox.generators.stress.strace_log import Syscall, Trace, read
from pytest_codexsandbox.model.generator import Declaration, Finding, Marker

HOME = "/stage/home/.codex"
CONFIG = f"{HOME}/config.toml"
TMP = f"{HOME}/.config.toml.tmp"
DECLARED = Declaration(
    owns=("sandbox_mode", "sandbox_workspace_write.network_access"), markers=(Marker(begin="# BEGIN x", end="# END x"),)
)


def h(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def line(text: str, pid: int = 6, at: float = 100.0) -> str:
    return f"{pid:<5} {at:.6f} {text}"


def opened(path: str, flags: str, result: str = "3", cwd: str = "/stage/workspace") -> str:
    return f'openat(AT_FDCWD<{h(cwd)}>, "{h(path)}", {flags}, 0666) = {result}<{h(path)}>'


def written(path: str) -> str:
    return f'write(3<{h(path)}>, ""..., 12) = 12'


def renamed(one: str, other: str) -> str:
    return f'rename("{h(one)}", "{h(other)}") = 0'


def trace(*texts: str) -> Trace:
    return read(line(text, at=100.0 + number) for number, text in enumerate(texts))


def call(name: str, *paths: str, pid: int = 1, **words: Any) -> Syscall:
    given: dict[str, Any] = {"paths": paths, "words": paths} | words
    return Syscall(pid=pid, name=name, **given)


def reasons(found: tuple[Finding, ...]) -> set[str]:
    """Returns the reasons of the findings that did not hold. Every control has held."""
    assert found
    assert all(one.control_held for one in found), [one.control for one in found if not one.control_held]
    return {one.reason for one in found if not one.held}
