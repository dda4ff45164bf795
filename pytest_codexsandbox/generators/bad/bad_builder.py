"""Bad generator builder: takes the good generator and changes one thing, in its text or in how it writes."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from pytest_codexsandbox.config_writer import PolicyRequest, Refusal, plan, request_of
from pytest_codexsandbox.config_writer.atomic_write import rewrite, where
from pytest_codexsandbox.model.generator import Request

Given = Request | Mapping[str, Any]
Result = dict[str, Any]
Generator = Callable[[Given], Result]


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One run: the request, and the file before it."""

    request: Request
    before: bytes | None
    good: bytes  # what the good generator would leave
    alone: bytes  # what it would leave where there is no file

    @property
    def path(self) -> Path:
        return where(self.request.config)


class Declined(Exception):
    """Raised where the good generator refuses. A bad generator with another flaw refuses there too."""


def run_of(given: Given, **changes: Any) -> Told:
    """Returns the run as the good generator sees it. `changes` replace parts of the request."""
    request = request_of(given)
    path = where(request.config)
    before = path.read_bytes() if path.exists() else None
    said = PolicyRequest(
        roots=request.roots, network=request.network, approval=request.approval, platform=request.platform
    )
    wanted = msgspec.structs.replace(said, **changes)
    planned, alone = plan(before, wanted), plan(None, wanted)
    if isinstance(planned, Refusal) or isinstance(alone, Refusal):
        raise Declined(planned.what if isinstance(planned, Refusal) else "")
    return Told(request=request, before=before, good=planned.content, alone=alone.content)


def at_once(run: Told, content: bytes) -> None:
    """Writes as the good generator does: replaces the whole file, and only if the content changes."""
    rewrite(run.path, lambda now: None if now == content else content, patience=10)


def declining(generate: Generator) -> Generator:
    """Makes a generator refuse wherever the good one does."""

    @functools.wraps(generate)
    def wrapped(given: Given) -> Result:
        try:
            return generate(given)
        except Declined as problem:
            return {"refused": True, "reason": str(problem)}

    return wrapped


def spoilt(change: Callable[[Told], bytes], **changes: Any) -> Generator:
    """Returns a generator that writes other content than the good one, and writes it as well."""
    return performing(lambda run: at_once(run, change(run)), **changes)


def performing(act: Callable[[Told], None], **changes: Any) -> Generator:
    """Returns a generator that acts on its own, knowing what the good one would leave."""

    @declining
    def generate(given: Given) -> Result:
        act(run_of(given, **changes))
        return {}

    return generate
