"""Errors that a person reads: what happened, where, likely why, what to do."""

from collections.abc import Iterator
from contextlib import contextmanager


class CodexSandboxError(Exception):
    """Base of all errors of ours. Printed without a traceback."""

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
    """The user asked for something that cannot be: pytest's usage error, exit code 4."""


class Contradiction(InputError):
    """A file can be read and contradicts itself: exit code 11 of the commands."""


class HarnessError(CodexSandboxError):
    """The harness could not tell: what depends on it is `broken`, never red about Codex."""


class EnvironmentLost(HarnessError):
    """An environment has ended, or speaks no more: what is wanted of it next is wanted of a new one."""


class NotResponding(HarnessError):
    """Somebody is there who does not answer: whoever asks again need not be as patient."""


class ConfigMismatch(HarnessError):
    """An environment that stands and is another one than was asked for. Whoever started it works."""


class ReportError(CodexSandboxError):
    """A report could not be made: exit code 4 of `codexsandbox report`, 11 of a run."""


class Unavailable(CodexSandboxError):
    """A release, an image, a kernel that cannot be had here."""


class NotApplicable(CodexSandboxError):
    """A promise cannot be asked in a place, shown by data or by a probe: `n/a`."""


class LostCapability(CodexSandboxError):
    """A build of the user's own lacks what the release before it has: `violates`."""


@contextmanager
def os_errors_as(
    kind: type[CodexSandboxError], what: str, *, where: object = "", next_step: str = ""
) -> Iterator[None]:
    """Raises `kind` for an OSError of the block, with the system's own words as the reason."""
    try:
        yield
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise kind(what, where=str(where), why=why, next_step=next_step) from problem
