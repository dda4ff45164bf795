"""Errors that a user reads: what happened, where, the likely reason, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager


class CodexSandboxError(Exception):
    """Base of all errors of codexsandbox. Printed without a traceback."""

    def __init__(self, what: str, *, where: str = "", why: str = "", next_step: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.why, self.next_step = what, where, why, next_step

    def __str__(self) -> str:
        lines = [self.what]
        lines += [f"  where  {self.where}"] if self.where else []
        lines += [f"  why    {self.why}"] if self.why else []
        lines += [f"  next   {self.next_step}"] if self.next_step else []
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (type(self), self.what, self.where, self.why, self.next_step))


def _again(kind: type[CodexSandboxError], what: str, where: str, why: str, next_step: str) -> CodexSandboxError:
    return kind(what, where=where, why=why, next_step=next_step)


class InputError(CodexSandboxError):
    """The user's request is impossible: pytest's usage error, exit code 4."""


class Contradiction(InputError):
    """A readable file contradicts itself: exit code 11 of the commands."""


class HarnessError(CodexSandboxError):
    """The harness could not measure: dependent results are `broken`, never red about Codex."""


class EnvironmentLost(HarnessError):
    """An environment has ended or no longer answers. The next request gets a new environment."""


class NotResponding(HarnessError):
    """A running program does not answer. A caller that tries again need not wait as long."""


class ConfigMismatch(HarnessError):
    """An environment runs, but differs from the requested one. The engine that started it works."""


class ReportError(CodexSandboxError):
    """A report could not be made: exit code 4 of `codexsandbox report`, 11 of a run."""


class Unavailable(CodexSandboxError):
    """A release, an image or a kernel is not available here."""


class NotApplicable(CodexSandboxError):
    """A promise cannot be measured in a place, as data or a probe shows: `n/a`."""


class LostCapability(CodexSandboxError):
    """The user's own build lacks a capability of the release before it: `violates`."""


@contextmanager
def os_errors_as(
    kind: type[CodexSandboxError], what: str, *, where: object = "", next_step: str = ""
) -> Iterator[None]:
    """Raises `kind` for an OSError of the block, with the operating system's message as the reason."""
    try:
        yield
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise kind(what, where=str(where), why=why, next_step=next_step) from problem
